//! The end of a batch, and its result.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use super::counts::Counts;
use super::result::{
    DeviceShare, ExecuteError, ExecutionResult, LeftOut, Share, Stop, TaskError, ran_on,
};
use super::slots::Parts;
use super::work::{each_dropped, quietly_dropped};
use crate::error::{DeviceError, Error};
use crate::plan::{Decision, Took};

/// The name under which surplus devices are counted.
const OTHER_DEVICES: &str = "other devices";

/// Adds to a device's count; beyond `most_devices`, new devices share one count.
pub(super) fn add_to(
    counts: &mut BTreeMap<String, u64>,
    device: &str,
    more: u64,
    most_devices: usize,
) {
    if let Some(count) = counts.get_mut(device) {
        *count += more;
        return;
    }
    let is_counted = counts.len() < most_devices;
    let device = if is_counted { device } else { OTHER_DEVICES };
    *counts.entry(device.to_owned()).or_default() += more;
}

/// Why a batch ended early.
#[derive(Debug)]
pub(super) enum Ending {
    /// A task failed.
    Task,
    /// It was stopped.
    Stopped(Stop),
    /// A device failed, and the CPU may not take over.
    Device(DeviceError),
    /// A request or function is invalid, such as a progress function that panics.
    Invalid(Error),
}

/// How a batch ended.
pub(super) struct Ended {
    pub(super) ending: Option<Ending>,
    pub(super) stop: Option<Stop>,
    pub(super) counts: Counts,
    pub(super) decision: Box<Decision>,
    pub(super) names: Vec<String>,
    pub(super) left_out: Vec<LeftOut>,
    pub(super) recalled: usize,
    pub(super) took: Duration,
    pub(super) tasks: usize,
    pub(super) done: usize,
}

impl Ended {
    /// Returns true if it neither failed nor was stopped.
    pub(super) fn is_whole(&self) -> bool {
        self.ending.is_none() && self.stop.is_none()
    }

    /// Returns how many tasks fell back to the CPU: none if the policy denied it.
    pub(super) fn fallen(&self) -> usize {
        match self.ending {
            Some(Ending::Device(_)) => 0,
            _ => self.counts.fallback.tasks,
        }
    }

    /// Returns the busy times of its devices, with that many workers.
    pub(super) fn what_it_took(&self, workers: usize) -> Took {
        let ns = |time: Duration| time.as_nanos() as f64;
        let took = ns(self.took);
        Took {
            ns: took,
            cpu: (ns(self.counts.cpu.busy) / workers.max(1) as f64).min(took),
            gpus: (self.counts.gpus.iter())
                .map(|gpu| ns(gpu.busy).min(took))
                .collect(),
            times: self
                .decision
                .predicted_ns()
                .map_or(1.0, |ns| took / ns.max(1.0)),
        }
    }

    /// Names the devices that its tasks ran on.
    pub(super) fn ran_on(&self) -> Cow<'_, str> {
        let gpus = self.counts.gpus.iter().zip(&self.names);
        let used = gpus.filter(|(gpu, _)| gpu.tasks > 0);
        ran_on(self.counts.cpu.tasks > 0, used.map(|(_, name)| &**name))
    }

    /// Adds the tasks of each device; beyond `most_devices`, new devices share one count.
    pub(super) fn add_tasks(&self, to: &mut BTreeMap<String, u64>, most_devices: usize) {
        let gpus = self.counts.gpus.iter().zip(&self.names);
        let gpus = gpus.map(|(gpu, name)| (name.as_str(), gpu.tasks));
        let all = gpus.chain([("cpu", self.counts.cpu.tasks)]);
        for (name, tasks) in all.filter(|(_, tasks)| *tasks > 0) {
            add_to(to, name, tasks as u64, most_devices);
        }
    }

    /// Builds the result, with the outputs or the task that failed.
    pub(super) fn result<T, E>(
        self,
        operation: &str,
        (mut failed, outputs): Parts<T, E>,
    ) -> Result<ExecutionResult<T>, ExecuteError<E>> {
        let (done, tasks) = (self.done, self.tasks);
        let fallen = self.counts.fallback.tasks;
        let early = match self.ending {
            Some(Ending::Stopped(why)) => Some(ExecuteError::Stopped { why, done, tasks }),
            Some(Ending::Invalid(error)) => Some(error.into()),
            Some(Ending::Device(error)) => Some(ExecuteError::Device {
                error,
                fallen,
                tasks,
            }),
            Some(Ending::Task) | None => {
                (failed.take()).map(|(index, error)| ExecuteError::Task { index, error })
            }
        };
        quietly_dropped(failed);
        let outputs = match (early, outputs) {
            (None, Ok(outputs)) => outputs,
            (early, outputs) => {
                let panicked = outputs.map_or_else(|panicked| panicked, each_dropped);
                return Err(match (early, panicked) {
                    (Some(error @ ExecuteError::Task { .. }), _) | (Some(error), None) => error,
                    (_, Some((index, said))) => {
                        let error = TaskError::Panicked(said);
                        ExecuteError::Task { index, error }
                    }
                    (None, None) => Error::invalid("the executor left tasks undone").into(),
                });
            }
        };
        let shares = self.counts.gpus.iter().copied();
        let gpu = shares.clone().fold(Share::default(), Share::plus);
        let errors = &self.counts.errors;
        let gpus = self.names.into_iter().zip(shares).enumerate();
        let gpus = gpus.map(|(index, (device, share))| DeviceShare {
            device,
            share,
            fallback_tasks: self.counts.fell.get(index).copied().unwrap_or_default(),
            errors: (errors.iter().filter(|reported| reported.gpu == Some(index)))
                .map(|reported| reported.error.clone())
                .collect(),
        });
        let gpus = gpus.collect();
        Ok(ExecutionResult {
            strategy_used: super::explain::amounted_to(self.counts.cpu.tasks, gpu.tasks),
            outputs,
            execution_time: self.took,
            fallback_occurred: self.counts.fallback.tasks > 0,
            cpu: self.counts.cpu,
            gpus,
            gpu,
            left_out: self.left_out,
            fallback: self.counts.fallback,
            checked: self.counts.checked,
            errors: (self.counts.errors.into_iter())
                .map(|reported| reported.error)
                .collect(),
            recalled: self.recalled,
            operation: operation.to_owned(),
            tasks,
            decision: self.decision,
        })
    }
}
