//! Executions in the profile, and what compares and advises by it.

use std::sync::Arc;
use std::time::Duration;

use breakeven::Costs;
use breakeven::execute::{CancelToken, RayonCpu, StrategyManager};
use breakeven::hardware::Fact;
use breakeven::profile::get_profiler;
use breakeven::profile::profile::{Operation, Profile};
use breakeven::testing::{Fault, FaultScript, SimulatedGpu, SimulatedSpec};
use breakeven::{DeviceError, DeviceErrorKind};
use breakeven_judge::advise::{OptimizationSuggestion, ProfilerOptimizer, SuggestionType};
use breakeven_judge::{ChangeType, Threshold, compare_profiling_runs};

type Never = std::convert::Infallible;

const GPU: &str = "record: simulated";

/// A manager of a device whose launch of that number fails.
fn manager(
    strategy: &str,
    failing: Option<u64>,
) -> StrategyManager<RayonCpu, SimulatedGpu<u64, u64>> {
    let spec = SimulatedSpec {
        name: GPU.to_owned(),
        gpu_use: Fact::Known(0.75),
        // One launch at a time, so that no batch is tried in pieces.
        depth: 1,
        ..SimulatedSpec::new(Duration::from_micros(20), Duration::from_micros(1))
    };
    let fails =
        |script: FaultScript, launch| script.at(launch, Fault::PollError(DeviceErrorKind::Launch));
    let script = failing.into_iter().fold(FaultScript::none(), fails);
    let gpu = SimulatedGpu::new(spec, |task: &u64| task + 1).with_faults(script);
    StrategyManager::new(Arc::new(RayonCpu::current()), Arc::new(gpu))
        .with_costs(Arc::new(Costs::new()))
        .with_strategy(strategy.parse().expect("a strategy"))
}

fn operation<'p>(profile: &'p Profile, name: &str, device: &str) -> Option<&'p Operation> {
    let mut operations = profile.operations.iter();
    operations.find(|operation| operation.name == name && operation.device == device)
}

fn calls(operation: &Operation) -> usize {
    operation.runs.iter().map(|run| run.samples_ns.len()).sum()
}

#[test]
fn an_execution_its_spans_and_its_fallback_are_operations() {
    let tasks: Vec<u64> = (0..1000).collect();
    let manager = manager("hybrid:60/40", Some(1));
    let both = format!("cpu+{GPU}");
    for _ in 0..3 {
        let result = manager
            .operation("recorded")
            .execute(&tasks, |task| Ok::<_, Never>(task + 1));
        assert_eq!(result.expect("nothing fails").outputs[999], 1000);
    }
    let profile = get_profiler(true).snapshot();
    // The second execution's launch failed, so that it was the CPU's alone.
    let whole = operation(&profile, "recorded", &both).expect("two executions");
    assert_eq!(
        (whole.size, whole.items, calls(whole)),
        (Some(1000), Some(1000), 2)
    );
    let executions = whole.executions.as_ref().expect("what was decided");
    assert_eq!(executions.strategy.as_deref(), Some("hybrid:60/40"));
    let alone = operation(&profile, "recorded", "cpu").expect("one execution");
    assert_eq!(calls(alone), 1);
    let executions = alone.executions.as_ref().expect("what was decided");
    let error = executions.device_error.as_deref().expect("a text");
    assert!(error.starts_with("launch error"), "{error}");
    let fallback = operation(&profile, "recorded:fallback", GPU).expect("one");
    assert_eq!((fallback.items, calls(fallback)), (Some(600), 1));
    let launches = operation(&profile, "recorded:span", GPU).expect("launches");
    assert_eq!((launches.items, calls(launches)), (Some(600), 2));
    assert_eq!(launches.gpu_use, Some(0.75), "as the device says");
    let spans = operation(&profile, "recorded:span", "cpu").expect("workers' spans");
    let all = spans.items.expect("tasks") * calls(spans) as u64;
    // The mean is rounded.
    assert!(all.abs_diff(400 + 400 + 1000) <= calls(spans) as u64);
}

#[test]
fn the_use_of_each_gpu_is_recorded() {
    let gpu = |name: &str, gpu_use| {
        let spec = SimulatedSpec {
            name: name.to_owned(),
            gpu_use: Fact::Known(gpu_use),
            ..SimulatedSpec::new(Duration::from_micros(20), Duration::from_micros(1))
        };
        Arc::new(SimulatedGpu::new(spec, |task: &u64| task + 1))
    };
    let manager = StrategyManager::new(Arc::new(RayonCpu::current()), gpu("record: one", 0.25))
        .with_gpu(gpu("record: two", 0.75))
        .with_costs(Arc::new(Costs::new()))
        .with_strategy("gpu-only".parse().expect("a strategy"));
    let tasks: Vec<u64> = (0..1000).collect();
    get_profiler(true);
    let batch = manager.operation("used");
    let result = batch.execute(&tasks, |task| Ok::<_, Never>(task + 1));
    assert_eq!(result.expect("nothing fails").outputs[999], 1000);
    let profile = get_profiler(true).snapshot();
    for (name, expected) in [("record: one", 0.25), ("record: two", 0.75)] {
        let launches = operation(&profile, "used:span", name).expect("launches");
        assert_eq!(launches.gpu_use, Some(expected), "{name}");
    }
}

#[test]
fn an_execution_that_ended_early_is_no_sample_of_the_whole() {
    let tasks: Vec<u64> = (0..100).collect();
    let manager = manager("cpu-only", None);
    let cancel = CancelToken::new();
    cancel.cancel();
    let batch = manager.operation("cancelled").cancel(&cancel);
    let each = batch.execute_each(&tasks, |task| Ok::<_, Never>(*task));
    assert!(
        each.expect("what was done")
            .outputs
            .iter()
            .all(Result::is_err)
    );
    let failed = manager
        .operation("failed")
        .execute(&tasks, |task| match task {
            60 => Err("no"),
            _ => Ok(*task),
        });
    assert!(failed.is_err());
    let profile = get_profiler(true).snapshot();
    for (name, most) in [("cancelled", 0), ("failed", 99)] {
        assert_eq!(operation(&profile, name, "cpu"), None);
        let early = operation(&profile, &format!("{name}:incomplete"), "cpu");
        let early = early.expect("it was recorded");
        assert_eq!((early.size, calls(early)), (None, 1));
        assert!(early.items.unwrap_or(0) <= most);
    }
}

/// A profile of five runs of ten executions, of so long a task.
fn five_runs(task: Duration) -> Profile {
    let profiler = get_profiler(true);
    let tasks: Vec<u64> = (0..20).collect();
    let mut all: Option<Profile> = None;
    for _ in 0..5 {
        profiler.reset();
        let manager = manager("hybrid:50/50", Some(3));
        for _ in 0..10 {
            let result = manager.operation("slept").execute(&tasks, |number| {
                std::thread::sleep(task);
                Ok::<_, DeviceError>(number + 1)
            });
            assert!(result.is_ok());
        }
        let run = profiler.snapshot();
        let Some(all) = &mut all else {
            all = Some(run);
            continue;
        };
        for operation in run.operations {
            let known = all.operations.iter_mut();
            let mut same = known.filter(|known| known.key() == operation.key());
            let same = same.next().expect("each run has the same operations");
            same.runs.extend(operation.runs);
        }
    }
    all.expect("five runs")
}

#[test]
fn profiles_of_executions_are_compared_and_advised_on() {
    let before = five_runs(Duration::from_micros(300));
    let after = five_runs(Duration::from_micros(1500));
    let comparison = compare_profiling_runs(&before, &after, Threshold::default());
    let comparison = comparison.expect("of one machine");
    let both = format!("cpu+{GPU}");
    let slept = comparison
        .operations
        .iter()
        .find(|found| found.key.name == "slept" && found.key.device == both)
        .expect("it is in both");
    assert_eq!(slept.change_type, ChangeType::Regression);
    let optimizer = ProfilerOptimizer::new(&after);
    let suggestions = optimizer.get_suggestions(20);
    // A split is no GPU, and its spans are within its time: neither is to be moved.
    let is_moved = |given: &OptimizationSuggestion| given.kind == SuggestionType::Routing;
    assert!(!suggestions.iter().any(is_moved), "{suggestions:#?}");
}

#[test]
fn tasks_and_failures_of_several_gpus_are_kept_apart() {
    let gpu = |number: u32, script: FaultScript| {
        let spec = SimulatedSpec {
            name: format!("record: card {number}"),
            ..SimulatedSpec::new(Duration::from_micros(20), Duration::from_micros(1))
        };
        Arc::new(SimulatedGpu::new(spec, |task: &u64| task + 1).with_faults(script))
    };
    let lost = FaultScript::none().at(0, Fault::PollError(DeviceErrorKind::DeviceLost));
    let manager = StrategyManager::new(Arc::new(RayonCpu::current()), gpu(1, FaultScript::none()))
        .with_gpu(gpu(2, lost))
        .with_costs(Arc::new(Costs::new()))
        .with_strategy("gpu-only".parse().expect("a strategy"));
    let tasks: Vec<u64> = (0..1000).collect();
    let profiler = get_profiler(true);
    let result = manager
        .operation("reported apart")
        .execute(&tasks, |task| Ok::<_, Never>(task + 1))
        .expect("the CPU does what falls back");
    assert!(result.outputs.iter().copied().eq(1..=1000));
    let [good, bad] = &result.gpus[..] else {
        panic!("{:?}", result.gpus)
    };
    assert!(
        good.errors.is_empty() && good.fallback_tasks == 0,
        "{good:?}"
    );
    assert_eq!(bad.errors[0].kind, DeviceErrorKind::DeviceLost);
    assert!(bad.fallback_tasks > 0, "{bad:?}");
    assert_eq!(bad.fallback_tasks, result.fallback.tasks);
    let explained = result.explain().to_string();
    assert!(
        explained.contains("record: card 2: device lost"),
        "{explained}"
    );
    let profile = profiler.snapshot();
    let reported = operation(&profile, "reported apart", &result.ran_on()).expect("an execution");
    let expected = [
        ("cpu", result.cpu.tasks),
        ("record: card 1", good.share.tasks),
        ("record: card 2", bad.share.tasks),
    ];
    let expected = expected.map(|(device, tasks)| (device.to_owned(), tasks as u64));
    let executions = reported.executions.as_ref().expect("what was decided");
    assert_eq!(executions.device_tasks, expected.into());
    assert_eq!(executions.gpu_tasks, Some(result.gpu.tasks as u64));
}
