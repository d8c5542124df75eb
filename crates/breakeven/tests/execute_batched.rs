//! Functions that do several tasks a call.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use breakeven::Costs;
use breakeven::execute::{CrossCheck, ExecuteError, RayonCpu, StrategyManager, TaskError};
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
        let result = batch.execute_batched(&tasks, |tasks| Ok::<_, Infallible>(doubled(tasks)));
        assert_eq!(result.expect("nothing fails").outputs, doubled(&tasks));
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
        let result = batch.execute_batched(&tasks, |tasks| {
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
            .execute_batched(tasks, function)
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
