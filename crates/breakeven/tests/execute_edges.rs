//! The executor where devices, tasks and pools are awkward.

use std::future::{Ready, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use breakeven::Costs;
use breakeven::WorkloadProfile;
use breakeven::execute::{
    CrossCheck, Device, ExecuteError, FallbackPolicy, GpuExecutor, StrategyManager, Verify,
};
use breakeven::plan::{
    Basis, ExecutionStrategy, Machine, Observation, ProfilingHeuristics, RanOn, decide,
};
use breakeven::testing::{SimulatedGpu, SimulatedSpec};
use breakeven::{DeviceError, DeviceErrorKind};
use rayon::prelude::*;

use crate::execute_broken::{cpu, strategy};

type Never = std::convert::Infallible;

fn costs() -> Arc<Costs> {
    Arc::new(Costs::new())
}

fn double(task: &u64) -> Result<u64, Never> {
    Ok(task * 2)
}

/// A device that doubles, where `refuses` says nothing of the tasks; it counts
/// its calls. Of that name, which is this test's alone.
fn doubling(
    calls: &Arc<AtomicUsize>,
    refuses: fn(&[u64]) -> Option<DeviceErrorKind>,
) -> Arc<impl GpuExecutor<u64, u64> + use<>> {
    let calls = Arc::clone(calls);
    Arc::new(move |tasks: &[u64]| {
        calls.fetch_add(1, Ordering::Relaxed);
        match refuses(tasks) {
            Some(kind) => Err(DeviceError::new(kind, "made up")),
            None => Ok(tasks.iter().map(|task| task * 2).collect::<Vec<_>>()),
        }
    })
}

#[test]
fn work_of_the_pool_on_the_drivers_thread_does_not_wait_for_its_own_worker() {
    // Every worker of the pool has a batch, and every driver wants the pool.
    let sums = |task: &u64| Ok::<u64, Never>((0..500_u64).into_par_iter().map(|_| *task).sum());
    let gpu = |tasks: &[u64]| {
        let all = tasks.par_iter();
        Ok::<Vec<u64>, DeviceError>(all.map(|task| task * 500).collect())
    };
    let gpu = Arc::new(gpu);
    (0..4 * rayon::current_num_threads())
        .into_par_iter()
        .for_each(|_| {
            for text in ["gpu-only", "hybrid:50/50", "auto"] {
                let manager = StrategyManager::new(cpu(), Arc::clone(&gpu))
                    .with_costs(costs())
                    .with_strategy(strategy(text));
                let tasks: Vec<u64> = (0..200).collect();
                let result = manager
                    .operation("nested on the driver")
                    .verify(CrossCheck::all(|gpu: &u64, cpu: &u64| gpu == cpu))
                    .execute(&tasks, sums);
                let result = result.expect("nothing fails");
                assert_eq!(result.outputs[199], 199 * 500);
            }
        });
}

#[test]
fn no_tasks_are_an_empty_success_whatever_the_thresholds() {
    let heuristics = ProfilingHeuristics::default()
        .with_min_tasks(0)
        .with_small_threshold(0);
    for text in ["auto", "gpu-only", "hybrid:60/40"] {
        let calls = Arc::default();
        let manager = StrategyManager::new(cpu(), doubling(&calls, |_| None))
            .with_costs(costs())
            .with_heuristics(heuristics)
            .with_strategy(strategy(text));
        let result = manager.operation("none").execute([], double);
        assert_eq!(result.expect("nothing to fail").outputs, [] as [u64; 0]);
        assert_eq!(calls.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn one_task_too_large_does_not_cut_the_others_launches() {
    let calls = Arc::default();
    let refuses = |tasks: &[u64]| tasks.contains(&777).then_some(DeviceErrorKind::OutOfMemory);
    let manager = StrategyManager::new(cpu(), doubling(&calls, refuses))
        .with_costs(costs())
        .with_strategy(strategy("gpu-only"));
    let tasks: Vec<u64> = (0..100_000).collect();
    let reported = |_, _| {};
    // Progress is reported per launch, so there are several.
    let batch = manager.operation("panorama").progress(&reported);
    let result = batch.execute(&tasks, double).expect("the CPU does it");
    assert_eq!((result.cpu.tasks, result.gpu.tasks), (1, 99_999));
    assert_eq!(result.outputs[99_999], 199_998);
    let calls = calls.load(Ordering::Relaxed);
    assert!(calls < 100, "{calls} launches");
    // Nor those of the next batch.
    assert_eq!(result.fallback.fits, None);
    let others: Vec<u64> = (1000..100_000).collect();
    let result = manager.operation("panorama").execute(&others, double);
    assert_eq!(result.expect("nothing fails").gpu.spans, 1);
}

#[test]
fn a_task_too_large_is_found_among_launches_in_flight() {
    // Its memory runs out when the launch is on its way, two at a time.
    struct Late;
    impl GpuExecutor<u64, u64> for Late {
        type Flight = Ready<Result<Vec<u64>, DeviceError>>;
        fn start(&self, tasks: &[u64]) -> Result<Self::Flight, DeviceError> {
            Ok(ready(match tasks.contains(&778) {
                true => Err(DeviceError::new(DeviceErrorKind::OutOfMemory, "made up")),
                false => Ok(tasks.iter().map(|task| task * 2).collect()),
            }))
        }
    }
    let manager = StrategyManager::new(cpu(), Arc::new(Late))
        .with_costs(costs())
        .with_strategy(strategy("gpu-only"));
    let tasks: Vec<u64> = (0..100_000).collect();
    let reported = |_, _| {};
    let batch = manager.operation("late").progress(&reported);
    let result = batch.execute(&tasks, double).expect("the CPU does it");
    assert_eq!((result.cpu.tasks, result.gpu.tasks), (1, 99_999));
    assert!(result.gpu.spans < 200, "{} launches", result.gpu.spans);
}

#[test]
fn tasks_that_never_fit_do_not_cost_others_the_device() {
    let calls = Arc::default();
    let refuses = |tasks: &[u64]| {
        let large = |task: &u64| (500..510).contains(task);
        tasks
            .iter()
            .any(large)
            .then_some(DeviceErrorKind::NeverFits)
    };
    let manager = StrategyManager::new(cpu(), doubling(&calls, refuses))
        .with_costs(costs())
        .with_strategy(strategy("gpu-only"));
    let tasks: Vec<u64> = (0..1000).collect();
    let result = manager.operation("large").execute(&tasks, double);
    let result = result.expect("the CPU does them");
    assert_eq!((result.cpu.tasks, result.gpu.tasks), (10, 990));
    let others: Vec<u64> = (0..100).collect();
    let result = manager.operation("others").execute(&others, double);
    assert_eq!(result.expect("nothing fails").gpu.tasks, 100);
}

#[test]
fn a_task_that_the_device_refuses_is_found_and_costs_itself_alone() {
    let calls = Arc::default();
    let refuses = |tasks: &[u64]| tasks.contains(&123).then_some(DeviceErrorKind::Refused);
    let manager = StrategyManager::new(cpu(), doubling(&calls, refuses))
        .with_costs(costs())
        .with_strategy(strategy("gpu-only"));
    let tasks: Vec<u64> = (0..1000).collect();
    for _ in 0..2 {
        let result = manager.operation("truncated").execute(&tasks, double);
        let result = result.expect("the CPU does it");
        assert_eq!((result.cpu.tasks, result.gpu.tasks), (1, 999));
        assert_eq!(result.fallback.fits, None);
    }
}

#[test]
fn a_gpu_that_was_ordered_and_is_not_there_is_a_fallback() {
    let tasks: Vec<u64> = (0..100).collect();
    for (text, fallen) in [("gpu-only", 100), ("hybrid:60/40", 60), ("cpu-only", 0)] {
        let manager = StrategyManager::cpu_only(cpu()).with_strategy(strategy(text));
        let result = manager.execute(&tasks, double).expect("the CPU does it");
        assert_eq!(result.fallback.tasks, fallen, "{text}");
        assert_eq!(result.errors.len(), usize::from(fallen > 0));
        let manager = manager.with_fallback(FallbackPolicy::Deny);
        match manager.execute(&tasks, double) {
            Ok(_) => assert_eq!(fallen, 0),
            Err(ExecuteError::Device { error, .. }) => {
                assert_eq!(error.kind, DeviceErrorKind::Unavailable { until: None });
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// A cost model in which the CPU takes 5 ms for 100 tasks, and the GPU those times.
fn measured(operation: &str, device: &str, gpu: [(u64, u64); 2]) -> Arc<Costs> {
    let costs = costs();
    let memory = WorkloadProfile::from_task_size(100, size_of::<u64>(), 100.0).memory_per_task;
    let on_gpu = gpu.map(|(tasks, ns)| (RanOn::Gpu(device), tasks, ns));
    for (on, tasks, ns) in [(RanOn::Cpu, 100, 5_000_000)].into_iter().chain(on_gpu) {
        for second in 0..5 {
            let seen = Observation {
                at: SystemTime::now() - Duration::from_secs(10 - second),
                tasks,
                ns,
                transfer_ns: None,
                workers: cpu_workers(),
                shared: false,
            };
            costs.observe(operation, memory, on, &seen);
        }
    }
    costs
}

fn cpu_workers() -> usize {
    use breakeven::execute::CpuExecutor;
    cpu().workers()
}

#[test]
fn a_device_in_quarantine_is_not_tried_by_a_batch_that_may_correct_itself() {
    let name = "edges: quarantined";
    let spec = SimulatedSpec {
        name: name.to_owned(),
        ..SimulatedSpec::new(Duration::from_micros(10), Duration::from_micros(50))
    };
    let gpu = SimulatedGpu::new(spec, |task: &u64| task * 2).with_faults(
        breakeven::testing::FaultScript::none().at(
            0,
            breakeven::testing::Fault::Lost {
                recovers_after: Some(0),
            },
        ),
    );
    let gpu = Arc::new(gpu);
    let tasks: Vec<u64> = (0..100).collect();
    // Nine milliseconds a launch: the CPU's alone, but not by far.
    let manager = |text: &str| {
        StrategyManager::new(cpu(), Arc::clone(&gpu))
            .with_costs(measured("slow", name, [(50, 9_400_000), (100, 9_800_000)]))
            .with_strategy(strategy(text))
            .with_back_off(Duration::from_secs(200))
    };
    // Slower than the model says: what makes a batch look at the other device.
    let slow = |task: &u64| {
        std::thread::sleep(Duration::from_micros(500));
        Ok::<u64, Never>(task * 2)
    };
    let workload = WorkloadProfile::from_task_size(100, size_of::<u64>(), 100.0);
    let costs = measured("slow", name, [(50, 9_400_000), (100, 9_800_000)]);
    let known = costs.lookup("slow", workload.memory_per_task, &[name], cpu_workers());
    let machine = Machine::from_toml("cores = 2\n[[gpu]]\nname = \"g\"").expect("a machine");
    let decision = decide(&workload, &machine, &ProfilingHeuristics::default(), &known);
    let decision = decision.expect("a decision");
    assert_eq!(
        (decision.basis, decision.strategy),
        (Basis::Model, ExecutionStrategy::CpuOnly)
    );
    let lost = manager("gpu-only").operation("slow").execute(&tasks, slow);
    assert!(lost.expect("the CPU does it").fallback_occurred);
    let submits = gpu.counts().submits;
    let result = manager("auto").operation("slow").execute(&tasks, slow);
    let result = result.expect("nothing fails");
    assert_eq!((result.cpu.tasks, gpu.counts().submits), (100, submits));
}

#[test]
fn a_device_that_panics_when_asked_what_it_is_costs_the_batch_nothing() {
    struct Broken;
    impl GpuExecutor<u64, u64> for Broken {
        type Flight = Ready<Result<Vec<u64>, DeviceError>>;
        fn start(&self, _: &[u64]) -> Result<Self::Flight, DeviceError> {
            panic!("not to be asked")
        }
        fn device(&self) -> Option<&dyn Device> {
            panic!("no driver")
        }
    }
    let manager = StrategyManager::new(cpu(), Arc::new(Broken))
        .with_costs(costs())
        .with_strategy(strategy("gpu-only"));
    let tasks: Vec<u64> = (0..100).collect();
    let result = manager.operation("broken").execute(&tasks, double);
    let result = result.expect("the CPU does it");
    assert_eq!((result.cpu.tasks, result.fallback.tasks), (100, 100));
    assert!(result.errors[0].message.contains("no driver"));
}

#[test]
fn an_asked_split_is_predicted_as_it_was_asked() {
    let costs = measured("split", "gpu", [(50, 2_500_000), (100, 5_000_000)]);
    let gpu =
        |tasks: &[u64]| Ok::<Vec<u64>, DeviceError>(tasks.iter().map(|task| task * 2).collect());
    let manager = StrategyManager::new(cpu(), Arc::new(gpu))
        .with_costs(costs)
        .with_strategy(strategy("hybrid:90/10"));
    let tasks: Vec<u64> = (0..100).collect();
    let result = manager.operation("split").execute(&tasks, double);
    let decision = result.expect("nothing fails").decision;
    let chosen = decision.chosen().expect("the split that was asked for");
    assert_eq!(chosen.strategy, strategy("hybrid:90/10"));
    // Nine tenths of the GPU's five milliseconds.
    let ns = chosen.predicted_ns.expect("both were measured");
    assert!((4e6..5.1e6).contains(&ns), "{ns}");
}

#[test]
fn a_program_can_verify_by_a_rule_of_its_own() {
    struct Odd(AtomicUsize);
    impl Verify<u64> for Odd {
        fn part(&self) -> f64 {
            1.0
        }
        fn cost_cap(&self) -> f64 {
            f64::INFINITY
        }
        fn agree(&self, gpu: &u64, cpu: &u64) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed);
            gpu % 2 == cpu % 2
        }
    }
    let calls = Arc::default();
    let manager = StrategyManager::new(cpu(), doubling(&calls, |_| None))
        .with_costs(costs())
        .with_strategy(strategy("gpu-only"));
    let tasks: Vec<u64> = (0..100).collect();
    // The CPU's outputs are others, and both are even.
    let run = manager
        .operation("own rule")
        .verify(Odd(AtomicUsize::new(0)));
    let result = run.execute(&tasks, |task| Ok::<u64, Never>(task * 4));
    let result = result.expect("they agree");
    assert_eq!((result.checked, result.gpu.tasks), (100, 100));
    let run = manager
        .operation("own rule")
        .verify(Odd(AtomicUsize::new(0)));
    let result = run.execute(&tasks, |task| Ok::<u64, Never>(task * 2 + 1));
    let result = result.expect("the CPU does it");
    assert_eq!(result.errors[0].kind, DeviceErrorKind::WrongResult);
    assert_eq!(result.outputs[1], 3);
}

#[test]
fn no_launch_has_more_tasks_than_its_device_takes() {
    for (text, most) in [
        ("gpu-only", 1),
        ("gpu-only", 7),
        ("hybrid:50/50", 3),
        ("auto", 1),
    ] {
        let spec = SimulatedSpec {
            name: format!("at most {most} by {text}"),
            most_tasks: Some(most),
            ..SimulatedSpec::new(Duration::ZERO, Duration::from_micros(20))
        };
        let gpu = Arc::new(SimulatedGpu::new(spec, |task: &u64| task * 2));
        let manager = StrategyManager::new(cpu(), Arc::clone(&gpu))
            .with_costs(costs())
            .with_strategy(strategy(text));
        let tasks: Vec<u64> = (0..200).collect();
        for _ in 0..3 {
            let result = manager.operation("bounded").execute(&tasks, |task| {
                std::thread::sleep(Duration::from_micros(100));
                double(task)
            });
            assert_eq!(result.expect("nothing fails").outputs[199], 398);
        }
        let counts = gpu.counts();
        assert!(counts.launches > 0, "{text}");
        let least = counts.tasks.div_ceil(most as u64);
        assert!(counts.launches >= least, "{text}, {most}: {counts:?}");
        if text == "gpu-only" && most == 7 {
            assert_eq!(counts.launches, 3 * 200_u64.div_ceil(7));
        }
    }
}

/// Leaves below a task: each task of a batch is a batch of `siblings` tasks a level lower.
fn nested(manager: &Nested, siblings: u64, level: &u64) -> Result<u64, Never> {
    if *level == 0 {
        std::thread::sleep(Duration::from_micros(200));
        return Ok(1);
    }
    let tasks = vec![level - 1; usize::try_from(siblings).expect("few")];
    let name = format!("nested {siblings} {level}");
    let batch = manager.operation(&name);
    let result = batch.execute(&tasks, |level| nested(manager, siblings, level));
    Ok(result.expect("nothing fails").outputs.iter().sum())
}

type Nested = StrategyManager<breakeven::execute::RayonCpu, SimulatedGpu<u64, u64>>;

/// Each batch has a driver that waits while an inner batch needs one, and there is one worker.
#[test]
fn batches_inside_batches_in_a_pool_of_one_end_however_deep() {
    let (done, ends) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for (siblings, levels) in [(2_u64, 6_u64), (8, 3)] {
            let spec = SimulatedSpec {
                name: format!("nested {siblings}"),
                ..SimulatedSpec::new(Duration::from_millis(20), Duration::from_micros(10))
            };
            let leaves = move |level: &u64| siblings.pow(u32::try_from(*level).expect("few"));
            let gpu = Arc::new(SimulatedGpu::new(spec, leaves));
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
            let manager = Nested::new(cpu(), gpu).with_costs(costs());
            for _ in 0..3 {
                let sum = pool
                    .as_ref()
                    .expect("a pool")
                    .install(|| nested(&manager, siblings, &levels));
                assert_eq!(sum, Ok(leaves(&levels)));
            }
        }
        done.send(()).expect("somebody waits");
    });
    let ended = ends.recv_timeout(Duration::from_secs(60));
    assert_eq!(ended, Ok(()), "a batch waits for ever");
}
