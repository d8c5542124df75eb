//! Batches that are stopped: by a deadline, a cancellation or a first error.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use breakeven::execute::{
    CancelToken, ExecuteError, FallbackPolicy, OnDevice, RayonCpu, Stop, StrategyManager,
};
use breakeven::plan::{ExecutionStrategy, GpuSpec};
use breakeven::testing::{Fault, FaultScript};
use breakeven::{Costs, DeviceErrorKind};
use rayon::prelude::*;

use crate::execute_broken::{MS, cpu, gpu, half_a_millisecond, manager, strategy};

#[test]
fn a_deadline_and_a_cancellation_reach_a_worker_in_its_span() {
    let tasks: Vec<u64> = (0..4_000).collect();
    let work = |task: &u64| {
        half_a_millisecond();
        *task
    };
    let manager = StrategyManager::cpu_only(cpu());
    // A millisecond, or two tasks.
    let in_time = |soonest: &[Duration; 2]| soonest.iter().all(|time| *time < MS * 12);
    // The soonest of some, for the machine may be busy.
    let (mut soonest, mut tries) = ([Duration::MAX; 2], 0..100);
    while !in_time(&soonest) && tries.next().is_some() {
        let begun = Instant::now();
        let stopped = manager
            .operation("long")
            .deadline(MS * 10)
            .map(&tasks, work);
        soonest[0] = soonest[0].min(begun.elapsed());
        assert!(matches!(
            stopped,
            Err(ExecuteError::Stopped {
                why: Stop::Deadline,
                ..
            })
        ));
        let token = CancelToken::new();
        let begun = Instant::now();
        let stopped = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(MS * 10);
                token.cancel();
            });
            manager.operation("long").cancel(&token).map(&tasks, work)
        });
        soonest[1] = soonest[1].min(begun.elapsed());
        assert!(matches!(
            stopped,
            Err(ExecuteError::Stopped {
                why: Stop::Cancelled,
                ..
            })
        ));
    }
    assert!(in_time(&soonest), "{soonest:?}");
}

#[test]
fn a_deadline_reaches_a_worker_whose_tasks_turn_expensive() {
    // A worker runs as many cheap tasks between two looks at what others do as there are
    // expensive ones here.
    let tasks: Vec<bool> = (0..2_400).map(|task| task >= 2_000).collect();
    let limit = MS * 50;
    let late = AtomicUsize::new(0);
    let manager = StrategyManager::cpu_only(cpu());
    let begun = Instant::now();
    let stopped = manager
        .operation("cheap, then expensive")
        .deadline(limit)
        .map(&tasks, |is_expensive| {
            let is_late = begun.elapsed() > limit + MS * 5;
            late.fetch_add(usize::from(is_late), Ordering::SeqCst);
            if *is_expensive {
                std::thread::sleep(MS * 5);
            }
        });
    assert!(matches!(stopped, Err(ExecuteError::Stopped { .. })));
    // Between a worker's look and its task the time may pass.
    let late = late.into_inner();
    assert!(late <= rayon::current_num_threads(), "{late} began late");
}

#[test]
fn after_a_first_error_no_worker_begins_many_more_tasks() {
    let tasks: Vec<u64> = (0..10_000).collect();
    for watched in [false, true] {
        let (calls, after) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let failed = AtomicUsize::new(0);
        let work = |task: &u64| {
            after.fetch_add(failed.load(Ordering::SeqCst), Ordering::SeqCst);
            calls.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(MS / 20);
            if *task == 40 {
                failed.store(1, Ordering::SeqCst);
                return Err("forty");
            }
            Ok(*task)
        };
        let manager = StrategyManager::cpu_only(cpu());
        let mut batch = manager.operation("fails");
        if watched {
            batch = batch.deadline(Duration::from_secs(100));
        }
        let error = batch.execute(&tasks, work).expect_err("forty fails");
        assert_eq!(error.to_string(), "task 40: forty");
        let after = after.into_inner();
        // A worker that had begun its task may see the failure in the next one.
        assert!(
            after <= 4 * rayon::current_num_threads(),
            "{after} calls after it"
        );
    }
}

#[test]
fn tasks_that_a_stop_kept_from_running_did_not_fall_back() {
    let tasks: Vec<u64> = (0..2_000).collect();
    // The device fails in the first batch, and is in quarantine in the second one.
    for policy in [FallbackPolicy::Allow, FallbackPolicy::Budget(1.0)] {
        let script = FaultScript::none().at(0, Fault::SubmitError(DeviceErrorKind::DeviceLost));
        let manager = manager(gpu("stopped: lost", Duration::ZERO).with_faults(script))
            .with_strategy(ExecutionStrategy::GpuOnly)
            .with_fallback(policy);
        let batch = manager.operation("stopped").deadline(MS * 10);
        let result = batch.execute_each(&tasks, |task| {
            half_a_millisecond();
            Ok::<u64, std::convert::Infallible>(task * 2)
        });
        let result = result.expect("what was done is kept");
        assert!(result.cpu.tasks < 2_000);
        assert_eq!(result.fallback.tasks, result.cpu.tasks, "{policy:?}");
    }
}

#[test]
fn a_stop_is_no_fallback_that_could_be_denied() {
    let tasks: Vec<u64> = (0..2_000).collect();
    for policy in [FallbackPolicy::Deny, FallbackPolicy::Budget(0.1)] {
        let manager = manager(gpu("stopped: healthy", MS * 200))
            .with_strategy(ExecutionStrategy::GpuOnly)
            .with_fallback(policy);
        let batch = manager.operation("stopped").deadline(MS * 10);
        let stopped = batch.map(&tasks, |task| task * 2);
        assert!(
            matches!(stopped, Err(ExecuteError::Stopped { done: 0, .. })),
            "{stopped:?}"
        );
        assert_eq!(manager.stats().fallback_tasks, 0);
    }
}

#[test]
fn launches_of_a_closure_end_before_a_deadline_and_their_outputs_are_kept() {
    let on_gpu = |tasks: &[u64]| {
        std::thread::sleep(MS * tasks.len() as u32);
        Ok(tasks.iter().map(|task| task * 2).collect())
    };
    let gpu = OnDevice::new(GpuSpec::named("stopped: closure"), on_gpu);
    let manager = StrategyManager::new(cpu(), Arc::new(gpu))
        .with_costs(Arc::new(Costs::new()))
        .with_strategy(ExecutionStrategy::GpuOnly);
    let batch = |tasks: u64, deadline| {
        let tasks: Vec<u64> = (0..tasks).collect();
        let batch = manager.operation("slow").deadline(deadline);
        batch.execute_each(&tasks, |task| Ok::<_, String>(task * 2))
    };
    let work = |deadline| batch(2_000, deadline).expect("what was done is kept");
    // A launch that nothing is known about, and one of a known rate.
    for warmth in ["cold", "warm"] {
        let result = work(MS * 100);
        let kept = result.outputs.iter().filter(|output| output.is_ok());
        assert_eq!(kept.count(), result.gpu.tasks, "{warmth}");
        assert!(result.gpu.tasks >= 20, "{warmth}: {}", result.gpu.tasks);
        let took = result.execution_time;
        assert!(took < MS * 400, "{warmth}: {took:?}");
        let text = result.explain().to_string();
        let first = text.lines().next().unwrap_or_default();
        let end = format!(", stopped after {} tasks", result.gpu.tasks);
        assert!(first.ends_with(&end), "{text}");
        assert!(!text.contains("actual"), "{text}");
        batch(200, MS * 100_000).expect("nothing fails");
    }
}

#[test]
fn tasks_that_a_policy_did_not_let_fall_back_are_not_counted() {
    let script = FaultScript::none().at(0, Fault::SubmitError(DeviceErrorKind::DeviceLost));
    let manager = manager(gpu("stopped: denied", Duration::ZERO).with_faults(script))
        .with_strategy(ExecutionStrategy::GpuOnly)
        .with_fallback(FallbackPolicy::Deny);
    let error = manager
        .operation("denied")
        .map([1_u64; 32], |task| task * 2);
    assert!(
        matches!(error, Err(ExecuteError::Device { fallen: 32, .. })),
        "{error:?}"
    );
    assert_eq!(manager.stats().fallback_tasks, 0);
}

#[test]
fn progress_is_reported_from_within_a_span() {
    // One worker, so that every span has many tasks.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = RayonCpu::with_pool(Arc::new(pool.expect("a thread can be started")));
    let reported = AtomicUsize::new(0);
    let count = |done: usize, all: usize| {
        reported.fetch_add(usize::from(done < all), Ordering::Relaxed);
    };
    let manager = StrategyManager::cpu_only(Arc::new(pool));
    let result = manager
        .operation("reported")
        .progress(&count)
        .map(vec![1_u64; 100], |task| {
            half_a_millisecond();
            task * 2
        });
    let spans = result.expect("nothing fails").cpu.spans;
    let reported = reported.into_inner();
    assert!(
        reported > spans,
        "reported {reported} times in {spans} spans"
    );
}

#[test]
fn an_empty_batch_is_done_at_any_deadline() {
    let none: [u64; 0] = [];
    let manager = manager(gpu("broken: empty", Duration::ZERO));
    for text in ["auto", "cpu-only", "gpu-only", "hybrid:50/50"] {
        let batch = manager.operation("empty").strategy(strategy(text));
        let result = batch.deadline(Duration::ZERO).map(none, |task| task * 2);
        assert!(
            result.expect("nothing is to be done").outputs.is_empty(),
            "{text}"
        );
    }
}

#[test]
fn a_deadline_that_passes_during_the_last_task_stops_nothing() {
    let manager = StrategyManager::cpu_only(Arc::new(RayonCpu::current()));
    let slow = |task: &u64| {
        std::thread::sleep(MS * 30);
        task * 2
    };
    let batch = || manager.operation("late").deadline(MS * 5);
    let result = batch().map([1_u64], slow);
    assert_eq!(result.expect("all is done").outputs, [2]);
    let each = batch().execute_each([1_u64], |task| Ok::<_, String>(slow(task)));
    let outputs = each.expect("all is done").outputs;
    assert!(outputs[0].as_ref().is_ok_and(|output| *output == 2));
}

#[test]
fn a_batch_that_may_be_stopped_begins_at_its_front() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = Arc::new(pool.expect("a thread can be started"));
    let manager = StrategyManager::cpu_only(Arc::new(RayonCpu::with_pool(pool)));
    let tasks: Vec<usize> = (0..1_000).collect();
    let begun = std::sync::Mutex::new(Vec::new());
    let result = manager
        .operation("in order")
        .deadline(MS * 30)
        .execute_each(&tasks, |task| {
            begun.lock().expect("nobody panics").push(*task);
            std::thread::sleep(MS / 2);
            Ok::<_, String>(*task)
        });
    let outputs = result.expect("what was done is kept").outputs;
    let begun = begun.into_inner().expect("nobody panics");
    assert!(begun.len() < tasks.len(), "it was stopped");
    assert!(begun.iter().copied().eq(0..begun.len()), "{begun:?}");
    assert!(outputs[..begun.len()].iter().all(Result::is_ok));
}

#[test]
fn tiny_tasks_that_may_be_stopped_take_little_more_than_rayons() {
    let manager = StrategyManager::cpu_only(cpu());
    let token = CancelToken::new();
    let times = |tasks: &[u64], work: fn(&u64) -> u64, rounds: usize| {
        let batch = || manager.operation("tiny");
        let ways: [&dyn Fn() -> Vec<u64>; 3] = [
            &|| tasks.par_iter().map(work).collect(),
            &|| {
                batch()
                    .deadline(MS * 100_000)
                    .map(tasks, work)
                    .expect("in time")
                    .outputs
            },
            &|| {
                batch()
                    .cancel(&token)
                    .map(tasks, work)
                    .expect("in time")
                    .outputs
            },
        ];
        // In turns, and the soonest of each: the machine may be busy.
        let mut soonest = [Duration::MAX; 3];
        for _ in 0..rounds {
            for (soonest, way) in soonest.iter_mut().zip(ways) {
                let begun = Instant::now();
                let outputs = std::hint::black_box(way());
                *soonest = begun.elapsed().min(*soonest);
                assert_eq!(outputs.len(), tasks.len());
            }
        }
        let [rayons, deadline, cancel] = soonest.map(|time| time.as_secs_f64());
        [deadline / rayons, cancel / rayons]
    };
    let work: [fn(&u64) -> u64; 2] = [
        |task| (0..25).fold(*task, |value, _| std::hint::black_box(value).rotate_left(5)),
        |task| (0..400).fold(*task, |value, _| std::hint::black_box(value).rotate_left(5)),
    ];
    let tasks: Vec<u64> = (0..100_000).collect();
    for (tasks, work) in [(&tasks[..], work[0]), (&tasks[..2_000], work[1])] {
        let ratios: Vec<_> = (0..10).map(|_| times(tasks, work, 30)).collect();
        let is_near = |ratios: &[f64; 2]| ratios.iter().all(|ratio| *ratio <= 1.6);
        assert!(ratios.iter().any(is_near), "{ratios:.2?}");
    }
}
