//! The executor as its users see it, on the CPU and on closures as a GPU.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use breakeven::Costs;
use breakeven::DeviceError;
use breakeven::execute::{CancelToken, ExecuteError, RayonCpu, Stop, StrategyManager, TaskError};
use breakeven::plan::ExecutionStrategy;
use breakeven::testing::{SimulatedGpu, SimulatedSpec};
use rayon::prelude::*;

use crate::execute_broken::cpu;

type Never = std::convert::Infallible;

fn square(task: &u64) -> Result<u64, Never> {
    Ok(task * task)
}

fn squares(tasks: &[u64]) -> Result<Vec<u64>, DeviceError> {
    Ok(tasks.iter().map(|task| task * task).collect())
}

type Squares = fn(&[u64]) -> Result<Vec<u64>, DeviceError>;

fn manager(gpu: Squares) -> StrategyManager<RayonCpu, Squares> {
    StrategyManager::new(cpu(), Arc::new(gpu)).with_costs(Arc::new(Costs::new()))
}

fn strategies() -> Vec<ExecutionStrategy> {
    [
        "auto",
        "cpu-only",
        "gpu-only",
        "hybrid:60/40",
        "hybrid:0/100",
        "hybrid:100/0",
    ]
    .iter()
    .map(|text| text.parse().expect("a strategy"))
    .collect()
}

#[test]
fn outputs_are_in_order_under_every_strategy() {
    for count in [0, 1, 2, 9, 10, 1000, 50_000] {
        let tasks: Vec<u64> = (0..count).collect();
        let expected: Vec<u64> = tasks.iter().map(|task| task * task).collect();
        for strategy in strategies() {
            let manager = manager(squares).with_strategy(strategy);
            for _ in 0..3 {
                let result = manager.operation("square").execute(&tasks, square);
                let result = result.expect("nothing fails");
                assert_eq!(result.outputs, expected, "{strategy}");
                assert_eq!(
                    result.cpu.tasks + result.gpu.tasks,
                    tasks.len(),
                    "{strategy}"
                );
                assert!(!result.fallback_occurred);
            }
        }
    }
}

#[test]
fn an_allocation_that_was_asked_for_is_kept() {
    let tasks: Vec<u64> = (0..1000).collect();
    let strategy = ExecutionStrategy::hybrid(60).expect("a strategy");
    let manager = manager(squares).with_strategy(strategy);
    let result = manager.execute(&tasks, square).expect("nothing fails");
    assert_eq!((result.gpu.tasks, result.cpu.tasks), (600, 400));
    assert_eq!(result.strategy_used, strategy);
}

#[test]
fn it_works_inside_a_pool_of_one_and_with_tasks_that_use_the_pool() {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .expect("a pool");
    let tasks: Vec<u64> = (0..500).collect();
    let nested = |task: &u64| Ok::<u64, Never>((0..*task).into_par_iter().map(|_| *task).sum());
    pool.install(|| {
        for strategy in strategies() {
            let manager = manager(squares).with_strategy(strategy);
            let result = manager.operation("nested").execute(&tasks, nested);
            assert!(
                result
                    .expect("nothing fails")
                    .outputs
                    .iter()
                    .zip(&tasks)
                    .all(|(a, b)| *a == b * b)
            );
        }
    });
}

#[test]
fn a_task_that_fails_ends_the_batch_with_its_index() {
    let tasks: Vec<u64> = (0..1000).collect();
    for strategy in ["cpu-only", "hybrid:10/90"] {
        let manager = manager(squares).with_strategy(strategy.parse().expect("a strategy"));
        let failing = |task: &u64| if *task == 700 { Err("no") } else { Ok(*task) };
        let error = manager
            .operation("fails")
            .execute(&tasks, failing)
            .expect_err("700 fails");
        assert_eq!(error.to_string(), "task 700: no");
        let panicking = |task: &u64| {
            assert!(*task != 700, "seven hundred");
            Ok::<u64, Never>(*task)
        };
        let error = manager
            .operation("panics")
            .execute(&tasks, panicking)
            .expect_err("700 panics");
        let ExecuteError::Task {
            index: 700,
            error: TaskError::Panicked(message),
        } = error
        else {
            panic!("{error}");
        };
        assert!(message.contains("seven hundred"));
    }
}

#[test]
fn each_task_may_have_an_error_of_its_own() {
    let tasks: Vec<u64> = (0..100).collect();
    let manager = StrategyManager::cpu_only(cpu());
    let result = manager
        .operation("each")
        .execute_each(&tasks, |task| match task % 10 {
            3 => Err("three"),
            7 => panic!("seven"),
            _ => Ok(*task),
        })
        .expect("the batch does not fail");
    for (task, output) in result.outputs.iter().enumerate() {
        match task % 10 {
            3 => assert_eq!(*output, Err(TaskError::Failed("three"))),
            7 => assert_eq!(*output, Err(TaskError::Panicked("seven".to_owned()))),
            _ => assert_eq!(*output, Ok(task as u64)),
        }
    }
}

#[test]
fn a_stop_keeps_what_was_done_where_each_task_counts() {
    let tasks: Vec<u64> = (0..10_000).collect();
    let manager = StrategyManager::cpu_only(cpu());
    let token = CancelToken::new();
    let run = |task: &u64| {
        if *task == 5000 || *task == 100 {
            token.cancel();
        }
        std::thread::sleep(Duration::from_micros(20));
        Ok::<u64, Never>(*task)
    };
    let result = manager
        .operation("cancel")
        .cancel(&token)
        .execute_each(&tasks, run);
    let outputs = result.expect("what was done is kept").outputs;
    let not_run =
        |output: &&Result<u64, _>| matches!(output, Err(TaskError::NotRun(Stop::Cancelled)));
    let left = outputs.iter().filter(not_run).count();
    assert!(left > 0 && left < tasks.len(), "{left}");
    assert!(
        outputs
            .iter()
            .enumerate()
            .all(|(task, output)| match output {
                Ok(done) => *done == task as u64,
                Err(error) => *error == TaskError::NotRun(Stop::Cancelled),
            })
    );
    let deadline = manager
        .operation("deadline")
        .deadline(Duration::from_millis(5));
    let error = deadline.execute(&tasks, |task| {
        std::thread::sleep(Duration::from_micros(100));
        Ok::<u64, Never>(*task)
    });
    let Err(ExecuteError::Stopped {
        why: Stop::Deadline,
        done,
        tasks: 10_000,
    }) = error
    else {
        panic!("the deadline passed");
    };
    assert!(done < 10_000);
}

#[test]
fn progress_is_reported_until_all_is_done() {
    let tasks: Vec<u64> = (0..5000).collect();
    for strategy in strategies() {
        let most = AtomicUsize::new(0);
        let reported = |done: usize, all: usize| {
            assert_eq!(all, 5000);
            most.fetch_max(done, Ordering::Relaxed);
        };
        let manager = manager(squares).with_strategy(strategy);
        let result = manager
            .operation("progress")
            .progress(&reported)
            .execute(&tasks, square);
        assert!(result.is_ok());
        assert_eq!(most.load(Ordering::Relaxed), 5000, "{strategy}");
    }
}

#[test]
fn percentages_that_do_not_sum_to_100_are_refused() {
    let strategy = ExecutionStrategy::Hybrid {
        gpu_allocation: 60,
        cpu_allocation: 60,
    };
    let manager = manager(squares).with_strategy(strategy);
    let error = manager.execute([1_u64], square).expect_err("120 %");
    assert!(error.to_string().contains("sums to 120 %"), "{error}");
}

#[test]
fn launches_that_are_bounded_are_predicted_as_so_many() {
    let spec = SimulatedSpec {
        name: "one task a launch".to_owned(),
        most_tasks: Some(1),
        depth: 1,
        ..SimulatedSpec::new(Duration::from_micros(300), Duration::from_micros(200))
    };
    let manager = StrategyManager::new(
        Arc::new(RayonCpu::current()),
        Arc::new(SimulatedGpu::new(spec, |task: &u64| task + 1)),
    )
    .with_costs(Arc::new(Costs::new()))
    .with_strategy("gpu-only".parse().expect("a strategy"));
    let tasks: Vec<u64> = (0..100).collect();
    let run = || {
        manager
            .operation("bounded")
            .map(&tasks, |task| task + 1)
            .expect("it runs")
    };
    for _ in 0..3 {
        run();
    }
    let [_, gpu_only, _] = run().decision.candidates;
    let predicted = gpu_only.predicted_ns.expect("it was measured");
    // 100 launches of half a millisecond; a loaded machine may take longer.
    assert!((45e6..500e6).contains(&predicted), "{predicted}");
}
