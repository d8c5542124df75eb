//! Events of a measurement, as they happen.

use std::borrow::Cow;

use breakeven_profile::profile::{DeviceMemory, Energy, Operation};
use serde::{Deserialize, Serialize};

/// One measured time, ns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    /// The very first call: compilation, allocation, cold caches.
    FirstCall(f64),
    /// A further warm-up call.
    WarmUp(f64),
    /// From here on each sample is the mean of this many calls, which are too short for the clock
    /// one by one.
    Lot(u32),
    /// A measured call.
    Sample(f64),
    /// A phase of a call on a GPU, timed separately, with its name in a profile.
    Phase(Cow<'static, str>, f64),
    /// How often calls after the first ones found memory in the device's pool.
    Memory(DeviceMemory),
    /// The launch configuration of the kernel, and whether it was tuned.
    Configuration(String, bool),
    /// The energy of further calls.
    Energy(Energy),
    /// Why a counter that worked before reported nothing.
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
