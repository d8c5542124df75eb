//! Sizes at their ends: what users state and what devices report.

use std::sync::Arc;
use std::time::Duration;

use breakeven::execute::{CancelToken, ExecuteBatch, OnDevice, PoolOf, StrategyManager};
use breakeven::hardware::Fact;
use breakeven::plan::{Basis, GpuSpec, Machine, OperationCosts, ProfilingHeuristics, decide_for};
use breakeven::{Costs, DeviceError, WorkloadProfile};

use crate::execute_broken::strategy;

/// A pool that says it has so many workers, and has one.
struct Boastful(usize);

impl ExecuteBatch for Boastful {
    fn workers(&self) -> usize {
        self.0
    }

    fn execute_batch<I: Sync, F: Fn(&I) + Sync>(&self, tasks: &[I], process_fn: &F) {
        tasks.iter().for_each(process_fn);
    }
}

#[test]
fn any_number_of_workers_will_do() {
    for workers in [0, 1, usize::MAX / 2, usize::MAX] {
        let on_gpu =
            |tasks: &[u64]| Ok::<_, DeviceError>(tasks.iter().map(|task| task * 2).collect());
        let device = OnDevice::new(GpuSpec::named("limits: workers"), on_gpu);
        let manager = StrategyManager::new(Arc::new(PoolOf(Boastful(workers))), Arc::new(device))
            .with_costs(Arc::new(Costs::new()));
        let tasks: Vec<u64> = (0..1_000).collect();
        let token = CancelToken::new();
        for text in ["auto", "cpu-only", "gpu-only", "hybrid:50/50"] {
            for watched in [false, true] {
                for _ in 0..4 {
                    let mut batch = manager.operation(text).strategy(strategy(text));
                    if watched {
                        batch = batch.cancel(&token).deadline(Duration::MAX);
                    }
                    let result = batch.map(&tasks, |task| task * 2).expect("nothing fails");
                    assert!(
                        result
                            .outputs
                            .iter()
                            .zip(&tasks)
                            .all(|(two, one)| *two == 2 * one)
                    );
                }
            }
        }
    }
}

#[test]
fn memory_of_any_size_adds_up() {
    let gpu = |name: &str| GpuSpec {
        memory_bytes: Fact::Known(u64::MAX),
        memory_used_bytes: Fact::Known(0),
        ..GpuSpec::named(name)
    };
    let machine = Machine {
        cores: usize::MAX,
        memory_bytes: Fact::Known(u64::MAX),
        gpus: vec![gpu("first"), gpu("second")],
        ..Machine::from_toml("cores = 1").expect("a machine")
    };
    for tasks in [1, 1_000, usize::MAX] {
        for memory in [1, usize::MAX] {
            let workload = WorkloadProfile::from_task_count(tasks).with_memory_per_task(memory);
            let decision = decide_for(
                strategy("auto"),
                Basis::Program,
                &workload,
                &machine,
                &ProfilingHeuristics::default(),
                &OperationCosts::default(),
            );
            assert!(!decision.expect("a decision").reasons().is_empty());
        }
    }
}
