//! The settings of a manager, and what it shares with its clones.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::control::FallbackPolicy;
use super::ended::Ended;
use super::energy::DeviceEnergy;
use super::operator::ordered_prices;
use crate::cache::CostsWarning;
use crate::error::Error;
use crate::hardware::sensors::EnergyMeter;
use crate::hardware::{Fact, HardwareCapabilities};
use crate::plan::{ExecutionStrategy, Objective, Power, Prices, ProfilingHeuristics};
use crate::store::{Costs, saver};

/// The settings of a manager.
#[derive(Debug, Clone)]
pub(super) struct Config {
    pub(super) heuristics: ProfilingHeuristics,
    pub(super) policy: FallbackPolicy,
    pub(super) timeout: Option<Duration>,
    pub(super) back_off: Duration,
    pub(super) allows_software: bool,
    pub(super) objective: Objective,
    pub(super) prices: Option<Arc<Prices>>,
    /// The meter for joules.
    pub(super) meter: Option<Arc<EnergyMeter>>,
    /// The stated power of the CPU.
    pub(super) cpu_power: Fact<Power>,
}

/// What a manager and its clones share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) strategy: Mutex<ExecutionStrategy>,
    costs: OnceLock<Model>,
    pub(super) stats: Mutex<ManagerStats>,
    pub(super) capabilities: OnceLock<HardwareCapabilities>,
    chains: AtomicU64,
    /// Energy measurements, once an objective counts energy.
    energy: OnceLock<DeviceEnergy>,
    /// The operator's prices.
    prices: OnceLock<Result<Option<Prices>, Error>>,
}

/// What a manager and its clones did so far.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ManagerStats {
    /// Batches, including those that failed or were stopped.
    pub batches: u64,
    /// Tasks of each device; the CPU is `cpu`.
    pub tasks: BTreeMap<String, u64>,
    /// Tasks that fell back from a GPU to the CPU.
    pub fallback_tasks: u64,
    /// Device errors, by their kind.
    pub device_errors: BTreeMap<String, u64>,
    /// Tasks that were taken back from overdue launches.
    pub recalled_tasks: u64,
    /// Times that a device was quarantined.
    pub quarantines: u64,
}

/// The cost model, and what was wrong with its file.
type Model = (Arc<Costs>, Option<CostsWarning>);

impl Shared {
    pub(super) fn new(strategy: ExecutionStrategy, costs: OnceLock<Model>) -> Arc<Self> {
        Arc::new(Self {
            strategy: Mutex::new(strategy),
            costs,
            stats: Mutex::default(),
            capabilities: OnceLock::new(),
            chains: AtomicU64::new(0),
            energy: OnceLock::new(),
            prices: OnceLock::new(),
        })
    }

    /// Numbers the chain runs.
    pub(super) fn chain_number(&self, is_run: bool) -> u64 {
        self.chains.fetch_add(is_run.into(), Ordering::Relaxed)
    }

    /// Returns the energy measurements, by this meter or a new one: the first call waits while idle
    /// power is measured.
    pub(super) fn energy(&self, meter: Option<&Arc<EnergyMeter>>) -> &DeviceEnergy {
        let own = || Arc::new(EnergyMeter::start());
        let start = || DeviceEnergy::start(meter.cloned().unwrap_or_else(own));
        self.energy.get_or_init(start)
    }

    /// Returns the energy measurements; none before an objective counted energy.
    pub(super) fn measured_energy(&self) -> Option<&DeviceEnergy> {
        self.energy.get()
    }

    /// Returns the operator's prices, or what is wrong with their file; none if there are none.
    pub(super) fn prices(&self) -> Result<Option<&Prices>, Error> {
        let read = self.prices.get_or_init(ordered_prices);
        read.as_ref().map(Option::as_ref).map_err(Clone::clone)
    }

    /// Returns where measurements are kept: if there is a choice of devices, or a cost model was
    /// given.
    pub(super) fn costs(&self, cpu_only: bool) -> Option<&Arc<Costs>> {
        let keeps = !cpu_only || self.costs.get().is_some();
        keeps.then(|| &self.model(cpu_only).0)
    }

    pub(super) fn model(&self, cpu_only: bool) -> &Model {
        self.costs.get_or_init(|| {
            // Without a GPU nothing is decided, so nothing needs to be kept.
            if cpu_only {
                return (Arc::new(Costs::new()), None);
            }
            let (costs, warning) = Costs::open_default();
            if let Some(warning) = &warning {
                log::warn!("{warning}");
            }
            (Arc::new(costs), warning)
        })
    }
}

impl ManagerStats {
    /// Counts a batch that ended; up to `most_devices` devices are counted separately.
    pub(super) fn count(&mut self, ended: &Ended, most_devices: usize) {
        self.batches += 1;
        self.recalled_tasks += ended.recalled as u64;
        self.fallback_tasks += ended.fallen() as u64;
        for (kind, errors) in &ended.counts.kinds {
            *self.device_errors.entry(kind.clone()).or_default() += errors;
        }
        ended.add_tasks(&mut self.tasks, most_devices);
    }
}

/// Saves what was learned.
impl Drop for Shared {
    fn drop(&mut self) {
        if let Some((costs, _)) = self.costs.get() {
            saver::save_at_the_end(costs);
        }
    }
}
