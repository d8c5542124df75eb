//! An execution in the profile.
//!
//! | operation | device | a call is | size, items |
//! |---|---|---|---|
//! | `name` | `cpu`, the GPU, or `cpu+<gpu>` | one execution | its tasks |
//! | `name:span` | `cpu` or the GPU | a span: a worker's piece or a launch | items: its tasks |
//!
//! The execution's attributes tell the decision (`strategy`, `decided`,
//! `predicted_ns`) and what went wrong (`fallback_tasks`, `device_error`). A
//! span's time over its items is the time of a task.

use std::borrow::Cow;
use std::time::Duration;

use breakeven_profile::recorder::{Guard, is_on};

use super::result::Fallback;
use crate::error::DeviceError;
use crate::plan::{Basis, Decision, ExecutionStrategy};

/// What spans of one execution are recorded as; nothing while recording is off.
#[derive(Debug, Default)]
pub(super) struct SpanRecord {
    names: Option<Names>,
}

#[derive(Debug)]
struct Names {
    operation: String,
    device: String,
}

impl SpanRecord {
    pub(super) fn of(operation: &str, device: Option<&str>) -> Self {
        Self {
            names: is_on().then(|| Names {
                operation: format!("{operation}:span"),
                device: device.unwrap_or("gpu").to_owned(),
            }),
        }
    }

    /// A worker begins a span.
    #[inline]
    pub(super) fn cpu(&self, tasks: usize) -> Option<Guard> {
        let names = self.names.as_ref()?;
        let call = Guard::enter_named(&names.operation, None, None);
        call.items(tasks);
        Some(call)
    }

    /// A launch has ended.
    pub(super) fn gpu(&self, tasks: usize, took: Duration) {
        if let Some(names) = &self.names {
            let mut call = Guard::enter_named(&names.operation, Some(&names.device), None);
            call.items(tasks);
            call.began_ago(took);
        }
    }
}

/// An execution that has ended.
pub(super) struct ExecutionRecord<'e> {
    pub(super) operation: &'e str,
    pub(super) device: Option<&'e str>,
    pub(super) tasks: usize,
    pub(super) took: Duration,
    pub(super) used: ExecutionStrategy,
    pub(super) decision: &'e Decision,
    pub(super) fallback: &'e Fallback,
    pub(super) error: Option<&'e DeviceError>,
    pub(super) succeeded: bool,
}

impl ExecutionRecord<'_> {
    pub(super) fn tell(&self) {
        if !is_on() {
            return;
        }
        let device = ran_on(self.used, self.device);
        let size = u64::try_from(self.tasks).unwrap_or(u64::MAX);
        let mut call = Guard::enter_named(self.operation, Some(&device), Some(size));
        call.items(self.tasks);
        if self.decision.basis != Basis::Asked {
            call.attribute("decided", self.decision.basis.name());
            if let Some(ns) = self
                .decision
                .chosen()
                .and_then(|chosen| chosen.predicted_ns)
            {
                call.attribute("predicted_ns", ns);
            }
        }
        if device != "cpu" || self.decision.strategy != ExecutionStrategy::CpuOnly {
            let strategy = self.decision.strategy.to_string();
            call.attribute("strategy", strategy.as_str());
        }
        if let Some(error) = self.error {
            let error = error.to_string();
            call.attribute("device_error", error.as_str());
            call.attribute("fallback_tasks", self.fallback.tasks);
        }
        if !self.succeeded {
            call.attribute("failed", true);
        }
        call.began_ago(self.took);
    }
}

/// The device that a profile has an execution under: `cpu`, the GPU, or `cpu+`
/// and the GPU, by where its tasks ran.
pub(super) fn ran_on(used: ExecutionStrategy, gpu: Option<&str>) -> Cow<'_, str> {
    let gpu = gpu.unwrap_or("gpu");
    match used {
        ExecutionStrategy::GpuOnly => Cow::Borrowed(gpu),
        ExecutionStrategy::Hybrid { .. } => Cow::Owned(format!("cpu+{gpu}")),
        ExecutionStrategy::CpuOnly | ExecutionStrategy::Auto => Cow::Borrowed("cpu"),
    }
}
