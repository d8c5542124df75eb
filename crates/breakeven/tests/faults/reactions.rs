//! Each kind of device error has one reaction.

use std::sync::Arc;
use std::time::{Duration, Instant};

use breakeven::Costs;
use breakeven::execute::{
    CancelToken, CrossCheck, ExecuteError, ExecutionResult, FallbackPolicy, RayonCpu,
    StrategyManager,
};
use breakeven::plan::ExecutionStrategy;
use breakeven::testing::{Fault, FaultKind, FaultScript, SimulatedGpu, SimulatedSpec};
use breakeven::{DeviceErrorKind, ErrorKind};

use super::silence_scripted_panics;

type Gpu = SimulatedGpu<u64, u64>;
type Manager = StrategyManager<RayonCpu, Gpu>;
type Outcome = Result<ExecutionResult<u64>, ExecuteError<String>>;

/// Long enough for a test to run in, however busy the machine is.
const LONG: Duration = Duration::from_secs(200);

/// A gpu-only manager of a device of that name, which nobody else has.
fn manager(device: &str, script: FaultScript) -> (Manager, Arc<Gpu>) {
    manager_of(SimulatedSpec::default(), device, script)
}

/// The same with a device like that.
fn manager_of(spec: SimulatedSpec, device: &str, script: FaultScript) -> (Manager, Arc<Gpu>) {
    silence_scripted_panics();
    let spec = SimulatedSpec {
        name: format!("reactions: {device}"),
        ..spec
    };
    let gpu = Arc::new(SimulatedGpu::new(spec, |task: &u64| task * 3).with_faults(script));
    let manager = StrategyManager::new(Arc::new(RayonCpu::current()), Arc::clone(&gpu))
        .with_costs(Arc::new(Costs::new()))
        .with_strategy(ExecutionStrategy::GpuOnly)
        .with_back_off(LONG);
    (manager, gpu)
}

fn execute(manager: &Manager, tasks: u64) -> Outcome {
    let tasks: Vec<u64> = (0..tasks).collect();
    let run = manager.operation("triple");
    run.execute(&tasks, |task| Ok::<_, String>(task * 3))
}

/// The result of a batch whose outputs are all there and right.
fn right(outcome: Outcome) -> ExecutionResult<u64> {
    let result = outcome.expect("the CPU does what the GPU fails at");
    let expected = (0..result.outputs.len() as u64).map(|task| task * 3);
    assert!(result.outputs.iter().copied().eq(expected));
    result
}

fn kinds(result: &ExecutionResult<u64>) -> Vec<DeviceErrorKind> {
    result.errors.iter().map(|error| error.kind).collect()
}

#[test]
fn out_of_memory_halves_and_the_size_that_fits_is_remembered() {
    let script = FaultScript::none().at(0, Fault::OutOfMemoryAbove { tasks: 100 });
    let (manager, gpu) = manager("memory for 100", script);
    let result = right(execute(&manager, 1000));
    assert_eq!((result.gpu.tasks, result.fallback.tasks), (1000, 0));
    assert!(!result.fallback_occurred);
    let fits = result.fallback.fits.expect("memory did not suffice");
    assert!((51..=100).contains(&fits), "{fits}");
    let refused = gpu.counts().faults_of(FaultKind::OutOfMemoryAbove);
    assert!(refused > 0 && refused == result.fallback.failed_spans as u64);
    // What was learned holds for the next batch: nothing is refused any more.
    let next = right(execute(&manager, 1000));
    assert_eq!(next.gpu.tasks, 1000);
    assert_eq!(gpu.counts().faults_of(FaultKind::OutOfMemoryAbove), refused);
    assert_eq!((next.errors.len(), next.fallback.failed_spans), (0, 0));
}

#[test]
fn memory_for_no_task_ends_on_the_cpu() {
    for kind in [DeviceErrorKind::OutOfMemory, DeviceErrorKind::NeverFits] {
        let script = (0..100).fold(FaultScript::none(), |script, launch| {
            script.at(launch, Fault::SubmitError(kind))
        });
        let (manager, gpu) = manager(&format!("no memory, {kind}"), script);
        let result = right(execute(&manager, 1000));
        assert_eq!((result.cpu.tasks, result.fallback.tasks), (1000, 1000));
        assert!(kinds(&result).iter().all(|&found| found == kind));
        // 1000, 500, 250, … 1: ten halvings at least, and no search beyond.
        let submits = gpu.counts().submits;
        assert!((10..=20).contains(&submits), "{submits}");
    }
}

#[test]
fn a_failed_launch_costs_its_span_alone() {
    for kind in [DeviceErrorKind::Launch, DeviceErrorKind::Other] {
        let (manager, gpu) = manager(
            &format!("one failure, {kind}"),
            FaultScript::none().at(0, Fault::PollError(kind)),
        );
        let first = right(execute(&manager, 500));
        assert_eq!(kinds(&first), [kind]);
        assert!(first.fallback_occurred && first.fallback.failed_spans == 1);
        assert!(first.fallback.delay.is_some());
        assert_eq!(right(execute(&manager, 500)).gpu.tasks, 500);
        assert_eq!(gpu.counts().faults_of(FaultKind::PollError), 1);
    }
}

#[test]
fn an_operation_that_a_device_cannot_do_leaves_it_to_others() {
    for kind in [DeviceErrorKind::Compile, DeviceErrorKind::Unsupported] {
        let (manager, gpu) = manager(
            &format!("cannot, {kind}"),
            FaultScript::none().at(0, Fault::SubmitError(kind)),
        );
        assert_eq!(kinds(&right(execute(&manager, 500))), [kind]);
        let again = right(execute(&manager, 500));
        assert_eq!((gpu.counts().submits, again.cpu.tasks), (1, 500));
        // Another operation may be one that it can do.
        let tasks: Vec<u64> = (0..500).collect();
        let other = manager.operation("another");
        let other = right(other.execute(&tasks, |task| Ok::<_, String>(task * 3)));
        assert_eq!(other.gpu.tasks, 500);
    }
}

#[test]
fn what_is_in_flight_when_the_device_is_left_may_still_run_out_of_memory() {
    // Memory for two launches of 500 tasks at once.
    let spec = SimulatedSpec::default()
        .with_transfer(f64::INFINITY, 8, 0)
        .with_memory(8 * 1000, 0);
    let script = FaultScript::none()
        .at(0, Fault::PollError(DeviceErrorKind::OutOfMemory))
        .at(1, Fault::SubmitError(DeviceErrorKind::Compile));
    let (manager, gpu) = manager_of(spec, "in flight when left", script);
    let result = right(execute(&manager, 1000));
    assert_eq!((gpu.counts().submits, result.fallback.tasks), (2, 1000));
}

/// Faults after which nobody uses the device for a while, and the error they are.
fn sticky() -> Vec<(Fault, DeviceErrorKind)> {
    let lost = Fault::Lost {
        recovers_after: Some(0),
    };
    vec![
        (lost, DeviceErrorKind::DeviceLost),
        (Fault::Hang, DeviceErrorKind::Timeout),
        (Fault::SubmitPanic, DeviceErrorKind::Panic),
        (Fault::PollPanic, DeviceErrorKind::Panic),
        (Fault::TooFew { by: 1 }, DeviceErrorKind::WrongResult),
        (Fault::TooMany { by: 1 }, DeviceErrorKind::WrongResult),
        (
            Fault::Wrong { first: 0, every: 0 },
            DeviceErrorKind::WrongResult,
        ),
        (
            Fault::PollError(DeviceErrorKind::Unavailable { until: None }),
            DeviceErrorKind::Unavailable { until: None },
        ),
    ]
}

#[test]
fn an_error_that_would_come_again_quarantines_the_device() {
    for (number, (fault, kind)) in sticky().into_iter().enumerate() {
        let device = format!("sticky {number}");
        let script = FaultScript::none().at(0, fault);
        let (manager, gpu) = manager(&device, script);
        let manager = manager.with_timeout(Some(Duration::from_millis(50)));
        let tasks: Vec<u64> = (0..500).collect();
        let run = manager
            .operation("triple")
            .verify(CrossCheck::all(|gpu: &u64, cpu: &u64| gpu == cpu));
        let first = right(run.execute(&tasks, |task| Ok::<_, String>(task * 3)));
        assert_eq!(kinds(&first)[0], kind, "{fault:?}");
        assert!(first.fallback_occurred, "{fault:?}");
        let submits = gpu.counts().submits;
        let second = right(execute(&manager, 500));
        assert_eq!(gpu.counts().submits, submits, "{fault:?}");
        assert_eq!(second.cpu.tasks, 500);
        // What one manager learned, another one knows.
        let (other, untouched) = self::manager(&device, FaultScript::none());
        assert_eq!(right(execute(&other, 500)).cpu.tasks, 500);
        assert_eq!(untouched.counts().submits, 0, "{fault:?}");
    }
}

#[test]
fn after_the_back_off_a_single_task_tries_the_device() {
    let back_off = Duration::from_millis(100);
    let lost = Fault::Lost {
        recovers_after: Some(0),
    };
    let lost_again = Fault::PollError(DeviceErrorKind::DeviceLost);
    let script = FaultScript::none().at(0, lost).at(1, lost_again);
    let (manager, gpu) = manager("comes back", script);
    let manager = manager.with_back_off(back_off);
    right(execute(&manager, 500));
    let wait = |since: Instant, long: Duration| {
        std::thread::sleep(long.saturating_sub(since.elapsed()) + Duration::from_millis(5));
    };
    wait(Instant::now(), back_off);
    // The trial fails, with one task; the others fall back too, and the time doubles.
    let trial = right(execute(&manager, 500));
    let failed = Instant::now();
    let counts = gpu.counts();
    assert_eq!((counts.submits, counts.tasks), (2, 1));
    assert_eq!(
        (trial.fallback.failed_spans, trial.fallback.tasks),
        (1, 500)
    );
    if failed.elapsed() < back_off {
        right(execute(&manager, 500));
        assert!(failed.elapsed() >= back_off * 2 || gpu.counts().submits == 2);
    }
    wait(failed, back_off * 2);
    // The next one succeeds, and the device gets the rest too.
    let good = right(execute(&manager, 500));
    assert!(!good.fallback_occurred && good.gpu.tasks >= 1);
    assert_eq!(right(execute(&manager, 500)).gpu.tasks, 500);
}

#[test]
fn a_trial_without_an_answer_leaves_the_device_to_the_next() {
    let back_off = Duration::from_millis(1);
    let lost = Fault::Lost {
        recovers_after: Some(0),
    };
    let after = |fault| FaultScript::none().at(0, fault);
    let compile = Fault::SubmitError(DeviceErrorKind::Compile);
    let cancelled = CancelToken::new();
    cancelled.cancel();
    // What a trial of one task ends in, and how many executions run into it.
    let cases = [
        (
            "an error of the launch",
            after(lost),
            Some(Fault::PollError(DeviceErrorKind::Launch)),
        ),
        (
            "no memory",
            after(lost),
            Some(Fault::SubmitError(DeviceErrorKind::OutOfMemory)),
        ),
        ("cancelled", after(lost), None),
        (
            "operation, an error of the launch",
            after(compile),
            Some(Fault::PollError(DeviceErrorKind::Other)),
        ),
        (
            "operation, the device fails",
            after(compile),
            Some(Fault::PollPanic),
        ),
        ("operation, cancelled", after(compile), None),
    ];
    for (name, script, trial) in cases {
        let script = trial.map_or(script.clone(), |fault| script.at(1, fault));
        let (manager, gpu) = manager(&format!("trial: {name}"), script);
        let manager = manager.with_back_off(back_off);
        right(execute(&manager, 100));
        std::thread::sleep(back_off * 2);
        if trial.is_some() {
            right(execute(&manager, 1));
            assert_eq!(gpu.counts().submits, 2, "{name}");
        } else {
            let batch = manager.operation("triple").cancel(&cancelled);
            let outcome = batch.execute([1, 2], |task| Ok::<_, String>(task * 3));
            assert!(
                matches!(outcome, Err(ExecuteError::Stopped { .. })),
                "{name}"
            );
        }
        std::thread::sleep(back_off * 4);
        let next = right(execute(&manager, 100));
        assert_eq!(next.gpu.tasks, 100, "{name}: {:?}", next.errors);
    }
}

#[test]
fn the_policy_says_what_may_fall_back() {
    let script = FaultScript::none().at(0, Fault::PollError(DeviceErrorKind::Launch));
    let half = ExecutionStrategy::hybrid(50).expect("a percentage");
    let cases = [
        (FallbackPolicy::Allow, true),
        (FallbackPolicy::Deny, false),
        (FallbackPolicy::Budget(0.4), false),
        (FallbackPolicy::Budget(0.5), true),
        (FallbackPolicy::Budget(0.0), false),
    ];
    for (number, (policy, is_allowed)) in cases.into_iter().enumerate() {
        let (manager, _) = manager(&format!("policy {number}"), script.clone());
        let manager = manager.with_strategy(half).with_fallback(policy);
        match execute(&manager, 1000) {
            Ok(result) => {
                assert!(is_allowed, "{policy:?}");
                let part = right(Ok(result)).fallback_part();
                assert!(part > 0.0 && part <= 0.5, "{policy:?}: {part}");
            }
            Err(ExecuteError::Device {
                error,
                fallen,
                tasks,
            }) => {
                assert!(!is_allowed, "{policy:?}");
                assert_eq!(error.kind, DeviceErrorKind::Launch);
                assert_eq!((fallen, tasks), (500, 1000));
            }
            Err(error) => panic!("{policy:?}: {error}"),
        }
    }
}

#[test]
fn a_budget_is_of_one_execution_and_a_part() {
    let script = FaultScript::none()
        .at(0, Fault::PollError(DeviceErrorKind::Other))
        .at(1, Fault::PollError(DeviceErrorKind::Other));
    let (manager, _) = manager("budget", script);
    let quarter = ExecutionStrategy::hybrid(25).expect("a percentage");
    let manager = manager
        .with_strategy(quarter)
        .with_fallback(FallbackPolicy::Budget(0.3));
    for _ in 0..2 {
        assert_eq!(right(execute(&manager, 1000)).fallback.tasks, 250);
    }
    for budget in [-0.1, 1.1, f64::NAN] {
        let (manager, gpu) = self::manager("no budget", FaultScript::none());
        let manager = manager.with_fallback(FallbackPolicy::Budget(budget));
        let outcome = execute(&manager, 10);
        match outcome {
            Err(ExecuteError::Invalid(error)) => assert_eq!(error.kind(), ErrorKind::Invalid),
            other => panic!("{budget}: {other:?}"),
        }
        assert_eq!(gpu.counts().submits, 0);
    }
}
