//! Executions of batches in the profile: times, decisions, and what fell back, which the
//! recorder has of the last execution only.

use std::collections::HashMap;

use breakeven_profile::profile::{
    Executions, Failure, Fallback, Operation, OperationKey, Profile, Run,
};

use crate::engine::protocol::{BatchCell, Execution, GpuFailure};
use crate::engine::suite::{BatchWorkload, Event};

/// Adds an execution of a batch of `tasks` tasks to those of its operation.
fn add(executions: &mut Executions, tasks: usize, last: &Execution) {
    *executions.executions.get_or_insert(0) += 1;
    let by = executions.decided_by.entry(last.decided_by.clone());
    *by.or_default() += 1;
    executions.strategy = Some(last.strategy.clone());
    executions.why = Some(last.why.clone());
    executions.tasks = Some(tasks as u64);
    executions.gpu_tasks = Some(last.gpu_tasks);
    executions.device_tasks.clone_from(&last.device_tasks);
    executions.predicted_ns = last.predicted_ns.or(executions.predicted_ns);
    for GpuFailure {
        device,
        error,
        tasks,
    } in &last.failures
    {
        let is_same = |known: &Fallback| {
            let message = known.error.strip_prefix(error.kind.as_str());
            known.device == *device && message.is_some_and(|message| message.starts_with(": "))
        };
        let known = executions.fallbacks.iter().position(is_same);
        let at = known.unwrap_or_else(|| {
            executions.fallbacks.push(Fallback {
                device: device.clone(),
                error: error.to_string(),
                executions: 0,
                tasks: 0,
            });
            executions.fallbacks.len() - 1
        });
        let fallback = &mut executions.fallbacks[at];
        fallback.executions += 1;
        fallback.tasks += tasks;
    }
}

/// Where the executions of batches are in the profile.
#[derive(Default)]
pub(super) struct Batches {
    /// By operation, the process, counted from 0, that its last run is of.
    runs: HashMap<OperationKey, u32>,
    /// The operation that the last execution is of.
    pub(super) last: Option<OperationKey>,
    /// The process that measures, counted from 0.
    pub(super) run: u32,
}

impl Batches {
    /// Takes an execution of a batch into the profile.
    pub(super) fn executed(
        &mut self,
        profile: &mut Profile,
        cell: &BatchCell,
        execution: &Execution,
    ) {
        // The very first call of the kernel in this process is kept apart.
        let mut of_kernel = (self.runs.iter()).filter(|(key, _)| key.name == cell.kernel);
        let is_first = of_kernel.all(|(_, run)| *run != self.run);
        let key = OperationKey {
            name: cell.kernel.clone(),
            device: execution.device.clone(),
            size: Some(cell.size()),
        };
        let operation = operation(profile, cell, &key);
        self.last = Some(key.clone());
        let executions = operation.executions.get_or_insert_default();
        add(executions, cell.tasks, execution);
        if execution.warm_up {
            self.begin(key, operation);
            let event = match is_first {
                true => Event::FirstCall(execution.ns as f64),
                false => Event::WarmUp(execution.ns as f64),
            };
            event.record(operation);
        }
    }

    /// Takes what the recorder of a process has of the measured executions of a batch.
    pub(super) fn recorded(&mut self, profile: &mut Profile, cell: &BatchCell, recorded: Profile) {
        let environment = &mut profile.environment;
        environment.recorder = environment.recorder.or(recorded.environment.recorder);
        for recorded in recorded.operations {
            let key = recorded.key();
            let into = operation(profile, cell, &key);
            self.begin(key, into);
            take_over(into, recorded);
        }
    }

    /// Begins the operation's run of this process, unless it has begun.
    fn begin(&mut self, key: OperationKey, operation: &mut Operation) {
        if self.runs.insert(key, self.run) != Some(self.run) {
            operation.runs.push(Run::default());
        }
    }
}

/// The operation of a cell, which is added where there is none: after the others of
/// its kernel.
fn operation<'p>(
    profile: &'p mut Profile,
    cell: &BatchCell,
    key: &OperationKey,
) -> &'p mut Operation {
    let operations = &mut profile.operations;
    if let Some(at) = operations.iter().position(|known| known.key() == *key) {
        return &mut operations[at];
    }
    let of_name = |name: &str| operations.iter().rposition(|known| known.name == name);
    let kernel = of_name(&cell.kernel);
    let beside = match key.name == cell.kernel {
        true => kernel,
        false => of_name(&key.name).or(kernel),
    };
    let at = beside.map_or(operations.len(), |at| at + 1);
    let mut operation = Operation {
        size: key.size,
        ..Operation::new(&key.name, &key.device)
    };
    if key.name == cell.kernel {
        let workload = BatchWorkload::new(&cell.kernel, 1).ok();
        operation.workload = workload.map(|all| all.with_tasks(cell.tasks).text());
    }
    operations.insert(at, operation);
    &mut operations[at]
}

/// The cell failed: its executions until then stay.
pub(super) fn failed(profile: &mut Profile, cell: &BatchCell, failure: Failure) {
    let mut known = profile.operations.iter();
    let known = known.rfind(|known| known.name == cell.kernel);
    let key = known.map_or_else(
        || OperationKey {
            name: cell.kernel.clone(),
            device: cell.devices().pop().unwrap_or_default(),
            size: Some(cell.size()),
        },
        Operation::key,
    );
    operation(profile, cell, &key).failure = Some(failure);
}

/// True where the cell's batch has failed.
pub(super) fn has_failed(profile: &Profile, cell: &BatchCell) -> bool {
    let mut operations = profile.operations.iter();
    operations.any(|known| known.name == cell.kernel && known.failure.is_some())
}

/// Takes over what a recorder has now; warm-up was before it began.
fn take_over(into: &mut Operation, from: Operation) {
    into.items = from.items;
    into.bytes = from.bytes;
    into.flops = from.flops;
    into.gpu_use = from.gpu_use;
    into.memory_bytes = from.memory_bytes;
    into.within_execution = from.within_execution;
    for (name, value) in from.attributes {
        into.attributes.entry(name).or_insert(value);
    }
    // The recorder has the last execution only.
    match (&mut into.executions, from.executions) {
        (Some(all), Some(last)) => {
            all.recalled = last.recalled;
            all.device_error = last.device_error;
        }
        (none, last) => *none = last,
    }
    let (Some(run), Some(recorded)) = (into.runs.last_mut(), from.runs.into_iter().next()) else {
        return;
    };
    *run = Run {
        first_call_ns: run.first_call_ns,
        warmup_ns: std::mem::take(&mut run.warmup_ns),
        ..recorded
    };
}
