//! The rule's sentences.

use crate::WorkloadProfile;
use crate::plan::{Machine, ProfilingHeuristics, Ruling, rule};

fn ruling(workload: WorkloadProfile, gpu: &str) -> Ruling {
    let machine = Machine::from_toml(&format!("cores = 8\n{gpu}")).expect("a machine");
    rule(&workload, &machine, &ProfilingHeuristics::default())
}

fn reasons(workload: WorkloadProfile, gpu: &str) -> String {
    ruling(workload, gpu).reasons().join("\n")
}

#[test]
fn without_a_gpu_the_smallness_agrees() {
    insta::assert_snapshot!(reasons(WorkloadProfile::from_task_count(1), ""), @r"
    stage 1: there is no GPU: cpu-only
    stage 2 agrees: 1 task is fewer than 10
    ");
}

#[test]
fn the_whole_way_down_to_the_last_answer() {
    let workload = WorkloadProfile::from_task_count(60).with_complexity(20.0);
    let card = "[[gpu]]\nmemory = \"32 GiB\"\nmemory_used = \"2 GiB\"";
    let last = "no stage decided; the last answer is cpu-only";
    assert_eq!(ruling(workload, card).reason(), last);
    insta::assert_snapshot!(reasons(workload, card), @r"
    stage 1: there is a GPU
    stage 2: 60 tasks are not fewer than 10, a workload of 1 228 800 is not below 100 000
    stage 3: 100 % of the work is parallel
    stage 4: 6.3 % of the GPU's memory is in use, not above 80 %
    stage 5: 600 KiB fit the GPU's free 30 GiB
    stage 6: 60 tasks are not more than 100, a workload of 1 228 800 is not above 10 000 000
    stage 7: a complexity of 20 is not above 50
    no stage decided; the last answer is cpu-only
    ");
}

#[test]
fn what_is_unknown_says_what_it_counts_as() {
    insta::assert_snapshot!(reasons(WorkloadProfile::from_task_count(1_000), "[[gpu]]"), @r"
    stage 1: there is a GPU
    stage 2: 1 000 tasks are not fewer than 10, a workload of 102 400 000 is not below 100 000
    stage 3: 100 % of the work is parallel
    stage 4: how much of the GPU's memory is in use is unknown and counts as no pressure
    stage 5: the GPU's memory is unknown and counts as enough
    stage 6: 1 000 tasks are more than 100, a workload of 102 400 000 is above 10 000 000, and 100 % of the work is parallel, at least 50 %: gpu-only
    stage 7 agrees: a complexity of 100 is above 50
    ");
}

#[test]
fn a_batch_past_the_memory_in_use() {
    let workload = WorkloadProfile::from_task_count(1_000_000).with_parallelization(0.3);
    insta::assert_snapshot!(reasons(workload, "[[gpu]]\nmemory = \"8 GiB\"\nmemory_used = \"7 GiB\""), @r"
    stage 1: there is a GPU
    stage 2: 1 000 000 tasks are not fewer than 10, a workload of 102 400 000 000 is not below 100 000
    stage 3: 30 % of the work is parallel
    stage 4: 87.5 % of the GPU's memory is in use, above 80 %: hybrid:60/40
    stage 5 agrees: 9.54 GiB do not fit the GPU's free 1 GiB
    ");
    insta::assert_snapshot!(reasons(workload, "[[gpu]]\nmemory = \"8 GiB\""), @r"
    stage 1: there is a GPU
    stage 2: 1 000 000 tasks are not fewer than 10, a workload of 102 400 000 000 is not below 100 000
    stage 3: 30 % of the work is parallel
    stage 4: how much of the GPU's memory is in use is unknown and counts as no pressure
    stage 5: 9.54 GiB do not fit the GPU's free 8 GiB: hybrid:83/17
    ");
}

#[test]
fn many_tasks_that_are_hardly_parallel() {
    let workload = WorkloadProfile::from_task_count(1_000).with_parallelization(0.3);
    insta::assert_snapshot!(reasons(workload, "[[gpu]]\nmemory = \"8 GiB\"\nmemory_used = \"0 B\""), @r"
    stage 1: there is a GPU
    stage 2: 1 000 tasks are not fewer than 10, a workload of 102 400 000 is not below 100 000
    stage 3: 30 % of the work is parallel
    stage 4: 0 % of the GPU's memory is in use, not above 80 %
    stage 5: 9.77 MiB fit the GPU's free 8 GiB
    stage 6: 1 000 tasks are more than 100, a workload of 102 400 000 is above 10 000 000, but only 30 % of the work is parallel, less than 50 %
    stage 7: a complexity of 100 is above 50: gpu-only
    ");
}

#[test]
fn data_that_could_stay_on_the_gpu() {
    let estimate = |each, moved| {
        let cost = crate::plan::estimate(0.0, each, 0.0, 1);
        Some(crate::plan::Cost {
            transfer_ns: moved,
            ..cost
        })
    };
    let costs = |cpu, gpu, moved| crate::plan::OperationCosts {
        cpu: estimate(cpu, 0.0),
        gpus: vec![crate::plan::GpuCosts {
            cost: estimate(gpu, moved),
            ..crate::plan::GpuCosts::default()
        }],
        ..crate::plan::OperationCosts::default()
    };
    let moving = |cpu, gpu, moved| {
        let machine = Machine::from_toml("cores = 1\n[[gpu]]").expect("a machine");
        let workload = WorkloadProfile::from_task_count(1_000);
        let heuristics = ProfilingHeuristics::default();
        let decision =
            crate::plan::decide(&workload, &machine, &heuristics, &costs(cpu, gpu, moved));
        let reasons = decision.expect("a decision").reasons();
        reasons
            .into_iter()
            .find(|reason| reason.contains("transfers"))
    };
    insta::assert_snapshot!(moving(1e3, 5e4, 4.98e4).unwrap_or_default(), @"of gpu-only, 49.8 ms (99.6 %) are transfers; if the data stayed on the GPU, it would take 200 µs, cpu-only 5.0 times as long");
    insta::assert_snapshot!(moving(1e6, 1e4, 4e3).unwrap_or_default(), @"of gpu-only, 4.00 ms (40.0 %) are transfers");
    assert_eq!(moving(1e5, 5e4, 1e3), None);
}
