//! The model as its users see it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy as _, any};
use proptest::{prop_assert_eq, proptest};

use super::model::{MOST_GROUPS, MOST_NAME};
use super::{Cost, GpuCosts, Group, Model, Observation, OperationCosts, RanOn};
use crate::plan::Evidence;

pub(super) const GPU: &str = "cuda:h100";
const NO_GPU: &[&str] = &[];

fn at(second: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(second)
}

pub(super) fn seen(second: u64, tasks: u64, ns: u64) -> Observation {
    Observation {
        at: at(second),
        tasks,
        ns,
        transfer_ns: None,
        workers: 4,
        shared: false,
    }
}

pub(super) fn look(costs: &Model) -> OperationCosts {
    costs.lookup("blur", 4096, &[GPU], 4)
}

pub(super) fn gpu(costs: &Model) -> Cost {
    look(costs).gpu(0).cost.expect("it was observed")
}

/// Time since the last share of the CPU and of the GPU.
fn since(costs: &Model) -> (f64, f64) {
    (
        look(costs).cpu_absence.since_ns,
        look(costs).gpu(0).absence.since_ns,
    )
}

pub(super) fn on_cpu(costs: &mut Model, seen: Observation) {
    costs.observe("blur", 4096, RanOn::Cpu, &seen);
}

pub(super) fn on_gpu(costs: &mut Model, seen: Observation) {
    costs.observe("blur", 4096, RanOn::Gpu(GPU), &seen);
}

/// What is known of an operation that never ran, on one GPU.
fn unknown() -> OperationCosts {
    OperationCosts {
        gpus: vec![GpuCosts::default()],
        ..OperationCosts::default()
    }
}

/// A model of `count` runs on the GPU of 100 tasks each, 1 ms long.
fn with_runs(count: u64) -> Model {
    let mut costs = Model::default();
    for second in 1..=count {
        on_gpu(&mut costs, seen(second, 100, 1_000_000));
    }
    costs
}

#[test]
fn each_device_has_its_own_cost() {
    let mut costs = Model::default();
    assert_eq!(look(&costs), unknown());
    for tasks in [100, 200, 400, 800] {
        on_cpu(&mut costs, seen(tasks, tasks, 1_000 * tasks));
        on_gpu(&mut costs, seen(tasks, tasks, 50_000 + 10 * tasks));
        costs.observe("blur", 4096, RanOn::Gpu("other"), &seen(tasks, tasks, 7));
        costs.observe("blur", 8192, RanOn::Cpu, &seen(tasks, tasks, 7));
        costs.observe("sharpen", 4096, RanOn::Cpu, &seen(tasks, tasks, 7));
    }
    let known = look(&costs);
    for (cost, expected) in [(known.cpu, 300_000.0), (known.gpu(0).cost, 53_000.0)] {
        let cost = cost.expect("it was observed");
        let off = cost.predict_ns(300) / expected - 1.0;
        assert!(off.abs() < 1e-3, "{cost:?}");
        assert_eq!((cost.fewest, cost.most, cost.observations), (100, 800, 4));
    }
    // 4096 to 8191 bytes are one size.
    assert_eq!(costs.lookup("blur", 8191, &[GPU], 4), known);
    // Smaller tasks are estimated from these.
    let smaller = costs.lookup("blur", 4095, &[GPU], 4).cpu;
    let smaller = smaller.expect("it is fitted");
    let off = smaller.predict_ns(300) / 150_000.0 - 1.0;
    assert!(off.abs() < 1e-3, "{smaller:?}");
    assert_eq!(smaller.evidence(300), Evidence::Fitted);
    assert_eq!(costs.lookup("blur", 4096, NO_GPU, 4).gpus, []);
    assert_eq!(costs.operations(), ["blur", "sharpen"]);
}

#[test]
fn evidence_is_measured_within_a_factor_of_two() {
    let evidence = [49, 50, 200, 201].map(|tasks| gpu(&with_runs(1)).evidence(tasks));
    let (fitted, measured) = (Evidence::Fitted, Evidence::Measured);
    assert_eq!(evidence, [fitted, measured, measured, fitted]);
}

#[test]
fn a_pool_of_half_the_workers_takes_twice_as_long() {
    let mut costs = Model::default();
    on_cpu(&mut costs, seen(1, 100, 1_000_000));
    let with = |costs: &Model, workers| {
        let cpu = costs.lookup("blur", 4096, NO_GPU, workers).cpu;
        cpu.expect("it was observed").predict_ns(100).round()
    };
    // A hundred tasks on eight workers are thirteen waves.
    let found = [4, 2, 8].map(|workers| with(&costs, workers));
    assert_eq!(found, [1e6, 2e6, 5.2e5]);
    // Once it was observed at that size, that counts.
    for second in 2..40 {
        let small = Observation {
            workers: 1,
            ..seen(second, 100, 3_000_000)
        };
        on_cpu(&mut costs, small);
    }
    assert_eq!(with(&costs, 1), 3e6);
}

#[test]
fn transfers_are_known_if_they_were_reported() {
    let mut costs = Model::default();
    for (second, transfer_ns) in (1..).zip([None, Some(2_000), Some(2_200), Some(90_000)]) {
        let run = Observation {
            transfer_ns,
            ..seen(second, 100, 100_000)
        };
        on_gpu(&mut costs, run);
    }
    assert_eq!(gpu(&costs).transfer_ns, 22.0);
}

#[test]
fn what_no_run_can_take_teaches_nothing() {
    let mut costs = Model::default();
    for (tasks, ns) in [(0, 100), (10, u64::MAX), (u64::MAX, 10)] {
        on_cpu(&mut costs, seen(1, tasks, ns));
    }
    assert_eq!(look(&costs).cpu, None);
    // A clock too coarse for the batch.
    on_cpu(&mut costs, seen(2, 10, 0));
    assert!(look(&costs).cpu.expect("it was observed").predict_ns(10) <= 1.0);
}

#[test]
fn a_clock_that_was_set_back_does_not_stop_learning() {
    let mut costs = with_runs(16);
    for _ in 0..16 {
        on_gpu(&mut costs, seen(1, 100, 4_000_000));
    }
    assert_eq!(gpu(&costs).predict_ns(100).round(), 4e6);
}

#[test]
fn time_without_a_part_is_counted() {
    let mut costs = Model::default();
    costs.note_run("blur", 4096, 1_000, true, &[]);
    costs.note_run("blur", 4096, 500, true, &[]);
    assert_eq!(since(&costs), (0.0, 1_500.0));
    costs.note_run("blur", 4096, 200, false, &[GPU]);
    assert_eq!(since(&costs), (200.0, 0.0));
    costs.note_run("blur", 4096, 300, true, &[GPU]);
    assert_eq!(since(&costs), (0.0, 0.0));
    let other = costs.lookup("blur", 4096, &["other"], 4);
    assert_eq!(other.gpu(0).absence.since_ns, 2_000.0);
}

#[test]
fn what_fits_grows_again_with_runs_that_went_well() {
    let mut costs = Model::default();
    costs.remember_fit("blur", 4096, GPU, 64, at(1));
    for (runs, fits) in [(0, 64), (31, 64), (1, 128), (32, 256)] {
        for second in 0..runs {
            // A run of several launches is one run.
            on_gpu(&mut costs, seen(second, 100, 10));
            on_gpu(&mut costs, seen(second, 100, 10));
            costs.note_run("blur", 4096, 10, false, &[GPU]);
        }
        assert_eq!(look(&costs).gpu(0).fits, Some(fits));
    }
    costs.remember_fit("blur", 4096, GPU, 32, at(2));
    assert_eq!(look(&costs).gpu(0).fits, Some(32));
}

#[test]
fn another_driver_makes_what_was_measured_void() {
    let mut costs = Model::default();
    costs.declare_driver(GPU, "570.1");
    on_gpu(&mut costs, seen(1, 100, 10));
    on_cpu(&mut costs, seen(1, 100, 10));
    costs.declare_driver(GPU, "570.1");
    assert!(look(&costs).gpu(0).cost.is_some());
    costs.declare_driver(GPU, "580.2");
    assert!(look(&costs).gpu(0).cost.is_none() && look(&costs).cpu.is_some());

    // Observations before the driver was declared count as that driver's.
    let mut costs = with_runs(3);
    costs.declare_driver(GPU, "580.2");
    assert!(look(&costs).gpu(0).cost.is_some());
}

#[test]
fn what_is_forgotten_stays_so_whoever_still_knows_it() {
    let (mut mine, mut other) = (with_runs(5), with_runs(5));
    mine.forget("blur", at(6));
    assert_eq!(look(&mine), unknown());
    mine.join(other.join(vec![], vec![]).operations, vec![]);
    assert_eq!(look(&mine), unknown());
    let known = mine.join(vec![], vec![]).forgotten;
    other.join(vec![], known);
    assert_eq!(look(&other), unknown());
    // What comes later is learned.
    on_cpu(&mut mine, seen(7, 100, 10));
    mine.join(vec![], vec![]);
    assert!(look(&mine).cpu.is_some());
}

#[test]
fn the_least_recently_observed_goes() {
    let mut costs = Model::default();
    let name = |index: usize| format!("operation {index}");
    for index in 0..MOST_GROUPS {
        costs.observe(&name(index), 1, RanOn::Cpu, &seen(index as u64, 1, 1));
    }
    costs.observe(&name(0), 1, RanOn::Cpu, &seen(5_000, 1, 1));
    for index in MOST_GROUPS..MOST_GROUPS + 3 {
        costs.observe(&name(index), 1, RanOn::Cpu, &seen(9_000, 1, 1));
    }
    let known = |index: usize| costs.lookup(&name(index), 1, NO_GPU, 1).cpu.is_some();
    let gone = (0..MOST_GROUPS + 3).filter(|&index| !known(index));
    assert!(gone.eq([1, 2, 3]));
    for second in 0..40 {
        let gpu = format!("gpu {second}");
        costs.observe("blur", 1, RanOn::Gpu(&gpu), &seen(second, 1, 1));
    }
    let known = |second| {
        let known = costs.lookup("blur", 1, &[&format!("gpu {second}")], 1);
        known.gpu(0).cost.is_some()
    };
    assert!((0..24).all(|second| !known(second)) && (24..40).all(known));
}

#[test]
fn long_names_are_cut_between_characters() {
    let mut costs = Model::default();
    let long = "µ".repeat(MOST_NAME);
    costs.observe(&long, 1, RanOn::Gpu(&long), &seen(1, 1, 1));
    costs.declare_driver(&long, &long);
    assert!(costs.lookup(&long, 1, &[&long], 1).gpu(0).cost.is_some());
    assert_eq!(costs.operations(), ["µ".repeat(MOST_NAME / 2)]);
}

/// The records of a process that made these observations.
fn records(writer: u32, times: &[u64]) -> Vec<Group> {
    let mut costs = Model::of(writer);
    for &ns in times {
        // Stamps of two processes may be the same, also of different times.
        on_cpu(&mut costs, seen(ns % 40, 1 + ns % 7, ns));
        costs.note_run("blur", 4096, ns, true, &[]);
    }
    costs.join(vec![], vec![]).operations
}

proptest! {
    #[test]
    fn joining_is_idempotent_and_its_order_does_not_matter(
        a in vec(any::<u32>(), 0..30),
        b in vec(any::<u32>(), 0..30),
        c in vec(any::<u32>(), 0..30),
        order in Just(vec![0, 1, 2, 0, 1, 2]).prop_shuffle(),
    ) {
        let all = [a, b, c].map(|times| times.into_iter().map(u64::from).collect::<Vec<_>>());
        let all: Vec<_> = (1..).zip(&all).map(|(writer, times)| records(writer, times)).collect();
        let joined = |order: &[usize]| {
            let mut costs = Model::default();
            for &index in order {
                costs.join(all[index].clone(), vec![]);
            }
            let operations = costs.join(vec![], vec![]).operations;
            operations.into_iter().map(|operation| operation.cpu.records).collect::<Vec<_>>()
        };
        prop_assert_eq!(joined(&order), joined(&[0, 1, 2]));
    }

    #[test]
    fn the_newest_sixteen_of_all_stay(times in vec(600_u64..1_000, 1..60)) {
        let mut costs = with_runs(0);
        let (mine, theirs) = times.split_at(times.len() / 2);
        for (index, &ns) in mine.iter().enumerate() {
            on_cpu(&mut costs, seen(2 * index as u64, 1, ns));
        }
        let mut other = Model::of(9);
        for (index, &ns) in theirs.iter().enumerate() {
            on_cpu(&mut other, seen(2 * index as u64 + 1, 1, ns));
        }
        let theirs = other.join(vec![], vec![]).operations;
        let all = costs.join(theirs, vec![]).operations;
        let window = &all[0].cpu;
        prop_assert_eq!(window.observed.value(), times.len() as u64);
        let stamps: Vec<_> = window.records.iter().map(|seen| seen.at_us).collect();
        let mut expected: Vec<u64> = (0..mine.len() as u64).map(|index| 2_000_000 * index).collect();
        expected.extend((0..(times.len() - mine.len()) as u64).map(|index| 2_000_000 * index + 1_000_000));
        expected.sort_unstable();
        let oldest = expected.len().saturating_sub(16);
        prop_assert_eq!(stamps, &expected[oldest..]);
    }
}

#[test]
fn what_one_size_does_not_show_another_size_does_not_know() {
    let mut costs = Model::default();
    for second in 1..5 {
        on_gpu(&mut costs, seen(second, 80, 1_000_000));
    }
    let larger = costs.lookup("blur", 8 * 4096, &[GPU], 4).gpu(0).cost;
    let larger = larger.expect("a size like it was seen");
    assert!(!larger.is_fixed_known() && larger.evidence(80) == Evidence::Fitted);
    // 80 tasks have the memory of 10 that are eight times as large.
    assert!((larger.most_alike() - 10.0).abs() < 1e-9, "{larger:?}");
    assert!((larger.predict_ns(10) / 1e6 - 1.0).abs() < 0.01);
    on_gpu(&mut costs, seen(5, 320, 3_000_000));
    let larger = costs.lookup("blur", 8 * 4096, &[GPU], 4).gpu(0).cost;
    assert!(larger.is_some_and(|cost| cost.is_fixed_known()));
}

#[test]
fn a_stated_launch_is_not_scaled_with_the_tasks() {
    let mut costs = Model::default();
    on_gpu(&mut costs, seen(1, 100, 300_000));
    let larger = || costs.lookup("blur", 8 * 4096, &[GPU], 4);
    let of = |costs: OperationCosts| costs.gpu(0).cost.expect("a size like it was seen");
    let known = of(larger().with_reported_launches([Some(200_000.0)]));
    assert!(known.is_fixed_known() && known.evidence(100) == Evidence::Fitted);
    // 100 tasks took 100 µs beyond the launch, and such tasks take eight times as long.
    assert!(
        (known.predict_ns(100) / 1e6 - 1.0).abs() < 0.01,
        "{known:?}"
    );
    // The same from what an operator states, and longer than all it cannot be.
    let mut stated = unknown();
    stated.gpus[0].cost = Some(crate::plan::estimate(200_000.0, 1.0, 0.0, 1));
    assert_eq!(of(larger().or(&stated)), known);
    let known = of(larger().with_reported_launches([Some(1e9)]));
    assert!(
        known.fixed_ns <= 300_001.0 && known.per_task_ns >= 0.0,
        "{known:?}"
    );
    assert_eq!(of(larger().with_reported_launches([None])), of(larger()));
    // Launches of two sizes show it themselves.
    on_gpu(&mut costs, seen(2, 1_000, 2_100_000));
    let known = look(&costs)
        .with_reported_launches([Some(50_000.0)])
        .gpu(0)
        .cost;
    assert_eq!(known, look(&costs).gpu(0).cost);
}

#[test]
fn what_a_launch_costs_is_known_from_other_operations() {
    let mut costs = Model::default();
    let launch = |costs: &Model, gpu: &str| costs.lookup("sharpen", 64, &[gpu], 4).gpu(0).launch_ns;
    // 20 µs a launch, 1 µs a task: launches of one size show nothing.
    for (second, tasks) in (1..).zip([10, 10, 10, 100, 100]) {
        on_gpu(&mut costs, seen(second, tasks, 20_000 + 1_000 * tasks));
        assert_eq!(launch(&costs, GPU).is_some(), tasks > 10);
    }
    let known = launch(&costs, GPU).expect("two sizes show it");
    assert!((known / 20_000.0 - 1.0).abs() < 0.01, "{known}");
    assert_eq!(launch(&costs, "another"), None);
    // An operation that was measured itself needs no estimate.
    assert_eq!(look(&costs).gpu(0).launch_ns, None);
}

#[test]
fn the_least_launch_is_known_however_many_operations_there_are() {
    let mut costs = Model::default();
    let mut second = 0;
    let mut observe = |name: &str, launch: u64| {
        for tasks in [10, 10, 100, 100] {
            second += 1;
            let seen = seen(second, tasks, launch + 1_000 * tasks);
            costs.observe(name, 4096, RanOn::Gpu(GPU), &seen);
        }
    };
    for index in 0..300 {
        let launch = if index == 150 { 20_000 } else { 40_000 };
        observe(&format!("operation {index}"), launch);
    }
    let known = costs.lookup("new", 64, &[GPU], 4).gpu(0).launch_ns;
    let known = known.expect("300 operations show it");
    assert!((known / 20_000.0 - 1.0).abs() < 0.01, "{known}");
}
