//! Values of the user's that panic when they are dropped: whatever ends a batch, all its values
//! are dropped once, and the panic is the batch's error.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::time::{Duration, Instant};

use breakeven::Costs;
use breakeven::execute::{
    CancelToken, CrossCheck, ExecuteError, FallbackPolicy, OnDevice, RayonCpu, StrategyManager,
    TaskError,
};
use breakeven::plan::GpuSpec;
use breakeven::{DeviceError, DeviceErrorKind};

use crate::execute_broken::{MS, cpu, strategy};

const SAID: &str = "simulated panic of a drop";

/// A value that is counted while it is alive, and panics when it is dropped.
#[derive(Debug)]
struct Loud(Arc<AtomicIsize>);

impl Loud {
    fn new(alive: &Arc<AtomicIsize>) -> Self {
        alive.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(alive))
    }
}

impl Drop for Loud {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
        panic!("{SAID}");
    }
}

/// The batch's error; every value was dropped once, and nothing escaped.
fn error_of<T: std::fmt::Debug, E: std::fmt::Debug>(
    alive: &Arc<AtomicIsize>,
    batch: impl FnOnce() -> Result<T, ExecuteError<E>>,
) -> ExecuteError<E> {
    let outcome = catch_unwind(AssertUnwindSafe(batch));
    assert_eq!(
        alive.load(Ordering::SeqCst),
        0,
        "values are left, or went twice"
    );
    let outcome = outcome.unwrap_or_else(|_| panic!("a panic escapes"));
    outcome.expect_err("the batch has ended early")
}

fn says_the_panic<E>(error: &ExecuteError<E>) -> bool {
    match error {
        ExecuteError::Task {
            error: TaskError::Panicked(said),
            ..
        } => said.contains(SAID),
        ExecuteError::Invalid(error) => error.to_string().contains(SAID),
        _ => false,
    }
}

fn tasks() -> Vec<u64> {
    (0..60).collect()
}

#[test]
fn outputs_of_a_batch_that_was_stopped_or_failed_go_one_by_one() {
    let manager = StrategyManager::cpu_only(cpu());
    let alive = Arc::new(AtomicIsize::new(0));
    let token = CancelToken::new();
    let stopped = error_of(&alive, || {
        let batch = manager.operation("stopped").cancel(&token);
        batch.execute(tasks(), |task| {
            if *task == 30 {
                token.cancel();
            }
            Ok::<_, String>(Loud::new(&alive))
        })
    });
    assert!(says_the_panic(&stopped), "{stopped:?}");
    for watched in [false, true] {
        let failed = error_of(&alive, || {
            let mut batch = manager.operation("failed");
            if watched {
                batch = batch.deadline(Duration::from_secs(100));
            }
            batch.execute(tasks(), |task| match task {
                40 => Err("forty"),
                _ => Ok(Loud::new(&alive)),
            })
        });
        assert!(matches!(
            failed,
            ExecuteError::Task {
                index: 40,
                error: TaskError::Failed("forty")
            }
        ));
    }
    let reported = |done: usize, all: usize| assert!(done < all, "the bar breaks");
    let broken = error_of(&alive, || {
        let batch = manager.operation("reported").progress(&reported);
        batch.map(tasks(), |_| Loud::new(&alive))
    });
    assert!(says_the_panic(&broken), "{broken:?}");
}

#[test]
fn outputs_of_a_batch_whose_fallback_is_denied_go_one_by_one() {
    let alive = Arc::new(AtomicIsize::new(0));
    // The CPU has done its part by then.
    let on_gpu = |_: &[u64]| {
        std::thread::sleep(MS * 50);
        Err::<Vec<Loud>, _>(DeviceError::new(DeviceErrorKind::Other, "a fault"))
    };
    let manager = StrategyManager::new(cpu(), Arc::new(on_gpu))
        .with_costs(Arc::new(Costs::new()))
        .with_strategy(strategy("hybrid:50/50"))
        .with_fallback(FallbackPolicy::Deny);
    let denied = error_of(&alive, || {
        manager
            .operation("denied")
            .map(tasks(), |_| Loud::new(&alive))
    });
    assert!(says_the_panic(&denied), "{denied:?}");
    let denied = error_of(&alive, || {
        let batch = manager.operation("each denied");
        batch.execute_each(tasks(), |_| Ok::<_, String>(Loud::new(&alive)))
    });
    assert!(matches!(
        denied,
        ExecuteError::Task { .. } | ExecuteError::Device { .. }
    ));
}

#[test]
fn outputs_that_a_device_gave_for_nothing_go_one_by_one() {
    let alive = Arc::new(AtomicIsize::new(0));
    let of_gpu = Arc::clone(&alive);
    // One too many.
    let on_gpu = move |tasks: &[u64]| {
        let outputs = (0..=tasks.len()).map(|_| Loud::new(&of_gpu));
        Ok::<_, DeviceError>(outputs.collect::<Vec<_>>())
    };
    let manager = StrategyManager::new(cpu(), Arc::new(on_gpu))
        .with_costs(Arc::new(Costs::new()))
        .with_strategy(strategy("gpu-only"));
    let result = manager
        .operation("too many")
        .map(tasks(), |_| Loud::new(&alive));
    let result = result.expect("the CPU does it");
    assert_eq!(
        (result.outputs.len(), alive.load(Ordering::SeqCst)),
        (60, 60)
    );
    assert_eq!(result.cpu.tasks, 60);
    std::mem::forget(result);
}

#[test]
fn outputs_of_a_call_of_several_tasks_that_gave_too_few_go_one_by_one() {
    let alive = Arc::new(AtomicIsize::new(0));
    let manager = StrategyManager::cpu_only(cpu());
    let failed = error_of(&alive, || {
        let batch = manager.operation("too few");
        batch.execute_batches(tasks(), |tasks| {
            let outputs = tasks.iter().skip(1).map(|_| Loud::new(&alive));
            Ok::<_, String>(outputs.collect())
        })
    });
    let is_counted = matches!(
        failed,
        ExecuteError::Task {
            error: TaskError::WrongCount { .. },
            ..
        }
    );
    assert!(is_counted, "{failed:?}");
}

#[test]
fn a_device_is_not_blamed_for_the_drop_of_what_it_is_checked_against() {
    let alive = Arc::new(AtomicIsize::new(0));
    let of_gpu = Arc::clone(&alive);
    let on_gpu = move |tasks: &[u64]| {
        Ok::<_, DeviceError>(tasks.iter().map(|_| Loud::new(&of_gpu)).collect::<Vec<_>>())
    };
    let device = OnDevice::new(GpuSpec::named("drops: checked"), on_gpu);
    let manager = StrategyManager::new(cpu(), Arc::new(device))
        .with_costs(Arc::new(Costs::new()))
        .with_strategy(strategy("gpu-only"));
    let check = CrossCheck::all(|_: &Loud, _: &Loud| true);
    let batch = manager.operation("checked").verify(check);
    let result = batch.map(tasks(), |_| Loud::new(&alive));
    let result = result.expect("the outputs agree");
    assert_eq!((result.gpu.tasks, result.errors.len()), (60, 0));
    std::mem::forget(result);
}

#[test]
fn what_a_call_was_given_may_panic_when_it_goes() {
    let alive = Arc::new(AtomicIsize::new(0));
    let manager = StrategyManager::cpu_only(cpu());
    let given = error_of(&alive, || {
        let tasks: Vec<Loud> = (0..1).map(|_| Loud::new(&alive)).collect();
        manager.operation("tasks").map(tasks, |_| 7)
    });
    assert!(says_the_panic(&given), "{given:?}");
    let given = error_of(&alive, || {
        let (held, alive) = (Loud::new(&alive), Arc::clone(&alive));
        manager.operation("function").execute([1, 2, 3], move |_| {
            let _ = &held;
            Ok::<_, String>(Loud::new(&alive))
        })
    });
    assert!(says_the_panic(&given), "{given:?}");
}

#[test]
fn errors_that_nobody_sees_may_panic_when_they_go() {
    let alive = Arc::new(AtomicIsize::new(0));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    let pool = Arc::new(pool.expect("threads can be started"));
    let manager = StrategyManager::cpu_only(Arc::new(RayonCpu::with_pool(pool)));
    let token = CancelToken::new();
    let tasks: Vec<u64> = (0..2_000).collect();
    let stopped = error_of(&alive, || {
        let batch = manager.operation("unseen").cancel(&token);
        batch.execute(&tasks, |task| {
            if *task > 0 {
                std::thread::sleep(MS / 10);
                return Ok(());
            }
            token.cancel();
            std::thread::sleep(MS * 100);
            Err(Loud::new(&alive))
        })
    });
    assert!(
        matches!(stopped, ExecuteError::Stopped { .. }),
        "{stopped:?}"
    );
}

#[test]
fn outputs_that_nobody_waits_for_go_one_by_one() {
    let alive = Arc::new(AtomicIsize::new(0));
    let manager = StrategyManager::cpu_only(cpu());
    let of_task = Arc::clone(&alive);
    let (begun, reported) = std::sync::mpsc::channel();
    let begun = std::sync::Mutex::new(begun);
    // The last task ends when the future has gone.
    let future = manager
        .operation("unwaited")
        .execute_async(tasks(), move |task| {
            let output = Loud::new(&of_task);
            if *task == 59 {
                let _ = begun.lock().map(|begun| begun.send(()));
                std::thread::sleep(MS * 50);
            }
            Ok::<_, String>(output)
        });
    reported.recv().expect("it begins");
    drop(future);
    let until = Instant::now() + Duration::from_secs(20);
    while alive.load(Ordering::SeqCst) > 0 {
        assert!(Instant::now() < until, "outputs are left");
        std::thread::sleep(MS);
    }
    assert_eq!(alive.load(Ordering::SeqCst), 0);
}
