//! Functions that do several tasks a call.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use breakeven::Costs;
use breakeven::execute::{
    CrossCheck, ExecuteError, GpuExecutor, RayonCpu, StrategyManager, TaskError,
};
use breakeven::testing::{SimulatedGpu, SimulatedSpec};
use breakeven::{DeviceError, DeviceErrorKind};

fn doubled(tasks: &[u64]) -> Vec<u64> {
    tasks.iter().map(|task| task * 2).collect()
}

fn on_gpu(tasks: &[u64]) -> Result<Vec<u64>, DeviceError> {
    Ok(doubled(tasks))
}

type OnGpu = fn(&[u64]) -> Result<Vec<u64>, DeviceError>;

fn manager(gpu: OnGpu) -> StrategyManager<RayonCpu, OnGpu> {
    let cpu = Arc::new(RayonCpu::current());
    StrategyManager::new(cpu, Arc::new(gpu)).with_costs(Arc::new(Costs::new()))
}

#[test]
fn every_strategy_gives_the_outputs_in_order() {
    let tasks: Vec<u64> = (0..20_000).collect();
    for strategy in ["auto", "cpu-only", "gpu-only", "hybrid:50/50"] {
        let manager = manager(on_gpu).with_strategy(strategy.parse().expect("a strategy"));
        let batch = manager
            .operation("double")
            .verify(CrossCheck::all(|a: &u64, b: &u64| a == b));
        let result = batch.execute_batches(&tasks, |tasks| Ok::<_, Infallible>(doubled(tasks)));
        assert_eq!(result.expect("nothing fails").outputs, doubled(&tasks));
    }
}

#[test]
fn a_sample_checks_at_least_one_output() {
    let tasks: Vec<u64> = (0..100).collect();
    let wrong = |tasks: &[u64]| Ok(tasks.iter().map(|task| task + 1).collect());
    for part in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
        let manager = StrategyManager::new(Arc::new(RayonCpu::current()), Arc::new(wrong));
        let batch = (manager.operation("checked"))
            .strategy(breakeven::plan::ExecutionStrategy::GpuOnly)
            .verify(CrossCheck::sample(part, |a: &u64, b: &u64| a == b).with_cost_cap(part));
        let result = batch.map(&tasks, |task| 2 * task).expect("the CPU does it");
        assert_eq!(result.outputs, doubled(&tasks), "{part}");
    }
}

#[test]
fn a_call_has_many_tasks() {
    let tasks: Vec<u64> = (0..1_000_000).collect();
    for deadline in [None, Some(Duration::from_secs(60))] {
        let calls = AtomicUsize::new(0);
        let manager = StrategyManager::cpu_only(Arc::new(RayonCpu::current()));
        let mut batch = manager.operation("double");
        if let Some(deadline) = deadline {
            batch = batch.deadline(deadline);
        }
        let result = batch.execute_batches(&tasks, |tasks| {
            calls.fetch_add(1, Ordering::Relaxed);
            Ok::<_, Infallible>(doubled(tasks))
        });
        assert_eq!(result.expect("nothing fails").outputs.len(), tasks.len());
        // A call per task would be a million.
        assert!(calls.into_inner() < 20_000);
    }
}

#[test]
fn too_few_outputs_an_error_and_a_panic_name_the_first_task_of_the_call() {
    let manager = manager(|_| Err(DeviceError::new(DeviceErrorKind::Launch, "made up")))
        .with_strategy("gpu-only".parse().expect("a strategy"));
    let tasks = [1_u64, 2, 3];
    let failed = |function: fn(&[u64]) -> Result<Vec<u64>, String>| {
        let ended = manager
            .operation("fails")
            .execute_batches(tasks, function)
            .expect_err("it fails");
        match ended {
            ExecuteError::Task { index, error } => (index, error),
            other => panic!("{other}"),
        }
    };
    let (index, error) = failed(|_| Ok(vec![]));
    assert!(matches!(error, TaskError::WrongCount { found: 0, tasks } if tasks > 0));
    assert!(index < 3, "{index}");
    let (_, error) = failed(|_| Err("not this".to_owned()));
    assert_eq!(error, TaskError::Failed("not this".to_owned()));
    let (_, error) = failed(|_| panic!("not this either"));
    assert_eq!(error, TaskError::Panicked("not this either".to_owned()));
}

/// Of batches of a function whose calls last five milliseconds however many tasks they have: the
/// calls of the first, and of later ones the fewest calls and the least time over that of a call.
fn of_slow_calls<G: GpuExecutor<u64, u64>>(
    manager: &StrategyManager<RayonCpu, G>,
) -> (usize, usize, f64) {
    let tasks: Vec<u64> = (0..10_000).collect();
    let calls = AtomicUsize::new(0);
    let slow = |tasks: &[u64]| {
        calls.fetch_add(1, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(5));
        doubled(tasks)
    };
    let seconds = |run: &dyn Fn()| {
        let began = Instant::now();
        run();
        began.elapsed().as_secs_f64()
    };
    let least = |times: [f64; 15]| times.into_iter().fold(f64::INFINITY, f64::min);
    let call = least([(); 15].map(|()| seconds(&|| assert_eq!(slow(&tasks[..1]), [0]))));
    let batch = || {
        calls.store(0, Ordering::Relaxed);
        let result = manager.operation("slow call").map_batches(&tasks, slow);
        assert_eq!(result.expect("nothing fails").outputs, doubled(&tasks));
    };
    batch();
    let (cold, mut fewest) = (calls.load(Ordering::Relaxed), usize::MAX);
    let times = [(); 15].map(|()| {
        let took = seconds(&batch);
        fewest = fewest.min(calls.load(Ordering::Relaxed));
        took
    });
    (cold, fewest, least(times) / call)
}

#[test]
fn a_call_that_costs_much_is_made_once_a_worker() {
    let pool = || rayon::ThreadPoolBuilder::new().num_threads(2).build();
    let cpu = Arc::new(RayonCpu::with_pool(Arc::new(pool().expect("a pool"))));
    let alone = of_slow_calls(&StrategyManager::cpu_only(Arc::clone(&cpu)));
    // A GPU that needs twice the time has a part of the first batch.
    let spec = SimulatedSpec::new(Duration::from_millis(10), Duration::from_nanos(1));
    let gpu = Arc::new(SimulatedGpu::new(spec, |task: &u64| task * 2));
    let manager = StrategyManager::new(cpu, gpu).with_costs(Arc::new(Costs::new()));
    // Workers alone get a call each; the second batch has one more, which shows the fixed cost of a call.
    let (cold, warm, times) = alone;
    assert!(cold <= 3 && warm == 2 && times < 1.1, "{alone:?}");
    let (cold, warm, times) = of_slow_calls(&manager);
    // Beside the GPU the first calls have one task, sixteen, and then the rest.
    assert!(cold <= 10, "{cold}");
    assert!(warm <= 3 && times < 1.1, "{warm} {times}");
}
