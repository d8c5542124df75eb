//! Launches that last longer than the CPU would take: all else done, it does them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use breakeven::Costs;
use breakeven::WorkloadProfile;
use breakeven::execute::{ExecutionResult, FallbackPolicy, RayonCpu, StrategyManager};
use breakeven::plan::ExecutionStrategy;
use breakeven::testing::{SimulatedGpu, SimulatedSpec};

type Never = std::convert::Infallible;

/// A launch of the device below takes so long, however few tasks it has.
const LAUNCH: Duration = Duration::from_secs(3);

/// A batch whose tasks take a tenth of a millisecond on the CPU, on a GPU that seems
/// to compile for seconds; how often the CPU's function ran.
fn run(strategy: &str, costs: &Arc<Costs>, tasks: usize) -> (ExecutionResult<u64>, usize) {
    let gpu = SimulatedGpu::new(
        SimulatedSpec {
            launch: LAUNCH,
            ..SimulatedSpec::default()
        },
        |task: &u64| task + 1,
    );
    let manager = StrategyManager::new(Arc::new(RayonCpu::current()), Arc::new(gpu))
        .with_costs(Arc::clone(costs))
        .with_fallback(FallbackPolicy::Deny)
        .with_strategy(strategy.parse().expect("a strategy"));
    let tasks: Vec<u64> = (0..tasks as u64).collect();
    let calls = AtomicUsize::new(0);
    let result = manager
        .operation("recalled")
        .execute(&tasks, |task| {
            calls.fetch_add(1, Ordering::Relaxed);
            let end = Instant::now() + Duration::from_micros(100);
            while Instant::now() < end {
                std::hint::spin_loop();
            }
            Ok::<_, Never>(task + 1)
        })
        .expect("nothing fails");
    assert!(
        result
            .outputs
            .iter()
            .zip(1..)
            .all(|(output, task)| *output == task)
    );
    (result, calls.into_inner())
}

#[test]
fn a_first_launch_that_lasts_is_taken_back() {
    let costs = Arc::new(Costs::new());
    let (result, calls) = run("auto", &costs, 400);
    assert!(result.execution_time < LAUNCH / 2, "{result:?}");
    assert!(result.recalled > 0 && calls == 400, "{result:?}");
    assert_eq!(result.strategy_used, ExecutionStrategy::CpuOnly);
    // Nothing failed, so a policy against fallbacks is kept.
    assert!(!result.fallback_occurred && result.errors.is_empty());
    let reported = result.explain().to_string();
    assert!(reported.contains("recalled: "), "{reported}");
    // It counts as a time that a launch takes at least.
    let memory = WorkloadProfile::from_task_size(400, 8, 100.0).memory_per_task;
    let known = costs.lookup("recalled", memory, &[&result.gpus[0].device], 1);
    let seen = known.gpu(0).cost.expect("it was reported of the launch");
    assert!(seen.predict_ns(result.recalled as u64) > 1e6, "{seen:?}");
}

#[test]
fn who_asks_for_the_gpu_waits_for_it() {
    let (result, calls) = run("gpu-only", &Arc::new(Costs::new()), 4);
    assert!(result.execution_time >= LAUNCH && calls == 0, "{result:?}");
    assert_eq!(result.recalled, 0);
}
