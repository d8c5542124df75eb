//! What measuring an operation reports, as it happens.

use breakeven_profile::profile::{Operation, Run};
use serde::{Deserialize, Serialize};

/// A part of a call on a GPU, measured apart from whole calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Phase {
    /// Host to device, waited for.
    Upload,
    /// An empty kernel, from starting it until the host knows that it is done.
    Launch,
    /// The kernel by the device's clock.
    Kernel,
    /// Device to host.
    Download,
}

impl Phase {
    /// Its name in a profile.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Upload => "upload",
            Self::Launch => "launch",
            Self::Kernel => "kernel",
            Self::Download => "download",
        }
    }
}

/// One time that was taken, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    /// The very first call: compilation, allocation, cold caches.
    FirstCall(u64),
    /// A further warm-up call.
    WarmUp(u64),
    /// A measured call.
    Sample(u64),
    /// A part of a call.
    Phase(Phase, u64),
}

impl Event {
    /// Adds the time to the operation's last run, which is begun where there is none.
    pub(crate) fn record(self, operation: &mut Operation) {
        if operation.runs.is_empty() {
            operation.runs.push(Run::default());
        }
        let Some(run) = operation.runs.last_mut() else {
            return;
        };
        match self {
            Self::FirstCall(ns) => run.first_call_ns = Some(ns),
            Self::WarmUp(ns) => run.warmup_ns.push(ns),
            Self::Sample(ns) => run.samples_ns.push(ns),
            Self::Phase(phase, ns) => run
                .phases_ns
                .entry(phase.name().to_owned())
                .or_default()
                .push(ns),
        }
    }
}
