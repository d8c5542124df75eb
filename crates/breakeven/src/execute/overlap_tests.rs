//! Batches in pieces that overlap on a GPU: the handling of errors.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use super::{FallbackPolicy, RayonCpu, StrategyManager};
use crate::WorkloadProfile;
use crate::error::DeviceErrorKind;
use crate::plan::{Added, ExecutionStrategy, Observation, RanOn};
use crate::store::Costs;
use crate::testing::{Fault, FaultScript, SimulatedGpu, SimulatedSpec};

const TASKS: u64 = 240;

/// Pieces of a batch of them: √(2/3 · 14.4 ms / 0.1 ms).
const PIECES: usize = 10;

/// Tasks of a piece.
const PIECE: usize = 24;

/// The launch cost, and the time of each phase of a task.
const LAUNCH: Duration = Duration::from_micros(100);
const PHASE: Duration = Duration::from_micros(20);

type Gpu = SimulatedGpu<u64, u64>;

fn workload() -> WorkloadProfile {
    WorkloadProfile::from_task_count(1).with_memory_per_task(8)
}

/// A manager of a device of that name, whose three phases are known to overlap.
fn manager(device: &str, script: FaultScript) -> StrategyManager<RayonCpu, Gpu> {
    let name = format!("overlap: {device}");
    let costs = Costs::new();
    for tasks in [TASKS / 4, TASKS, TASKS / 4, TASKS] {
        let took = LAUNCH + 3 * PHASE * u32::try_from(tasks).expect("it is small");
        let seen = Observation {
            at: SystemTime::now(),
            tasks,
            ns: u64::try_from(took.as_nanos()).expect("it is short"),
            transfer_ns: None,
            workers: 1,
            shared: false,
        };
        costs.observe("triple", 8, RanOn::Gpu(&name), &seen);
    }
    for pieces in [2.0, 8.0] {
        let [launch, work] = [LAUNCH, 3 * PHASE * 240].map(|time| time.as_nanos() as f64);
        let per_ns = pieces / work;
        let part = 1.0 / 3.0 + launch * per_ns;
        let added = Some(Added { part, per_ns });
        costs.change(|model| model.note_overlap("triple", 8, &name, added));
    }
    let spec = SimulatedSpec {
        name,
        ..SimulatedSpec::new(LAUNCH, PHASE).with_transfer(1e9, 20_000, 20_000)
    };
    let gpu = SimulatedGpu::new(spec, |task: &u64| task * 3).with_faults(script);
    StrategyManager::new(Arc::new(RayonCpu::current()), Arc::new(gpu))
        .with_costs(Arc::new(costs))
        .with_strategy(ExecutionStrategy::GpuOnly)
}

#[test]
fn an_error_in_a_pipeline_costs_its_own_piece_and_every_task_is_done_once() {
    use DeviceErrorKind::{DeviceLost, Launch, OutOfMemory, Refused};
    // What happens to the sixth piece, and the tasks that the CPU does then.
    let half = TASKS as usize / 2;
    let cases = [
        ("launch", Fault::PollError(Launch), PIECE),
        ("start", Fault::SubmitError(Launch), PIECE),
        // Its halves are tried again.
        ("refused", Fault::PollError(Refused), 0),
        ("memory", Fault::PollError(OutOfMemory), 0),
        // The device is given up; what was done before is kept.
        ("panic", Fault::PollPanic, half),
        ("lost", Fault::PollError(DeviceLost), half),
    ];
    for (name, fault, on_cpu) in cases {
        let manager = manager(name, FaultScript::none().at(5, fault));
        let calls = AtomicUsize::new(0);
        let tasks: Vec<u64> = (0..TASKS).collect();
        let batch = manager.operation("triple").workload(workload());
        let result = batch.map(&tasks, |task| {
            calls.fetch_add(1, Ordering::Relaxed);
            task * 3
        });
        let result = result.expect("the CPU does what the GPU fails at");
        assert!(
            result
                .outputs
                .iter()
                .copied()
                .eq((0..TASKS).map(|task| task * 3))
        );
        assert_eq!(result.fallback.tasks, on_cpu, "{name}");
        assert_eq!(calls.into_inner(), on_cpu, "{name}");
        assert_eq!(result.gpu.tasks, TASKS as usize - on_cpu, "{name}");
        if fault == Fault::PollError(Launch) {
            assert_eq!(result.gpu.spans, PIECES - 1);
        }
    }
}

#[test]
fn an_error_reaches_the_handle_of_its_own_batch() {
    let fault = Fault::PollError(DeviceErrorKind::Launch);
    let manager = manager("handles", FaultScript::none().at(13, fault));
    let launch = |number: u64| {
        let tasks: Vec<u64> = (number..number + TASKS).collect();
        let batch = manager.operation("triple").workload(workload());
        let batch = batch.fallback(FallbackPolicy::Deny);
        batch.execute_async(tasks, |task: &u64| Ok::<u64, std::fmt::Error>(task * 3))
    };
    let handles: Vec<_> = (0..4).map(launch).collect();
    let mut failed = 0;
    for (number, handle) in (0..).zip(handles) {
        match handle.wait() {
            Ok(result) => assert_eq!(result.outputs[0], 3 * number),
            Err(_) => failed += 1,
        }
    }
    assert_eq!(failed, 1);
}
