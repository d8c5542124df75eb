//! Each stage decides, each threshold changes a decision, and the order holds.

use proptest::prelude::*;

use super::*;
use crate::Fact;
use crate::plan::GpuSpec;

const GIB: u64 = 1 << 30;

fn without_gpu() -> Machine {
    Machine {
        cores: 8,
        memory_bytes: Fact::Unknown,
        cpu_power: Fact::Unknown,
        gpus: Vec::new(),
    }
}

fn with_card(memory: Fact<u64>, used: Fact<u64>) -> Machine {
    Machine {
        gpus: vec![GpuSpec {
            memory_bytes: memory,
            memory_used_bytes: used,
            ..GpuSpec::named("card")
        }],
        ..without_gpu()
    }
}

fn idle_card() -> Machine {
    with_card(Fact::Known(32 * GIB), Fact::Known(0))
}

/// 50 parallel tasks, of a middling size and simple: no stage decides.
fn middling() -> WorkloadProfile {
    WorkloadProfile::from_task_count(50).with_complexity(20.0)
}

#[track_caller]
fn decides(workload: &WorkloadProfile, machine: &Machine, expected: (Stage, &str)) {
    decides_by(&ProfilingHeuristics::default(), workload, machine, expected);
}

#[track_caller]
fn decides_by(
    heuristics: &ProfilingHeuristics,
    workload: &WorkloadProfile,
    machine: &Machine,
    (stage, strategy): (Stage, &str),
) {
    let ruling = rule(workload, machine, heuristics);
    let decided = (ruling.stage, ruling.strategy.to_string());
    assert_eq!(decided, (stage, strategy.to_owned()), "{ruling:#?}");
}

#[test]
fn every_stage_decides() {
    let many = WorkloadProfile::from_task_count(1_000);
    decides(&many, &without_gpu(), (Stage::NoGpu, "cpu-only"));
    let few = WorkloadProfile::from_task_count(9);
    decides(&few, &idle_card(), (Stage::Small, "cpu-only"));
    let small = many.with_memory_per_task(9);
    decides(&small, &idle_card(), (Stage::Small, "cpu-only"));
    let sequential = many.with_parallelization(0.0);
    decides(&sequential, &idle_card(), (Stage::Sequential, "cpu-only"));
    let busy = with_card(Fact::Known(10 * GIB), Fact::Known(9 * GIB));
    decides(&many, &busy, (Stage::MemoryPressure, "hybrid:60/40"));
    let large = many.with_memory_per_task(1 << 30);
    decides(&large, &idle_card(), (Stage::DoesNotFit, "hybrid:3/97"));
    decides(&many, &idle_card(), (Stage::Large, "gpu-only"));
    let complex = middling().with_complexity(51.0);
    decides(&complex, &idle_card(), (Stage::Complex, "gpu-only"));
    decides(&middling(), &idle_card(), (Stage::Last, "cpu-only"));
}

#[test]
fn every_threshold_changes_a_decision() {
    let usual = ProfilingHeuristics::default();
    let (last, small) = ((Stage::Last, "cpu-only"), (Stage::Small, "cpu-only"));
    let (large, complex) = ((Stage::Large, "gpu-only"), (Stage::Complex, "gpu-only"));
    let cases = [
        // 1 024 000 is the middling workload's size.
        (usual.with_small_threshold(1_024_000), last),
        (usual.with_small_threshold(1_024_001), small),
        (usual.with_large_threshold(1_024_000), last),
        (usual.with_large_threshold(1_023_999), large),
        (usual.with_min_tasks(50), last),
        (usual.with_min_tasks(51), small),
        (usual.with_complexity_threshold(20.0), last),
        (usual.with_complexity_threshold(19.9), complex),
    ];
    for (heuristics, expected) in cases {
        decides_by(&heuristics, &middling(), &idle_card(), expected);
    }
    let answer = usual.with_last_answer(ExecutionStrategy::GpuOnly);
    let expected = (Stage::Last, "gpu-only");
    decides_by(&answer, &middling(), &idle_card(), expected);
    let half_full = with_card(Fact::Known(4 * GIB), Fact::Known(2 * GIB));
    let split = (Stage::MemoryPressure, "hybrid:60/40");
    for (part, expected) in [(0.5, last), (0.49, split)] {
        let heuristics = usual.with_memory_threshold(part);
        decides_by(&heuristics, &middling(), &half_full, expected);
    }
    // The sizes of batches decide the batch.
    let batch = |heuristics: ProfilingHeuristics, strategy| heuristics.batch_size(strategy, 1_000);
    let cpu = ExecutionStrategy::CpuOnly;
    assert_ne!(batch(usual.with_cpu_batch_size(8), cpu), batch(usual, cpu));
    let gpu = ExecutionStrategy::GpuOnly;
    assert_ne!(batch(usual.with_gpu_batch_size(8), gpu), batch(usual, gpu));
}

#[test]
fn the_preset_splits_and_has_no_stage_7() {
    let preset = ProfilingHeuristics::hybrid_first();
    let complex = middling().with_complexity(1e9).with_memory_per_task(1);
    let preset = preset.with_large_threshold(u64::MAX);
    let ruling = rule(&complex, &idle_card(), &preset);
    assert_eq!(ruling.stage, Stage::Last);
    assert_eq!(ruling.strategy.to_string(), "hybrid:70/30");
    let reasons = ruling.reasons().join("\n");
    assert!(!reasons.contains("stage 7"), "{reasons}");
}

#[test]
fn what_fits_is_the_share() {
    let share = |needed: usize, free: u64| {
        let workload = WorkloadProfile::from_task_count(1_000).with_memory_per_task(needed);
        let machine = with_card(Fact::Known(free), Fact::Unknown);
        let ruling = rule(&workload, &machine, &ProfilingHeuristics::default());
        (ruling.stage, ruling.strategy.to_string())
    };
    let split = |text: &str| (Stage::DoesNotFit, text.to_owned());
    assert_eq!(share(1_000, 1_000_000), (Stage::Large, "gpu-only".into()));
    assert_eq!(share(1_000, 999_999), split("hybrid:99/1"));
    assert_eq!(share(1_000, 309_999), split("hybrid:30/70"));
    assert_eq!(share(1_000, 9_999), split("hybrid:1/99"));
    // Not one task fits.
    for (needed, free) in [(1_000, 0), (1_000, 999), (usize::MAX, 1)] {
        assert_eq!(share(needed, free), (Stage::NoGpu, "cpu-only".into()));
    }
}

#[test]
fn hardly_parallel_is_sequential() {
    let few = WorkloadProfile::from_task_count(40);
    for (part, decision) in [
        (0.0, (Stage::Sequential, "cpu-only")),
        (0.000_001, (Stage::Sequential, "cpu-only")),
        (SEQUENTIAL_BELOW, (Stage::Complex, "gpu-only")),
    ] {
        decides(&few.with_parallelization(part), &idle_card(), decision);
    }
}

#[test]
fn less_than_half_parallel_is_not_parallel() {
    let half = WorkloadProfile::from_task_count(1_000).with_complexity(1.0);
    let (less, half) = (
        half.with_parallelization(0.49),
        half.with_parallelization(0.5),
    );
    decides(&half, &idle_card(), (Stage::Large, "gpu-only"));
    decides(&less, &idle_card(), (Stage::Last, "cpu-only"));
}

#[test]
fn unknown_memory_is_neither_pressure_nor_too_little() {
    let many = WorkloadProfile::from_task_count(1_000);
    for (memory, used) in [
        (Fact::Unknown, Fact::Known(30 * GIB)),
        (Fact::Known(32 * GIB), Fact::Unknown),
        (Fact::Unknown, Fact::Unknown),
    ] {
        decides(&many, &with_card(memory, used), (Stage::Large, "gpu-only"));
    }
}

fn fact(most: u64) -> impl Strategy<Value = Fact<u64>> {
    prop_oneof![Just(Fact::Unknown), (0..=most).prop_map(Fact::Known)]
}

proptest! {
    #[test]
    fn any_batch_gets_an_answer_with_reasons(
        tasks in prop_oneof![0..2_000_usize, any::<usize>()],
        bytes in prop_oneof![0..100_000_usize, any::<usize>()],
        complexity in 0.0..1e6,
        parallelization in prop_oneof![Just(0.0), 0.0..=1.0],
        memory in fact(u64::MAX),
        used in fact(u64::MAX),
        has_gpu in any::<bool>(),
        hybrid_first in any::<bool>(),
    ) {
        let workload = WorkloadProfile::from_task_count(tasks)
            .with_memory_per_task(bytes)
            .with_complexity(complexity)
            .with_parallelization(parallelization);
        let machine = if has_gpu { with_card(memory, used) } else { without_gpu() };
        let heuristics = if hybrid_first {
            ProfilingHeuristics::hybrid_first()
        } else {
            ProfilingHeuristics::default()
        };
        let ruling = rule(&workload, &machine, &heuristics);
        prop_assert_eq!(ruling, rule(&workload, &machine, &heuristics));
        prop_assert_eq!(ruling.strategy.check(), Ok(()));
        prop_assert!(ruling.strategy != ExecutionStrategy::Auto);
        prop_assert!(has_gpu || ruling.strategy == ExecutionStrategy::CpuOnly);
        // No stage before the decision had an answer.
        let before = STAGES.into_iter().filter(|stage| *stage < ruling.stage);
        prop_assert!(before.clone().all(|stage| ruling.facts.answer(stage).is_none()));
        let reasons = ruling.reasons();
        prop_assert!(reasons.len() + 1 > before.count());
        prop_assert!(reasons.contains(&ruling.reason()))
    }
}
