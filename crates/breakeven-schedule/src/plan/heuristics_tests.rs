//! What may be said of heuristics, built or read.

use super::*;
use crate::error::ErrorKind;

#[test]
fn batches_are_as_large_as_the_device_likes() {
    let size = |strategy: &str, tasks| {
        let strategy = strategy.parse().expect("a strategy");
        ProfilingHeuristics::default().batch_size(strategy, tasks)
    };
    assert_eq!(size("cpu-only", 1_000), 32);
    assert_eq!(size("gpu-only", 1_000), 256);
    assert_eq!(size("hybrid:60/40", 1_000), 166);
    assert_eq!(size("hybrid:70/30", 1_000), 189);
    assert_eq!(size("hybrid:0/100", 1_000), 32);
    assert_eq!(size("gpu-only", 20), 20);
    assert_eq!(size("cpu-only", 0), 0);
    let huge = ProfilingHeuristics::default().with_gpu_batch_size(usize::MAX);
    let hybrid = ExecutionStrategy::hybrid(50).expect("a split");
    assert_eq!(huge.batch_size(hybrid, usize::MAX), usize::MAX / 2 + 17);
}

#[test]
fn an_empty_file_is_the_default() {
    let read = ProfilingHeuristics::from_toml("").expect("nothing is wrong");
    assert_eq!(read, ProfilingHeuristics::default());
}

#[test]
fn what_is_written_is_read() {
    let read = ProfilingHeuristics::from_toml(
        "small_workload_threshold = 1\nlarge_workload_threshold = 2\n\
         gpu_memory_pressure_threshold = 1\nmin_tasks_for_gpu = 0\n\
         optimal_cpu_batch_size = 4\noptimal_gpu_batch_size = 5\n\
         complexity_threshold_for_gpu = 6\nlast_answer = \"gpu-only\"\n",
    );
    let expected = ProfilingHeuristics::default()
        .with_small_threshold(1)
        .with_large_threshold(2)
        .with_memory_threshold(1.0)
        .with_min_tasks(0)
        .with_cpu_batch_size(4)
        .with_gpu_batch_size(5)
        .with_complexity_threshold(6.0)
        .with_last_answer(ExecutionStrategy::GpuOnly);
    assert_eq!(read, Ok(expected));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let cases = r#"
min_tasks_for_gpu = -1 => line 1, column 21: invalid value: integer `-1`, expected a whole number, 0 or more
; small_workload_threshold = 2e7 => line 2, column 28: invalid type: floating point `20000000.0`, expected a whole number, 0 or more
small_workload_threshold = 20_000_000 => line 1, column 1: small_workload_threshold is 20000000, above large_workload_threshold, 10000000: a workload between would be both; exchange them
min_tasks_for_gpu = 3; large_workload_threshold = 9 => line 2, column 1: small_workload_threshold is 100000, above large_workload_threshold, 9: a workload between would be both; exchange them
# first;   gpu_memory_pressure_threshold = 80 => line 2, column 3: gpu_memory_pressure_threshold is 80; give a fraction from 0 to 1
gpu_memory_pressure_threshold = nan => line 1, column 1: gpu_memory_pressure_threshold is NaN; give a fraction from 0 to 1
optimal_gpu_batch_size = 0 => line 1, column 1: optimal_gpu_batch_size is 0; give 1 task or more
complexity_threshold_for_gpu = nan => line 1, column 1: complexity_threshold_for_gpu is NaN; give a number, 0 or more, or infinity for no stage 7
last_answer = "auto" => line 1, column 1: last_answer: auto is not a decision; give cpu-only, gpu-only or hybrid:GPU/CPU
last_answer = "hybrid:60/60" => line 1, column 15: hybrid:60/60 sums to 120 %; the GPU's and the CPU's percentages must sum to 100
tasks = 3 => line 1, column 1: unknown field `tasks`, expected one of `small_workload_threshold`, `large_workload_threshold`, `gpu_memory_pressure_threshold`, `min_tasks_for_gpu`, `optimal_cpu_batch_size`, `optimal_gpu_batch_size`, `complexity_threshold_for_gpu`, `last_answer`"#;
    toml_file::refuses(cases, ProfilingHeuristics::from_toml);
}

#[test]
fn what_is_built_is_checked_too() {
    let hybrid = ExecutionStrategy::Hybrid {
        gpu_allocation: 60,
        cpu_allocation: 60,
    };
    let usual = ProfilingHeuristics::default();
    for wrong in [
        usual.with_small_threshold(u64::MAX),
        usual.with_memory_threshold(-0.1),
        usual.with_cpu_batch_size(0),
        usual.with_complexity_threshold(-1.0),
        usual.with_last_answer(hybrid),
    ] {
        let error = wrong.check().expect_err("it is wrong");
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
    assert_eq!(ProfilingHeuristics::hybrid_first().check(), Ok(()));
}
