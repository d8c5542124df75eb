//! Findings on the processor: governor, temperature, the cores of this process.

use std::collections::BTreeSet;

use breakeven_machine::Fact;
use breakeven_machine::sensors::ClockLimit;

use super::facts::{Cores, Facts, Scaling, Setting, list_text};
use super::finding::{Finding, Remedy, Standing, Subject};

const CLOCKS: &str = "the clock follows the load with a delay, so the first milliseconds of work, and runs with pauses, are slower";

/// Checks how clocks are chosen: governor and energy preference, boost, battery (the kernel's
/// `admin-guide/pm/cpufreq.rst`, `intel_pstate.rst`, `amd-pstate.rst`).
pub(crate) fn frequency(facts: &Facts) -> Vec<Finding> {
    let mut findings = vec![governor(facts)];
    findings.extend(preference(facts));
    findings.push(boost(facts));
    findings.extend(power_supply(facts));
    findings
}

/// The setting files of all cores as one path with a star.
fn of_all(setting: &Setting, core: u32) -> String {
    setting.file.replacen(&format!("/cpu{core}/"), "/cpu*/", 1)
}

fn governor(facts: &Facts) -> Finding {
    let subject = Subject::Governor;
    let scaling = &facts.settings.frequency.scaling;
    let Some(first) = scaling.first() else {
        return none_reported(
            facts,
            subject,
            "no cpufreq: the system does not report how clocks are chosen",
        );
    };
    let files = of_all(&first.governor, first.core);
    let names: BTreeSet<&str> = scaling.iter().map(|it| &*it.governor.value).collect();
    let by = first
        .driver
        .known()
        .map_or_else(String::new, |driver| format!(" ({driver})"));
    let all: Vec<&str> = names.iter().copied().collect();
    let seen = format!("{}{by}", all.join(", "));
    let fixed = names.len() == 1 && (names.contains("performance") || names.contains("userspace"));
    if fixed {
        return Finding::good(subject, seen).from(files);
    }
    // With these drivers the processor chooses, by the preference.
    if names.len() == 1 && names.contains("powersave") && has_preference(scaling) {
        return Finding::good(subject, format!("{seen}: the processor chooses")).from(files);
    }
    let effect = match names.len() {
        1 if names.contains("powersave") => {
            "cores stay at their lowest clock: figures are steady, but slower than in use"
        }
        1 => CLOCKS,
        _ => "cores have different rules: a run depends on the core that it gets",
    };
    Finding::new(subject, Standing::Doubtful, seen)
        .from(&files)
        .does(effect)
        .change(Remedy::write(&first.governor, &files, "performance", facts))
}

fn has_preference(scaling: &[Scaling]) -> bool {
    scaling.iter().all(|it| it.preference.is_known())
}

/// The processor's preference, if it chooses itself.
fn preference(facts: &Facts) -> Option<Finding> {
    let subject = Subject::Governor;
    let scaling = &facts.settings.frequency.scaling;
    let first = scaling.first()?;
    let (Fact::Known(preference), true) = (&first.preference, has_preference(scaling)) else {
        return None;
    };
    let files = of_all(preference, first.core);
    let known = scaling.iter().filter_map(|it| it.preference.known());
    let names: BTreeSet<&str> = known.map(|it| &*it.value).collect();
    let all: Vec<&str> = names.iter().copied().collect();
    let seen = format!("energy preference {}", all.join(", "));
    // The numeric value 0 means performance.
    if names.iter().all(|name| ["performance", "0"].contains(name)) {
        return Some(Finding::good(subject, seen).from(files));
    }
    let remedy = Remedy::write(preference, &files, "performance", facts);
    Some(
        Finding::new(subject, Standing::Doubtful, seen)
            .from(files)
            .does(CLOCKS)
            .change(remedy),
    )
}

fn boost(facts: &Facts) -> Finding {
    let subject = Subject::Boost;
    let Fact::Known(boost) = &facts.settings.frequency.boost else {
        return none_reported(facts, subject, "the system reports no switch for it");
    };
    let file = &boost.switch.file;
    if !boost.on {
        return Finding::good(subject, "off").from(file);
    }
    let off = match file.ends_with("no_turbo") {
        true => "1",
        false => "0",
    };
    Finding::new(subject, Standing::Doubtful, "on")
        .from(file)
        .does(
            "how far above its base clock a core runs depends on its temperature and on how many cores are busy: a run after or during another one is slower",
        )
        .change(Remedy::write(&boost.switch, file, off, facts))
}

fn power_supply(facts: &Facts) -> Option<Finding> {
    let (subject, file) = (Subject::PowerSupply, "/sys/class/power_supply");
    match facts.settings.frequency.on_battery {
        Fact::Known(true) => Some(
            Finding::new(subject, Standing::Bad, "on battery")
                .from(file)
                .does("the firmware lowers clocks, and more as the battery empties")
                .change(Remedy::act("connect the mains supply")),
        ),
        Fact::Known(false) => Some(Finding::good(subject, "mains").from(file)),
        // Servers and virtual machines have no such folder.
        Fact::Unknown => None,
    }
}

/// Nothing reports clocks; in a virtual machine that is normal.
fn none_reported(facts: &Facts, subject: Subject, seen: &str) -> Finding {
    let finding = Finding::unknown(subject, seen)
        .does("clocks may change between runs, and nothing here would show it");
    match facts.in_virtual_machine() {
        true => finding.change(Remedy::elsewhere(
            "in a virtual machine the host chooses the clocks",
        )),
        _ => finding,
    }
}

/// Temperature from which current processors are close to throttling, °C: limits are 90 to 105
/// (`tempN_crit` of coretemp and k10temp).
const HOT: f64 = 90.0;

/// Checks the processor's temperature, and throttling under load.
pub(crate) fn heat(facts: &Facts) -> Vec<Finding> {
    let celsius = facts.cpu.temperature_celsius;
    let is_hot = celsius.get().is_some_and(|celsius| celsius >= HOT);
    let seen = celsius.map(|celsius| format!("{celsius:.0} °C after the work"));
    let seen = seen.known().cloned();
    let limited = facts.cpu.limits.known();
    let thermal = limited.is_some_and(|limits| limits.contains(&ClockLimit::Thermal));
    let finding = match (thermal, seen) {
        (true, seen) => {
            let at = seen.map_or_else(String::new, |seen| format!(" ({seen})"));
            Finding::new(
                Subject::Heat,
                Standing::Bad,
                format!("clocks were lowered for heat{at}"),
            )
            .from("/sys/devices/system/cpu/cpu*/thermal_throttle")
            .does("the longer it works, the slower it is: later runs look like a regression")
            .change(Remedy::act(
                "let it cool down between runs, clear the fans, or switch boost off; \
                     `breakeven monitor` shows it",
            ))
        }
        (false, Some(seen)) if is_hot => Finding::new(Subject::Heat, Standing::Doubtful, seen)
            .from("hwmon")
            .does("a little more heat lowers the clocks")
            .change(Remedy::act(
                "let it cool down between runs; `breakeven monitor` shows it",
            )),
        (false, Some(seen)) => Finding::good(Subject::Heat, seen).from("hwmon"),
        (false, None) if limited.is_some() => {
            Finding::good(Subject::Heat, "clocks were not lowered for heat")
                .from("/sys/devices/system/cpu/cpu*/thermal_throttle")
        }
        (false, None) => {
            let finding = Finding::unknown(
                Subject::Heat,
                "the system reports no temperature of the processor",
            )
            .does("clocks may be lowered for heat, and nothing here would show it");
            match facts.in_virtual_machine() {
                true => finding.change(Remedy::elsewhere(
                    "in a virtual machine only the host sees the sensors",
                )),
                false => finding,
            }
        }
    };
    vec![finding]
}

/// Fewest cores from which isolating some makes sense: the system needs one or two.
const FEWEST: usize = 4;

/// Checks the cores of this process: hyper-threads, and isolation from other processes (the
/// kernel's `admin-guide/kernel-parameters.txt`, `timers/no_hz.rst`).
pub(crate) fn cores(facts: &Facts) -> Vec<Finding> {
    let cores = &facts.settings.cores;
    let Fact::Known(allowed) = &cores.allowed else {
        let seen = "the system does not report which cores this process may use";
        return vec![
            Finding::unknown(Subject::HyperThreads, seen),
            Finding::unknown(Subject::Isolation, seen),
        ];
    };
    vec![
        hyper_threads(cores, allowed),
        isolation(cores, allowed, facts.in_container()),
    ]
}

fn hyper_threads(cores: &Cores, allowed: &[u32]) -> Finding {
    let (subject, file) = (
        Subject::HyperThreads,
        "/sys/devices/system/cpu/cpu*/topology/thread_siblings_list",
    );
    let Fact::Known(groups) = &cores.siblings else {
        return Finding::unknown(
            subject,
            "the system does not report which logical cores share a \
            physical one",
        );
    };
    let inside = |group: &Vec<u32>| {
        let inside = group.iter().copied().filter(|core| allowed.contains(core));
        inside.collect::<Vec<u32>>()
    };
    let pairs = groups
        .iter()
        .map(inside)
        .filter(|inside| inside.len() > 1)
        .count();
    if pairs > 0 {
        let mut one_each: Vec<u32> = groups
            .iter()
            .filter_map(|group| inside(group).first().copied())
            .collect();
        one_each.sort_unstable();
        let physical = one_each.len();
        let physical = match physical {
            1 => "1 physical core".to_owned(),
            physical => format!("{physical} physical cores"),
        };
        let seen = format!("logical cores {} are {physical}", list_text(allowed));
        return Finding::new(subject, Standing::Doubtful, seen)
            .from(file)
            .does(
                "two threads on one physical core slow each other down; which two that are \
                 changes from run to run",
            )
            .change(Remedy::command(format!(
                "taskset -c {} breakeven profile …",
                list_text(&one_each)
            )));
    }
    let others = |group: &&Vec<u32>| {
        let count = inside(group).len();
        count > 0 && count < group.len()
    };
    let shared = groups.iter().filter(others).count();
    match shared {
        0 => Finding::good(
            subject,
            format!("each of the {} cores is a physical one", allowed.len()),
        )
        .from(file),
        _ => Finding::good(
            subject,
            format!(
                "one thread of each physical core ({}); others may use the second of {shared}",
                list_text(allowed)
            ),
        )
        .from(file),
    }
}

fn isolation(cores: &Cores, allowed: &[u32], in_container: bool) -> Finding {
    let (subject, file) = (Subject::Isolation, "/sys/devices/system/cpu/isolated");
    let Fact::Known(isolated) = &cores.isolated else {
        return Finding::unknown(
            subject,
            "the system does not report which cores are isolated",
        );
    };
    let effect = "other processes, interrupts and the kernel's own work take time from the \
                  measured one";
    if !isolated.is_empty() && allowed.iter().all(|core| isolated.contains(core)) {
        let tickless = cores.tickless.known();
        let is_tickless = |core: &u32| tickless.is_some_and(|list| list.contains(core));
        let ticks = match allowed.iter().all(is_tickless) {
            true => ", without the timer's interrupt",
            false => "",
        };
        let seen = format!("on isolated cores ({}){ticks}", list_text(allowed));
        return Finding::good(subject, seen).from(file);
    }
    if !isolated.is_empty() {
        let isolated = list_text(isolated);
        let seen = format!("cores {isolated} are isolated, and this process is not on them");
        return Finding::new(subject, Standing::Doubtful, seen)
            .from(file)
            .does(effect)
            .change(Remedy::command(format!(
                "taskset -c {isolated} breakeven profile …"
            )));
    }
    let online = cores.online.known().map_or(allowed.len(), Vec::len);
    let finding = Finding::new(subject, Standing::Doubtful, "no core is isolated")
        .from(file)
        .does(effect);
    if in_container {
        return finding.change(Remedy::Elsewhere {
            why: "whoever runs the container's host can keep cores free for it".to_owned(),
            command: Some("docker run --cpuset-cpus=2-3 …".to_owned()),
        });
    }
    let Some(most) = cores.online.known().and_then(|online| online.last()) else {
        return finding;
    };
    if online < FEWEST {
        return finding.change(Remedy::elsewhere(format!(
            "{online} cores are too few to keep some free"
        )));
    }
    let free = format!("2-{most}");
    finding.change(Remedy::act(format!(
        "add `isolcpus={free} nohz_full={free} rcu_nocbs={free}` to the kernel's command line, \
         restart, and measure with `taskset -c {free} breakeven profile …`"
    )))
}
