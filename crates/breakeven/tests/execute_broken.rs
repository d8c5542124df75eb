//! What was seen broken once, by programs that use the executor hard.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use breakeven::Costs;
use breakeven::execute::{
    CancelToken, CrossCheck, ExecuteError, FallbackPolicy, GpuExecutor, OnDevice, RayonCpu, Stop,
    StrategyManager,
};
use breakeven::hardware::Fact;
use breakeven::plan::{ExecutionStrategy, GpuSpec};
use breakeven::testing::{Fault, FaultScript, SimulatedGpu, SimulatedSpec};
use breakeven::{DeviceError, DeviceErrorKind};
use rayon::prelude::*;

pub(crate) const MS: Duration = Duration::from_millis(1);

pub(crate) fn cpu() -> Arc<RayonCpu> {
    Arc::new(RayonCpu::current())
}

fn pool(threads: usize) -> Arc<rayon::ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    Arc::new(pool.expect("threads can be started"))
}

fn strategy(text: &str) -> ExecutionStrategy {
    text.parse().expect("a strategy")
}

pub(crate) fn gpu(name: &str, launch: Duration) -> SimulatedGpu<u64, u64> {
    let spec = SimulatedSpec {
        name: name.to_owned(),
        ..SimulatedSpec::new(launch, Duration::ZERO)
    };
    SimulatedGpu::new(spec, |task| task * 2)
}

pub(crate) fn manager(
    gpu: SimulatedGpu<u64, u64>,
) -> StrategyManager<RayonCpu, SimulatedGpu<u64, u64>> {
    StrategyManager::new(cpu(), Arc::new(gpu)).with_costs(Arc::new(Costs::new()))
}

/// A task of half a millisecond.
pub(crate) fn half_a_millisecond() {
    let begun = Instant::now();
    while begun.elapsed() < MS / 2 {
        std::hint::spin_loop();
    }
}

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
fn one_hiccup_with_many_batches_in_flight_is_one_failure() {
    let name = "broken: hiccup";
    let lost = Fault::Lost {
        recovers_after: Some(0),
    };
    let script = FaultScript::none().at(9, lost);
    let manager = manager(gpu(name, MS * 30).with_faults(script))
        .with_strategy(ExecutionStrategy::GpuOnly)
        .with_back_off(MS * 100);
    std::thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| {
                let result = manager.operation("hiccup").map([1_u64, 2], |task| task * 2);
                assert_eq!(result.expect("the CPU does it").outputs, [2, 4]);
            });
        }
    });
    assert_eq!(manager.stats().device_errors.get("device lost"), Some(&10));
    assert_eq!(manager.stats().quarantines, 1);
    std::thread::sleep(MS * 150);
    let result = manager.operation("hiccup").map([1_u64], |task| task * 2);
    assert_eq!(
        result.expect("nothing fails").gpu.tasks,
        1,
        "it is tried again soon"
    );
}

#[test]
fn many_batches_that_wait_for_a_healthy_device_do_not_fall_back() {
    let manager = manager(gpu("broken: many wait", MS))
        .with_strategy(ExecutionStrategy::GpuOnly)
        .with_fallback(FallbackPolicy::Deny);
    let requests: Vec<u64> = (0..500).collect();
    let pool = pool(2);
    let failed = pool.install(|| {
        let outcomes = requests.par_iter().map(|request| {
            let result = manager
                .operation("request")
                .map([*request], |task| task * 2);
            result.is_err()
        });
        outcomes.filter(|failed| *failed).count()
    });
    assert_eq!(failed, 0);
}

#[test]
fn a_task_may_wait_for_the_pool_that_its_batch_was_called_from() {
    let (calling, working) = (pool(1), pool(1));
    let cpu = Arc::new(RayonCpu::with_pool(Arc::clone(&working)));
    let manager = StrategyManager::new(cpu, Arc::new(gpu("broken: two pools", MS)))
        .with_costs(Arc::new(Costs::new()))
        .with_strategy(strategy("hybrid:50/50"));
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let inner = Arc::clone(&calling);
        let result = calling.install(|| {
            let tasks: Vec<u64> = (0..20).collect();
            manager
                .operation("waits")
                .map(&tasks, |task| inner.install(|| task * 2))
        });
        let _ = tell.send(result.expect("nothing fails").outputs.len());
    });
    let ended = told.recv_timeout(Duration::from_secs(20));
    assert_eq!(ended, Ok(20), "nobody goes on");
}

/// A device of any depth whose memory is asked for as long as this takes.
struct Odd {
    depth: usize,
    memory: fn() -> Fact<u64>,
}

impl GpuExecutor<u64, u64> for Odd {
    type Flight = std::future::Ready<Result<Vec<u64>, DeviceError>>;

    fn start(&self, tasks: &[u64]) -> Result<Self::Flight, DeviceError> {
        Ok(std::future::ready(Ok(tasks
            .iter()
            .map(|task| task * 2)
            .collect())))
    }

    fn memory_used(&self) -> Fact<u64> {
        (self.memory)()
    }

    fn depth(&self) -> usize {
        self.depth
    }
}

#[test]
fn any_depth_will_do() {
    for depth in [0, 1 << 40, usize::MAX] {
        let odd = Odd {
            depth,
            memory: || Fact::Unknown,
        };
        let manager = StrategyManager::new(cpu(), Arc::new(odd))
            .with_costs(Arc::new(Costs::new()))
            .with_strategy(ExecutionStrategy::GpuOnly);
        let result = manager
            .operation("deep")
            .map([1_u64, 2, 3], |task| task * 2);
        assert_eq!(result.expect("nothing fails").outputs, [2, 4, 6]);
    }
}

#[test]
fn who_asks_for_the_cpu_waits_for_no_device() {
    let hangs = || {
        std::thread::sleep(Duration::from_secs(60));
        Fact::Unknown
    };
    let odd = Odd {
        depth: 1,
        memory: hangs,
    };
    let manager = StrategyManager::new(cpu(), Arc::new(odd)).with_costs(Arc::new(Costs::new()));
    let begun = Instant::now();
    let batch = manager
        .operation("cpu")
        .strategy(ExecutionStrategy::CpuOnly);
    let result = batch.deadline(MS * 500).map([1_u64], |task| task * 2);
    assert!(result.is_ok() && begun.elapsed() < Duration::from_secs(5));
}

/// A value whose drop panics.
#[derive(Debug)]
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("{BOMB}");
        }
    }
}

const BOMB: &str = "simulated panic of a drop";

#[test]
fn panics_whose_payload_or_outputs_panic_when_dropped_do_not_escape() {
    let tasks: Vec<u64> = (0..100).collect();
    let manager = StrategyManager::cpu_only(cpu());
    let outcome = manager.operation("payload").map(&tasks, |task| {
        if *task == 50 {
            std::panic::panic_any(Bomb);
        }
        *task
    });
    assert!(
        matches!(outcome, Err(ExecuteError::Task { index: 50, .. })),
        "{outcome:?}"
    );
    let outcome = manager
        .operation("outputs")
        .execute(&tasks, |task| match task {
            70 => Err("seventy"),
            _ => Ok(Bomb),
        });
    match outcome {
        Err(ExecuteError::Task { index, .. }) => assert_eq!(index, 70),
        other => panic!("{other:?}"),
    }
}

#[test]
fn all_outputs_are_checked_also_when_no_time_has_passed() {
    for _ in 0..50 {
        let manager = StrategyManager::new(cpu(), Arc::new(gpu("broken: checked", Duration::ZERO)))
            .with_costs(Arc::new(Costs::new()))
            .with_strategy(ExecutionStrategy::GpuOnly);
        let all = CrossCheck::all(|gpu: &u64, cpu: &u64| gpu == cpu);
        let batch = manager.operation("checked").verify(all);
        let result = batch
            .map([1_u64, 2, 3, 4], |task| task * 2)
            .expect("nothing fails");
        assert_eq!(result.checked, 4);
    }
}

#[test]
fn tasks_that_a_stop_kept_from_running_did_not_fall_back() {
    let script = FaultScript::none().at(0, Fault::SubmitError(DeviceErrorKind::DeviceLost));
    let manager = manager(gpu("broken: stop", Duration::ZERO).with_faults(script))
        .with_strategy(ExecutionStrategy::GpuOnly);
    let tasks: Vec<u64> = (0..2_000).collect();
    let batch = manager.operation("stopped").deadline(MS * 10);
    let result = batch.execute_each(&tasks, |task| {
        half_a_millisecond();
        Ok::<u64, std::convert::Infallible>(task * 2)
    });
    let result = result.expect("what was done is kept");
    assert!(result.cpu.tasks < 2_000);
    assert_eq!(result.fallback.tasks, result.cpu.tasks);
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
fn a_device_in_quarantine_is_told_as_such() {
    let name = "broken: told";
    let script = FaultScript::none().at(0, Fault::SubmitError(DeviceErrorKind::DeviceLost));
    let manager = manager(gpu(name, Duration::ZERO).with_faults(script))
        .with_back_off(Duration::from_secs(100));
    let tasks: Vec<u64> = (0..1_000).collect();
    let first = manager
        .operation("told")
        .strategy(ExecutionStrategy::GpuOnly)
        .map(&tasks, |task| task * 2);
    assert!(first.expect("the CPU does it").fallback_occurred);
    let result = manager.operation("told").map(&tasks, |task| task * 2);
    let result = result.expect("nothing fails");
    assert_eq!(result.left_out.len(), 1);
    let text = result.explain().to_string();
    assert!(text.contains(name) && text.contains("left out"), "{text}");
    assert_eq!(manager.stats().quarantines, 1);
}

#[test]
fn a_decision_beforehand_is_the_one_that_is_made() {
    let device = GpuSpec::named("broken: decided");
    let on_gpu =
        |tasks: &[u64]| Ok::<Vec<u64>, DeviceError>(tasks.iter().map(|task| task * 2).collect());
    let manager = StrategyManager::new(cpu(), Arc::new(OnDevice::new(device, on_gpu)))
        .with_costs(Arc::new(Costs::new()));
    let tasks: Vec<u64> = (0..500).collect();
    for _ in 0..6 {
        let decided = manager
            .operation("decided")
            .decide::<u64, u64>(&tasks)
            .expect("a decision");
        let made = manager.operation("decided").map(&tasks, |task| task * 2);
        assert_eq!(made.expect("nothing fails").decision, decided);
    }
}

#[test]
fn results_and_stats_are_data() {
    let manager = manager(gpu("broken: data", Duration::ZERO));
    let result = manager
        .operation("data")
        .strategy(strategy("hybrid:50/50"))
        .map([1_u64, 2], |task| task * 2);
    let text = serde_json::to_string(&result.expect("nothing fails")).expect("it serialises");
    assert!(text.contains("\"strategy\":\"hybrid:50/50\""), "{text}");
    let stats = serde_json::to_string(&manager.stats()).expect("it serialises");
    assert!(stats.contains("\"batches\":1"), "{stats}");
}
