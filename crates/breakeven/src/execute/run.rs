//! The way of a batch: decide, run, record, learn.

use std::time::Instant;

use super::control::Verify;
use super::driver::{Driver, Verdict};
use super::engine::{Ending, Engine, Keep, Outcome, Watch};
use super::executor::{CpuExecutor, GpuExecutor};
use super::manager::StrategyManager;
use super::quarantine::{self, Standing, Trial};
use super::record::SpanRecord;
use super::result::{ExecuteError, ExecutionResult, Stop};
use super::schedule::{Mode, Schedule};
use super::seen::Seen;
use super::slots::Slots;
use super::spans::MOST_TASKS;
use super::terms::Given;
use crate::error::{DeviceError, DeviceErrorKind, Error};
use crate::hardware::Fact;
use crate::plan::{Basis, Decision, ExecutionStrategy, OperationCosts, Probe, decide_for};
use crate::workload::WorkloadProfile;

/// What is asked for of a batch.
pub(super) struct Asked<'m, C, G, V> {
    pub(super) manager: &'m StrategyManager<C, G>,
    pub(super) operation: &'m str,
    pub(super) workload: Option<WorkloadProfile>,
    pub(super) watch: Watch<'m>,
    pub(super) verify: V,
}

/// The device of a batch.
pub(super) struct Device {
    /// Its name in profiles and in the cost model.
    pub(super) name: Option<String>,
    /// What it goes by in quarantine.
    pub(super) key: String,
    pub(super) launch_ns: Option<f64>,
    /// Most tasks whose memory it has.
    pub(super) fits: usize,
}

/// How a batch begins.
pub(super) struct Start {
    pub(super) decision: Decision,
    pub(super) costs: OperationCosts,
    pub(super) device: Device,
    /// What kept the device from being used.
    pub(super) refused: Option<DeviceError>,
    /// Trials of the device, until the batch has ended.
    pub(super) trials: Vec<Trial>,
}

/// Runs a batch. `undone` makes the output of a task that was not run, where a
/// stop does not void the others.
pub(super) fn run<I, T, E, F, K, C, G, V>(
    asked: Asked<'_, C, G, V>,
    tasks: &[I],
    function: &F,
    undone: Option<&dyn Fn(Stop) -> K::Kept>,
) -> Result<ExecutionResult<K::Kept>, ExecuteError<E>>
where
    I: Sync,
    E: Send,
    F: Fn(&I) -> Result<T, E> + Sync,
    K: Keep<T, E>,
    C: CpuExecutor,
    G: GpuExecutor<I, T>,
    V: Verify<T>,
{
    if tasks.len() > MOST_TASKS {
        return Err(Error::too_large(format!(
            "{} tasks in one batch: {MOST_TASKS} is the most; split it",
            tasks.len()
        ))
        .into());
    }
    let manager = asked.manager;
    manager.policy.check()?;
    let workload = WorkloadProfile {
        task_count: tasks.len(),
        ..asked.workload.unwrap_or_else(|| {
            WorkloadProfile::from_task_size(tasks.len(), std::mem::size_of::<I>(), 100.0)
        })
    };
    let learns = manager.gpu.is_some();
    let costs = learns.then(|| manager.costs());
    let started = Instant::now();
    let start = asked.start::<I, T>(&workload, tasks)?;
    let given = Given {
        tasks: tasks.len(),
        workers: manager.cpu.workers(),
        decision: &start.decision,
        costs: &start.costs,
        launch_ns: start.device.launch_ns,
        fits: start.device.fits,
        is_watched: asked.watch.is_set(),
        on_probation: !start.trials.is_empty(),
    };
    let mut terms = given.terms();
    if start.refused.is_some() {
        terms.mode = Mode::Cpu;
    }
    let slots = Slots::new(tasks.len()).ok_or_else(|| {
        Error::too_large(format!(
            "the outputs of {} tasks, {} bytes each, do not fit memory",
            tasks.len(),
            std::mem::size_of::<K::Kept>()
        ))
    })?;
    let mut engine: Engine<'_, I, T, E, F, K> = Engine::new(
        tasks,
        function,
        Schedule::new(terms),
        slots,
        asked.watch,
        started,
    );
    engine.tally.record = SpanRecord::of(asked.operation, start.device.name.as_deref());
    if let Some(error) = &start.refused {
        refuse(&engine, error, owed(&start.decision, tasks.len()), &asked);
    }
    let gpu = manager.gpu.as_deref().filter(|_| terms.mode != Mode::Cpu);
    match gpu {
        None if !asked.watch.is_set() => engine.run_straight(&*manager.cpu),
        None => manager.cpu.run(&|| engine.leaf(), &mut |wake| wake()),
        Some(gpu) => drive(&engine, &asked, gpu, &start.device, terms.mode),
    }
    engine.finish(&*manager.cpu);
    let stop = undone.and_then(|undone| {
        let why = engine.take_stop()?;
        engine.fill_undone(|| undone(why));
        Some(why)
    });
    let took = started.elapsed();
    let Outcome {
        outputs: outcome,
        tally,
        done,
    } = engine.into_outcome();
    let seen = Seen::of(&tally, tasks.len(), took);
    if let Some(costs) = costs
        && stop.is_none()
        && outcome.is_ok()
    {
        seen.teach(costs, &asked, &workload, &start, terms.mode);
        manager.save_now_and_then();
    }
    seen.record(&asked, &start, outcome.is_ok());
    match outcome {
        Ok(outputs) => Ok(seen.result(outputs, &asked, start)),
        Err(ending) => Err(match ending {
            Ending::Task(index, error) => ExecuteError::Task { index, error },
            Ending::Stopped(why) => ExecuteError::Stopped {
                why,
                done,
                tasks: tasks.len(),
            },
            Ending::Device(error) => ExecuteError::Device {
                error,
                fallen: seen.driver.fallback.tasks,
                tasks: tasks.len(),
            },
            Ending::Invalid(error) => ExecuteError::Invalid(error),
        }),
    }
}

/// Notes that the device may not be used, and that the CPU does what was its.
fn refuse<I, T, E, F, K, C, G, V>(
    engine: &Engine<'_, I, T, E, F, K>,
    error: &DeviceError,
    owed: usize,
    asked: &Asked<'_, C, G, V>,
) where
    I: Sync,
    E: Send,
    F: Fn(&I) -> Result<T, E> + Sync,
    K: Keep<T, E>,
{
    engine.device_failed();
    let mut tally = engine.tally.driver();
    tally.note(error);
    tally.fallback.tasks += owed;
    drop(tally);
    if owed > 0 && !asked.manager.policy.allows(owed, engine.tasks.len()) {
        engine.end(Ending::Device(error.clone()));
    }
}

/// Tasks that a strategy promises to the GPU.
fn owed(decision: &Decision, tasks: usize) -> usize {
    match decision.strategy {
        ExecutionStrategy::GpuOnly => tasks,
        ExecutionStrategy::Hybrid { gpu_allocation, .. } => {
            tasks * usize::from(gpu_allocation) / 100
        }
        ExecutionStrategy::Auto | ExecutionStrategy::CpuOnly => 0,
    }
}

/// Runs the GPU's driver beside the workers.
fn drive<I, T, E, F, K, C, G, V>(
    engine: &Engine<'_, I, T, E, F, K>,
    asked: &Asked<'_, C, G, V>,
    gpu: &G,
    device: &Device,
    mode: Mode,
) where
    I: Sync,
    E: Send,
    F: Fn(&I) -> Result<T, E> + Sync,
    K: Keep<T, E>,
    C: CpuExecutor,
    G: GpuExecutor<I, T>,
    V: Verify<T>,
{
    let manager = asked.manager;
    let verdict = |verdict: Verdict<'_>| {
        let now = Instant::now();
        match verdict {
            Verdict::Works => {
                quarantine::works(&device.key);
                quarantine::works(&operation_key(&device.key, asked.operation));
            }
            Verdict::LeaveOperation(error) => {
                let key = operation_key(&device.key, asked.operation);
                quarantine::failed(&key, manager.back_off, now);
                log::warn!(
                    "{} leaves {} alone for a while: {error}",
                    asked.operation,
                    device.key
                );
            }
            Verdict::Quarantine(error) => {
                quarantine::failed(&device.key, manager.back_off, now);
                log::warn!("{} is left alone for a while: {error}", device.key);
            }
        }
    };
    let driver = Driver {
        gpu,
        verify: &asked.verify,
        policy: manager.policy,
        timeout: manager.timeout,
        depth: gpu.depth().max(1),
        verdict: &verdict,
    };
    let drive = |wake: &dyn Fn()| {
        if mode != Mode::Gpu {
            wake();
        }
        driver.run(engine, wake);
    };
    manager.cpu.run(&|| engine.leaf(), &mut |wake| drive(wake));
}

fn operation_key(device: &str, operation: &str) -> String {
    format!("{device}: {operation}")
}

impl<C: CpuExecutor, G, V> Asked<'_, C, G, V> {
    /// Decides, and asks whether the device may be used.
    fn start<I, T>(&self, workload: &WorkloadProfile, tasks: &[I]) -> Result<Start, Error>
    where
        G: GpuExecutor<I, T>,
    {
        let manager = self.manager;
        let gpu = manager.gpu.as_deref();
        let spec = gpu.and_then(GpuExecutor::device);
        let memory_used = gpu.map_or(Fact::Unknown, |gpu| manager.memory_used(gpu));
        let mut machine = manager.machine(spec, memory_used);
        if let Some(spec) = spec.or(manager.described()) {
            manager.declare_driver(spec);
        }
        let name = gpu.map(|_| manager.device_name(spec).to_owned());
        let costs = name
            .as_deref()
            .map_or_else(OperationCosts::default, |name| {
                let workers = manager.cpu.workers();
                manager.costs().lookup(
                    self.operation,
                    workload.memory_per_task,
                    Some(name),
                    workers,
                )
            });
        let (strategy, by_operator) = manager.asked()?;
        let basis = if by_operator {
            Basis::Operator
        } else {
            Basis::Asked
        };
        let decide = |machine: &_| {
            decide_for(
                strategy,
                basis,
                workload,
                machine,
                &manager.heuristics,
                &costs,
            )
        };
        let mut decision = decide(&machine)?;
        let mut device = Device {
            key: manager.quarantine_key(spec).to_owned(),
            name,
            launch_ns: None,
            fits: usize::MAX,
        };
        let uses_gpu =
            decision.strategy != ExecutionStrategy::CpuOnly || decision.probe != Probe::None;
        let (mut refused, mut trials) = (None, Vec::new());
        if let Some(gpu) = gpu.filter(|_| uses_gpu && !tasks.is_empty()) {
            let known = spec.or(manager.described());
            device.launch_ns = known
                .and_then(|spec| spec.launch.get())
                .map(|t| t.as_nanos() as f64);
            let free = machine.gpu().and_then(|gpu| gpu.free_bytes());
            let task = match gpu.batch_bytes(tasks) {
                Some(bytes) => bytes.div_ceil(tasks.len() as u64),
                None => workload.memory_per_task as u64,
            };
            let at_once = free.map(|free| free / gpu.depth().max(1) as u64 / task.max(1));
            let fits = [at_once, costs.fits].into_iter().flatten().min();
            device.fits = fits.map_or(usize::MAX, |fits| {
                usize::try_from(fits).unwrap_or(usize::MAX)
            });
            let now = Instant::now();
            let of_operation = operation_key(&device.key, self.operation);
            for key in [&device.key, &of_operation] {
                match quarantine::standing(key, now) {
                    Standing::Good => {}
                    Standing::OnProbation => trials.push(Trial::of(key)),
                    Standing::Until(until) => refused = Some(left_alone(key, until, now)),
                }
            }
            if refused.is_some() {
                trials.clear();
                if strategy == ExecutionStrategy::Auto {
                    machine.gpus.clear();
                    decision = decide(&machine)?;
                }
            }
        }
        Ok(Start {
            decision,
            costs,
            device,
            refused,
            trials,
        })
    }
}

fn left_alone(key: &str, until: Instant, now: Instant) -> DeviceError {
    let left = until.saturating_duration_since(now);
    DeviceError::new(
        DeviceErrorKind::Unavailable { until: Some(until) },
        format!("{key} failed lately and is left alone for another {left:.1?}"),
    )
}
