//! The way of a batch: decide, run, record, learn.

use std::time::Instant;

use super::control::Verify;
use super::driver::{Driver, Verdict};
use super::engine::{Ending, Engine, Keep, Outcome, Watch};
use super::executor::{CpuExecutor, GpuExecutor};
use super::manager::StrategyManager;
use super::quarantine;
use super::record::SpanRecord;
use super::result::{ExecuteError, ExecutionResult, Stop};
use super::schedule::{Mode, Schedule};
use super::seen::Seen;
use super::slots::Slots;
use super::spans::MOST_TASKS;
use super::start::{Start, operation_key};
use super::terms::Given;
use crate::error::{DeviceError, DeviceErrorKind, Error};
use crate::plan::Probe;
use crate::workload::WorkloadProfile;

/// What is asked for of a batch.
pub(super) struct Asked<'m, C, G, V> {
    pub(super) manager: &'m StrategyManager<C, G>,
    pub(super) operation: &'m str,
    pub(super) workload: Option<WorkloadProfile>,
    pub(super) watch: Watch<'m>,
    pub(super) verify: V,
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
    let costs = manager.learns().then(|| manager.costs());
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
        refuse(
            &engine,
            error,
            start.decision.strategy.shares(tasks.len()).0,
            &asked,
        );
    }
    let gpu = manager.gpu.as_deref().filter(|_| terms.mode != Mode::Cpu);
    match gpu {
        None if !asked.watch.is_set() => engine.run_straight(&*manager.cpu),
        None => manager.cpu.run(&|| engine.leaf(), &mut |wake| wake()),
        Some(gpu) => drive(&engine, &asked, gpu, &start, terms.mode),
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
    seen.log(asked.operation);
    let is_whole = outcome.is_ok() && stop.is_none();
    seen.record(&asked, &start, done, is_whole);
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

/// Runs the GPU's driver beside the workers.
fn drive<I, T, E, F, K, C, G, V>(
    engine: &Engine<'_, I, T, E, F, K>,
    asked: &Asked<'_, C, G, V>,
    gpu: &G,
    start: &Start,
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
    let device = &start.device;
    let (owed, _) = start.decision.strategy.shares(engine.tasks.len());
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
        depth: device.depth,
        verdict: &verdict,
    };
    let drive = |wake: &dyn Fn()| {
        if mode != Mode::Gpu || start.decision.probe == Probe::Cpu {
            wake();
        }
        driver.run(engine, wake);
    };
    manager.cpu.run(&|| engine.leaf(), &mut |wake| drive(wake));
    if engine.driver.get().is_none() {
        let error = DeviceError::new(
            DeviceErrorKind::Unavailable { until: None },
            "there was no thread for the GPU's driver",
        );
        refuse(engine, &error, owed, asked);
    }
}
