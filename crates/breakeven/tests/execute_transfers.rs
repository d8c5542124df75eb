//! Transfer times of launches, if the device reports them.

use std::future::{Ready, ready};
use std::sync::Arc;
use std::time::Duration;

use breakeven::execute::{CpuExecutor, GpuExecutor, RayonCpu, StrategyManager};
use breakeven::plan::ExecutionStrategy;
use breakeven::testing::{SimulatedGpu, SimulatedSpec};
use breakeven::{Costs, DeviceError, WorkloadProfile};

type Never = std::convert::Infallible;

fn double(task: &u64) -> Result<u64, Never> {
    Ok(task * 2)
}

#[test]
fn what_moving_the_data_takes_is_learned_apart_and_reported() {
    let name = "transfers: moving";
    // 20 us a task for 4 KiB up and 4 KiB down, 10 us for its work.
    let spec = SimulatedSpec::new(Duration::from_micros(100), Duration::from_micros(10));
    let spec = SimulatedSpec {
        name: name.to_owned(),
        overlaps: false,
        ..spec.with_transfer(4.096e8, 4096, 4096)
    };
    let gpu = Arc::new(SimulatedGpu::new(spec, |task: &u64| task * 2));
    let costs = Arc::new(Costs::new());
    let manager = |text: &str| {
        StrategyManager::new(Arc::new(RayonCpu::current()), Arc::clone(&gpu))
            .with_costs(Arc::clone(&costs))
            .with_strategy(text.parse().expect("a strategy"))
    };
    let run = |text: &str, count: u64| {
        let tasks: Vec<u64> = (0..count).collect();
        let result = manager(text).operation("moving").execute(&tasks, double);
        assert!(!result.expect("nothing fails").fallback_occurred);
    };
    run("cpu-only", 2_000);
    for count in [500, 2_000, 500, 2_000] {
        run("gpu-only", count);
    }
    let memory = WorkloadProfile::from_task_size(500, size_of::<u64>(), 100.0).memory_per_task;
    let known = costs.lookup("moving", memory, &[name], RayonCpu::current().workers());
    let seen = known.gpu(0).cost.expect("it was measured");
    let (moving, all) = (seen.transfer_ns, seen.per_task_ns);
    assert!((19_900.0..20_100.0).contains(&moving), "{seen:?}");
    assert!(all > 1.2 * moving, "{seen:?}");
    let tasks: Vec<u64> = (0..1_000).collect();
    let decision = manager("auto").operation("moving").decide(&tasks);
    let decision = decision.expect("a decision");
    assert_eq!(decision.transfer_ns, Some(1_000.0 * moving));
    let reasons = decision.reasons().join("\n");
    assert!(reasons.contains("of gpu-only, 20.0 ms ("), "{reasons}");
    assert!(reasons.contains(" %) are transfers"), "{reasons}");
}

#[test]
fn a_device_that_panics_when_asked_for_its_transfers_keeps_its_outputs() {
    struct Shy;
    impl GpuExecutor<u64, u64> for Shy {
        type Flight = Ready<Result<Vec<u64>, DeviceError>>;
        fn start(&self, tasks: &[u64]) -> Result<Self::Flight, DeviceError> {
            Ok(ready(Ok(tasks.iter().map(|task| task * 2).collect())))
        }
        fn transfer_time(&self, _: &Self::Flight) -> Option<Duration> {
            panic!("no clock")
        }
    }
    let manager = StrategyManager::new(Arc::new(RayonCpu::current()), Arc::new(Shy))
        .with_costs(Arc::new(Costs::new()))
        .with_strategy(ExecutionStrategy::GpuOnly);
    let tasks: Vec<u64> = (0..100).collect();
    let result = manager.execute(&tasks, double).expect("nothing fails");
    assert_eq!((result.cpu.tasks, result.gpus[0].share.tasks), (0, 100));
    assert!(!result.fallback_occurred && result.errors.is_empty());
}
