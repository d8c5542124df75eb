//! What was seen broken once, by programs that use the executor hard.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use breakeven::Costs;
use breakeven::execute::{
    Device, ExecuteError, FallbackPolicy, GpuExecutor, OnDevice, RayonCpu, StrategyManager,
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

pub(crate) fn strategy(text: &str) -> ExecutionStrategy {
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
    let (report, reported) = channel();
    std::thread::spawn(move || {
        let inner = Arc::clone(&calling);
        let result = calling.install(|| {
            let tasks: Vec<u64> = (0..20).collect();
            manager
                .operation("waits")
                .map(&tasks, |task| inner.install(|| task * 2))
        });
        let _ = report.send(result.expect("nothing fails").outputs.len());
    });
    let ended = reported.recv_timeout(Duration::from_secs(20));
    assert_eq!(ended, Ok(20), "nobody goes on");
}

/// A device of any depth whose memory is asked for as long as this takes.
struct Odd {
    spec: GpuSpec,
    depth: usize,
    memory: fn() -> Fact<u64>,
}

impl Device for Odd {
    fn spec(&self) -> &GpuSpec {
        &self.spec
    }

    fn memory_used(&self) -> Fact<u64> {
        (self.memory)()
    }
}

impl GpuExecutor<u64, u64> for Odd {
    type Flight = std::future::Ready<Result<Vec<u64>, DeviceError>>;

    fn start(&self, tasks: &[u64]) -> Result<Self::Flight, DeviceError> {
        Ok(std::future::ready(Ok(tasks
            .iter()
            .map(|task| task * 2)
            .collect())))
    }

    fn device(&self) -> Option<&dyn Device> {
        Some(self)
    }

    fn depth(&self) -> usize {
        self.depth
    }
}

#[test]
fn any_depth_will_do() {
    for depth in [0, 1 << 40, usize::MAX] {
        let odd = Odd {
            spec: GpuSpec::named("broken: odd"),
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
        spec: GpuSpec::named("broken: odd"),
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

#[test]
fn a_device_in_quarantine_is_not_asked_for_its_memory() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let asked = || {
        ASKED.fetch_add(1, Ordering::SeqCst);
        Fact::Unknown
    };
    let lost =
        |_: &[u64]| Err::<Vec<u64>, _>(DeviceError::new(DeviceErrorKind::DeviceLost, "gone"));
    let device = OnDevice::new(GpuSpec::named("broken: unasked"), lost);
    let failing = StrategyManager::new(cpu(), Arc::new(device))
        .with_costs(Arc::new(Costs::new()))
        .with_back_off(Duration::from_secs(100));
    let tasks = [1_u64, 2, 3];
    let on_gpu = ExecutionStrategy::GpuOnly;
    let failed = failing
        .operation("lost")
        .strategy(on_gpu)
        .map(tasks, |task| task * 2);
    assert!(failed.expect("the CPU does it").fallback_occurred);
    // The same device, as another program part has it.
    let odd = Odd {
        spec: GpuSpec::named("broken: unasked"),
        depth: 1,
        memory: asked,
    };
    let manager = StrategyManager::new(cpu(), Arc::new(odd)).with_costs(Arc::new(Costs::new()));
    let result = manager
        .operation("lost")
        .strategy(on_gpu)
        .map(tasks, |task| task * 2);
    assert_eq!(result.expect("the CPU does it").left_out.len(), 1);
    assert_eq!(ASKED.load(Ordering::SeqCst), 0);
}

#[test]
fn all_errors_of_a_batch_are_counted_by_their_kind() {
    let script = (0..100).fold(FaultScript::none(), |script, launch| {
        script.at(launch, Fault::SubmitError(DeviceErrorKind::OutOfMemory))
    });
    let manager = manager(gpu("broken: counted", Duration::ZERO).with_faults(script))
        .with_strategy(ExecutionStrategy::GpuOnly);
    let tasks: Vec<u64> = (0..100_000).collect();
    let result = manager.operation("counted").map(&tasks, |task| task * 2);
    let result = result.expect("the CPU does it");
    let counted = manager.stats().device_errors.values().sum::<u64>();
    assert_eq!(counted, result.fallback.failed_spans as u64);
    assert!(counted > 16 && result.errors.len() == 16, "{counted}");
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
fn a_device_in_quarantine_is_reported_as_such() {
    let name = "broken: reported";
    let script = FaultScript::none().at(0, Fault::SubmitError(DeviceErrorKind::DeviceLost));
    let manager = manager(gpu(name, Duration::ZERO).with_faults(script))
        .with_back_off(Duration::from_secs(100));
    let tasks: Vec<u64> = (0..1_000).collect();
    let first = manager
        .operation("reported")
        .strategy(ExecutionStrategy::GpuOnly)
        .map(&tasks, |task| task * 2);
    assert!(first.expect("the CPU does it").fallback_occurred);
    let result = manager.operation("reported").map(&tasks, |task| task * 2);
    let result = result.expect("nothing fails");
    assert_eq!(result.left_out.len(), 1);
    let beforehand = manager.operation("reported").decide::<u64, u64>(&tasks);
    let texts = [
        result.explain().to_string(),
        beforehand.expect("a decision").reasons().join("\n"),
    ];
    for text in texts {
        let left_out = format!("{name} was left out: ");
        assert!(
            text.contains(&left_out) && text.contains("quarantined for another"),
            "{text}"
        );
        assert!(text.contains("no GPU can be used now"), "{text}");
        assert!(!text.contains("there is no GPU"), "{text}");
    }
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
