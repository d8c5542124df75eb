//! What measuring an operation reports, as it happens.

use std::borrow::Cow;

use breakeven_profile::profile::{DeviceMemory, Energy, Operation};
use serde::{Deserialize, Serialize};

/// One time that was taken, ns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    /// The very first call: compilation, allocation, cold caches.
    FirstCall(f64),
    /// A further warm-up call.
    WarmUp(f64),
    /// From here on each sample is the mean of so many calls, which alone are too short
    /// for the clock.
    Lot(u32),
    /// A measured call.
    Sample(f64),
    /// A part of a call on a GPU, measured apart; by its name in a profile.
    Phase(Cow<'static, str>, f64),
    /// What the calls after the first ones found of the device's memory.
    Memory(DeviceMemory),
    /// What the kernel was launched with, and whether that was tuned.
    Configuration(String, bool),
    /// What counters of energy told over further calls.
    Energy(Energy),
    /// Why they told nothing, though they had before.
    EnergyUnknown(String),
}

impl Event {
    /// Adds the time to the operation's last run.
    pub(crate) fn record(self, operation: &mut Operation) {
        let Some(run) = operation.runs.last_mut() else {
            return;
        };
        match self {
            Self::FirstCall(ns) => run.first_call_ns = Some(ns),
            Self::WarmUp(ns) => run.warmup_ns.push(ns),
            Self::Lot(calls) => {
                let attributes = &mut operation.attributes;
                attributes.insert("calls_per_sample".to_owned(), calls.into());
            }
            Self::Memory(memory) => memory.write(&mut operation.attributes),
            Self::Configuration(configuration, is_tuned) => {
                let attributes = &mut operation.attributes;
                attributes.insert("configuration".to_owned(), configuration.into());
                attributes.insert("tuned".to_owned(), is_tuned.into());
            }
            Self::Energy(energy) => run.energy = Some(energy),
            Self::EnergyUnknown(_) => {}
            Self::Sample(ns) => run.samples_ns.push(ns),
            Self::Phase(name, ns) => {
                let phase = run.phases_ns.entry(name.into_owned());
                phase.or_default().push(ns);
            }
        }
    }
}
