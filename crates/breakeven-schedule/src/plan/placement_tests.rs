//! Placements against all others, and in words.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus as Random;

use super::Evidence;
use super::placement::{ChainCosts, DeviceLinks, StageCosts, StageTime, TransferTime};

fn random(numbers: &mut Random, stages: usize, devices: usize) -> ChainCosts {
    let link = |numbers: &mut Random| TransferTime {
        fixed_ns: numbers.random_range(0.0..20.0),
        per_byte_ns: numbers.random_range(0.0..0.2),
    };
    let device = |at: usize, numbers: &mut Random| DeviceLinks {
        device: at.to_string(),
        up: link(numbers),
        down: link(numbers),
    };
    let time = |device: usize, numbers: &mut Random| {
        let ns = numbers.random_range(0.0..200.0);
        let (evidence, observations) = (Evidence::Measured, 9);
        // Some have no form for a device.
        let has_form = device == 0 || numbers.random_bool(0.9);
        has_form.then_some(StageTime {
            ns,
            evidence,
            observations,
        })
    };
    let stage = |at: usize, numbers: &mut Random| StageCosts {
        name: at.to_string(),
        output_bytes: numbers.random_range(0..1_000),
        runs_on: vec![true; devices],
        times: (0..devices).map(|device| time(device, numbers)).collect(),
    };
    ChainCosts {
        devices: (0..devices).map(|at| device(at, numbers)).collect(),
        input_bytes: numbers.random_range(0..1_000),
        stages: (0..stages).map(|at| stage(at, numbers)).collect(),
    }
}

#[test]
fn no_other_placement_takes_less() {
    let mut numbers = Random::seed_from_u64(6);
    for case in 0..400 {
        let (stages, devices) = (1 + case % 8, 1 + case % 3);
        let costs = random(&mut numbers, stages, devices);
        let found = costs.place().expect("the CPU can do all");
        let all = devices.pow(u32::try_from(stages).expect("few"));
        let placements = (0..all).filter_map(|code| {
            let digit = |place| code / devices.pow(place) % devices;
            let chosen: Vec<usize> = (0..8).take(stages).map(digit).collect();
            Some(costs.placed(&chosen)?.predicted_ns)
        });
        let best = placements.fold(f64::INFINITY, f64::min);
        let off = found.predicted_ns - best;
        assert!(off.abs() < 1e-6, "case {case}: {off} ns more than the best");
    }
}

fn costs(input_bytes: u64, cpu: [f64; 3], gpu: [Option<f64>; 3]) -> ChainCosts {
    let time = |ns: f64| StageTime {
        ns,
        evidence: Evidence::Measured,
        observations: 9,
    };
    let link = TransferTime {
        fixed_ns: 10_000.0,
        per_byte_ns: 0.1,
    };
    let device = |name: &str, link: TransferTime| DeviceLinks {
        device: name.to_owned(),
        up: link,
        down: link,
    };
    let names = ["conv2d", "pixel_entropy", "image_segmentation"];
    let stages = names.iter().zip(cpu).zip(gpu);
    ChainCosts {
        devices: vec![
            device("cpu", TransferTime::default()),
            device("cuda:0", link),
        ],
        input_bytes,
        stages: stages
            .map(|((name, cpu), gpu)| StageCosts {
                name: (*name).to_owned(),
                output_bytes: 1_048_576,
                runs_on: vec![true, gpu.is_some()],
                times: vec![Some(time(cpu)), gpu.map(time)],
            })
            .collect(),
    }
}

#[test]
fn a_stage_that_is_slow_on_the_device_comes_home() {
    let gpu = [Some(5e4), Some(1e5), Some(4e6)];
    let found = costs(1_048_576, [3e5, 9e6, 6e5], gpu)
        .place()
        .expect("known");
    insta::assert_snapshot!(found.reasons().join("\n"), @r"
    1 MiB from cpu to cuda:0: 115 µs
    conv2d on cuda:0: 50.0 µs (measured)
    pixel_entropy on cuda:0: 100 µs (measured)
    1 MiB from cuda:0 to cpu: 115 µs
    image_segmentation on cpu: 600 µs (measured)
    together 980 µs; all on cpu 9.90 ms, all on cuda:0 4.38 ms
    ");
    assert!(!found.is_uniform());
}

#[test]
fn where_the_transfers_cost_more_than_they_gain_nothing_moves() {
    let found = costs(1 << 30, [1e5, 1e5, 1e5], [Some(1.0), Some(1.0), None]).place();
    let found = found.expect("known");
    assert!(found.is_uniform() && found.moves.is_empty());
    let alone: Vec<_> = found.alone.iter().map(|alone| alone.predicted_ns).collect();
    assert_eq!(alone, [Some(3e5), None]);
    let mut unknown = costs(1, [1.0; 3], [None; 3]);
    unknown.stages[1].times = vec![None, None];
    assert_eq!(unknown.place(), None);
}
