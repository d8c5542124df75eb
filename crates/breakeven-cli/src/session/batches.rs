//! Executions of batches in the profile: times, and in attributes the decisions
//! and what fell back, which the recorder has of the last execution only.

use std::collections::BTreeMap;

use crate::suite::{BatchWorkload, Event};
use breakeven_profile::profile::{Failure, Operation, OperationKey, Profile, Run};
use serde_json::{Value, json};

use super::Session;
use crate::protocol::{BatchCell, Execution};

/// What is known of the executions of one operation on one device.
#[derive(Debug, Default)]
pub(super) struct Executions {
    count: u64,
    /// How many were decided by what.
    decided_by: BTreeMap<String, u64>,
    fallbacks: Vec<Fallback>,
    /// The process, counted from 0, that the operation's last run is of.
    run: Option<u32>,
}

/// Executions in which the GPU failed in the same way.
#[derive(Debug)]
struct Fallback {
    /// The kind of failure.
    kind: String,
    /// The first of them, word by word.
    error: String,
    executions: u64,
    /// Tasks that the CPU did in the GPU's place.
    tasks: u64,
}

impl Executions {
    fn note(&mut self, execution: &Execution) {
        self.count += 1;
        let decided_by = self.decided_by.entry(execution.decided_by.clone());
        *decided_by.or_default() += 1;
        let Some(Failure { kind, message }) = execution.errors.first() else {
            return;
        };
        let known = self.fallbacks.iter().position(|known| known.kind == *kind);
        let at = known.unwrap_or_else(|| {
            self.fallbacks.push(Fallback {
                kind: kind.clone(),
                error: format!("{kind}: {message}"),
                executions: 0,
                tasks: 0,
            });
            self.fallbacks.len() - 1
        });
        let fallback = &mut self.fallbacks[at];
        fallback.executions += 1;
        fallback.tasks += execution.fallback_tasks;
    }

    /// Begins the operation's run of a process, unless it has begun.
    fn begin(&mut self, run: u32, operation: &mut Operation) {
        if self.run != Some(run) {
            self.run = Some(run);
            operation.runs.push(Run::default());
        }
    }

    /// The attributes of an operation after this execution.
    fn tell(&self, tasks: usize, last: &Execution, attributes: &mut BTreeMap<String, Value>) {
        let mut tell = |name: &str, value: Value| attributes.insert(name.to_owned(), value);
        tell("executions", self.count.into());
        tell("decided_by", json!(self.decided_by));
        tell("strategy", last.strategy.as_str().into());
        tell("why", last.why.as_str().into());
        tell("tasks", tasks.into());
        tell("gpu_tasks", last.gpu_tasks.into());
        if let Some(ns) = last.predicted_ns {
            tell("predicted_ns", ns.into());
        }
        if !self.fallbacks.is_empty() {
            let each = self.fallbacks.iter().map(|fallback| {
                json!({
                    "error": fallback.error,
                    "executions": fallback.executions,
                    "tasks": fallback.tasks,
                })
            });
            tell("fallbacks", each.collect());
        }
    }
}

impl Session {
    /// Takes an execution of a batch, by the process of that number.
    pub(super) fn executed(&mut self, cell: &BatchCell, execution: &Execution) {
        // The very first call of the kernel in this process is told apart.
        let mut of_kernel = (self.executions.iter()).filter(|(key, _)| key.name == cell.kernel);
        let is_first = of_kernel.all(|(_, known)| known.run != Some(self.run));
        let key = OperationKey {
            name: cell.kernel.clone(),
            device: execution.device.clone(),
            size: Some(cell.size()),
        };
        let at = self.batch_operation(cell, &key);
        let known = self.executions.entry(key).or_default();
        known.note(execution);
        let operation = &mut self.profile.operations[at];
        known.tell(cell.tasks, execution, &mut operation.attributes);
        if execution.warm_up {
            known.begin(self.run, operation);
            let event = match is_first {
                true => Event::FirstCall(execution.ns as f64),
                false => Event::WarmUp(execution.ns as f64),
            };
            event.record(operation);
        }
    }

    /// Takes what the recorder of a process has of the measured executions of a batch.
    pub(super) fn recorded(&mut self, cell: &BatchCell, recorded: Profile) {
        let environment = &mut self.profile.environment;
        environment.recorder = environment.recorder.or(recorded.environment.recorder);
        for operation in recorded.operations {
            let key = operation.key();
            let at = self.batch_operation(cell, &key);
            let known = self.executions.entry(key).or_default();
            let into = &mut self.profile.operations[at];
            known.begin(self.run, into);
            take_over(into, operation);
        }
    }

    /// Where an operation of a cell stands, which is added where there is none:
    /// after the others of its kernel.
    fn batch_operation(&mut self, cell: &BatchCell, key: &OperationKey) -> usize {
        let operations = &mut self.profile.operations;
        if let Some(at) = operations.iter().position(|known| known.key() == *key) {
            return at;
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
        at
    }

    /// The cell failed: its executions until then stay.
    pub(super) fn batch_failed(&mut self, cell: &BatchCell, failure: Failure) {
        let operations = &self.profile.operations;
        let known = operations.iter().rfind(|known| known.name == cell.kernel);
        let key = known.map_or_else(
            || OperationKey {
                name: cell.kernel.clone(),
                device: cell.devices().pop().unwrap_or_default(),
                size: Some(cell.size()),
            },
            Operation::key,
        );
        let at = self.batch_operation(cell, &key);
        self.profile.operations[at].failure = Some(failure);
    }

    /// True where the cell's batch has failed.
    pub(super) fn batch_failed_at(&self, cell: &BatchCell) -> bool {
        let mut operations = self.profile.operations.iter();
        operations.any(|known| known.name == cell.kernel && known.failure.is_some())
    }
}

/// Takes over what a recorder has now; warm-up was before it began.
fn take_over(into: &mut Operation, from: Operation) {
    into.items = from.items;
    into.bytes = from.bytes;
    into.flops = from.flops;
    into.gpu_use = from.gpu_use;
    into.memory_bytes = from.memory_bytes;
    // What was told of all executions is more than what the recorder has of the last.
    for (name, value) in from.attributes {
        into.attributes.entry(name).or_insert(value);
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
