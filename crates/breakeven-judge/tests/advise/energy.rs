//! Less energy on a device that is not the faster one.

use breakeven_judge::advise::{Evidence, Rule};
use breakeven_profile::profile::{CountedEnergy, Energy, Operation, Profile, Run};
use insta::assert_snapshot;

use super::{MS, advice, around, gpu, profile, recorded, rules_of, suggestion};

/// Five runs of calls of so many ms, over which the devices draw that much: id, W, and W idle.
fn drawing(device: &str, ms: f64, devices: &[(&str, f64, f64)]) -> Operation {
    let mut operation = Operation::new("f", device);
    operation.size = Some(4096);
    for place in [-1.0_f64, -0.5, 0.0, 0.5, 1.0] {
        let seconds = 100.0 * ms / 1e3;
        let counter = |(of, watts, idle): &(&str, f64, f64)| CountedEnergy {
            of: (*of).to_owned(),
            how: "some".to_owned(),
            covers: None,
            joules: watts * seconds * (0.01 * place).exp(),
            idle_watts: Some(*idle),
        };
        operation.runs.push(Run {
            samples_ns: around(ms * MS * (0.01 * place).exp(), 10),
            energy: Some(Energy {
                calls: 100,
                over_ns: seconds * 1e9,
                idle_over_ns: None,
                counters: devices.iter().map(counter).collect(),
            }),
            ..Run::default()
        });
    }
    operation
}

const CPU: (&str, f64, f64) = ("cpu", 120.0, 30.0);
const CARD: (&str, f64, f64) = ("cuda:0", 300.0, 25.0);
/// The CPU while it feeds the card.
const HOST: (&str, f64, f64) = ("cpu", 40.0, 30.0);

fn machine(operations: Vec<Operation>) -> Profile {
    let mut profile = profile(operations);
    profile.environment.gpus = vec![gpu("cuda:0", "discrete")];
    profile
}

/// A card twice as fast, which draws more than twice as much.
fn hungry_card() -> Profile {
    machine(vec![
        drawing("cpu", 4.0, &[CPU]),
        drawing("cuda:0", 2.0, &[HOST, CARD]),
    ])
}

#[test]
fn the_slower_device_takes_less_energy() {
    let found = suggestion(&hungry_card(), Rule::LessEnergy);
    assert_eq!(
        (&*found.device, found.kind.to_string()),
        ("cuda:0", "ROUTING".to_owned())
    );
    assert_eq!(found.target_device.as_deref(), Some("cpu"));
    // 4 ms of 120 W and the waiting card's 25 W, over 2 ms of 340 W.
    let Evidence::LessEnergy(energy) = &found.evidence[0] else {
        panic!("{:?}", found.evidence);
    };
    assert!((energy.joules - 0.58).abs() < 1e-3, "{energy:?}");
    assert!((energy.joules_here - 0.68).abs() < 1e-3, "{energy:?}");
    assert_eq!(energy.waiting, ["cuda:0"]);
    let [lower, upper] = energy.interval.expect("runs differ");
    assert!(lower < energy.less && energy.less < upper, "{energy:?}");
    assert_eq!((found.saved_ms, found.estimated_time_ms), (None, None));
    assert_snapshot!(found.description, @"cpu needs less energy for this and takes longer: measured: a call takes 580 mJ there and 680 mJ here, 14.7 % less (13.8 % to 15.6 %, 95 % over runs), with cuda:0 waiting");
    assert_snapshot!(found.expected_improvement, @"cannot be estimated: it saves energy, not time");
    // That the card is faster is said of the CPU, as before.
    assert_eq!(rules_of(&hungry_card()), [Rule::CpuToGpu, Rule::LessEnergy]);
}

#[test]
fn a_device_that_is_as_fast_takes_less_energy() {
    let profile = machine(vec![
        drawing("cpu", 2.03, &[CPU]),
        drawing("cuda:0", 2.0, &[HOST, CARD]),
    ]);
    let found = suggestion(&profile, Rule::LessEnergy);
    assert!(
        found.description.contains(" and takes about as long: "),
        "{found:?}"
    );
}

#[test]
fn the_faster_device_is_reported_by_its_time() {
    let frugal = ("cuda:0", 60.0, 25.0);
    let profile = machine(vec![
        drawing("cpu", 4.0, &[CPU]),
        drawing("cuda:0", 2.0, &[HOST, frugal]),
    ]);
    assert_eq!(rules_of(&profile), [Rule::CpuToGpu]);
}

/// The two that take as much differ by chance.
#[test]
fn about_as_much_energy_is_nothing() {
    let even = ("cuda:0", 250.0, 25.0);
    let profile = machine(vec![
        drawing("cpu", 4.0, &[CPU]),
        drawing("cuda:0", 2.0, &[HOST, even]),
    ]);
    assert_eq!(rules_of(&profile), [Rule::CpuToGpu]);
}

#[test]
fn what_cannot_be_compared_is_not_said() {
    let silent = |change: &dyn Fn(&mut Profile)| {
        let mut profile = hungry_card();
        change(&mut profile);
        let rules = rules_of(&profile);
        assert!(!rules.contains(&Rule::LessEnergy), "{rules:?}");
    };
    let energies = |profile: &mut Profile, of: usize, change: &dyn Fn(&mut Energy)| {
        for run in &mut profile.operations[of].runs {
            change(run.energy.as_mut().expect("it has one"));
        }
    };
    // The CPU that feeds the card is not counted.
    silent(&|profile| energies(profile, 1, &|energy| drop(energy.counters.remove(0))));
    // Nor is it known what the card draws while it waits.
    silent(&|profile| energies(profile, 1, &|energy| energy.counters[1].idle_watts = None));
    // Other counters.
    silent(&|profile| {
        energies(profile, 0, &|energy| {
            energy.counters[0].covers = Some("cores".to_owned());
        });
    });
    // Too few runs, and none with energy.
    silent(&|profile| profile.operations[0].runs.truncate(3));
    silent(&|profile| {
        for run in &mut profile.operations[0].runs {
            run.energy = None;
        }
    });
    // Calls of a program, whose sizes are not known.
    silent(&|profile| {
        *profile = recorded(std::mem::take(profile));
        for operation in &mut profile.operations {
            operation.size = None;
        }
    });
    // Nothing is sent to a GPU that is a program on the CPU.
    let software = machine(vec![
        drawing("cpu", 2.0, &[CPU]),
        drawing("vulkan:0", 4.0, &[("cpu", 40.0, 30.0)]),
    ]);
    let mut profile = software;
    profile.environment.gpus = vec![gpu("vulkan:0", "software")];
    assert!(!rules_of(&profile).contains(&Rule::LessEnergy));
    profile.environment.gpus = vec![gpu("vulkan:0", "integrated")];
    assert!(rules_of(&profile).contains(&Rule::LessEnergy));
}

#[test]
fn the_order_of_the_file_changes_nothing() {
    let mut turned = hungry_card();
    turned.operations.reverse();
    assert_eq!(advice(&turned), advice(&hungry_card()));
}
