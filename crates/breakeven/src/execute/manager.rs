//! The executor as a program uses it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use breakeven_profile::recorder;

use super::control::FallbackPolicy;
use super::executor::CpuExecutor;
use super::quarantine::FIRST_BACK_OFF;
use super::shared::{Config, ManagerStats, Shared};
use super::slot::GpuSlot;
use crate::cache::CostsWarning;
use crate::device::NoGpu;
use crate::error::Error;
use crate::hardware::sensors::EnergyMeter;
use crate::hardware::{Fact, HardwareCapabilities};
use crate::locked;
use crate::monitor::publish_if_asked;
use crate::plan::{
    ExecutionStrategy, Goal, GpuSpec, Objective, Power, Prices, ProfilingHeuristics, Resource,
};
use crate::store::Costs;

/// How long a launch may take unless another time is set.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// Runs batches where it pays: decides, runs, falls back, learns. Clones share everything that was
/// learned.
///
/// ```
/// use std::sync::Arc;
/// use breakeven::execute::{RayonCpu, StrategyManager};
///
/// let manager = StrategyManager::cpu_only(Arc::new(RayonCpu::current()));
/// let words = ["one", "three"];
/// let result = manager.operation("length").map(&words, |word| word.len())?;
/// assert_eq!(result.outputs, [3, 5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct StrategyManager<C, G = NoGpu> {
    pub(super) cpu: Arc<C>,
    pub(super) gpus: Vec<Arc<G>>,
    /// The state of each GPU.
    pub(super) slots: Vec<Arc<GpuSlot>>,
    pub(super) config: Config,
    pub(super) shared: Arc<Shared>,
}

impl<C: CpuExecutor> StrategyManager<C, NoGpu> {
    /// Creates a manager of the CPU's workers alone.
    pub fn cpu_only(cpu: Arc<C>) -> Self {
        Self::made(cpu)
    }
}

impl<C: CpuExecutor, G> StrategyManager<C, G> {
    /// Creates a manager of the CPU's workers and a GPU, which decides for each batch.
    ///
    /// The costs that it learns are kept in the cost model of this machine
    /// ([`Costs::open_default`]), unless [`with_costs`](Self::with_costs) sets another.
    pub fn new(cpu: Arc<C>, gpu: Arc<G>) -> Self {
        Self::made(cpu).with_gpu(gpu)
    }

    fn made(cpu: Arc<C>) -> Self {
        // Not during the first batch.
        recorder::prepare();
        publish_if_asked();
        Self {
            cpu,
            gpus: Vec::new(),
            slots: Vec::new(),
            config: Config {
                heuristics: ProfilingHeuristics::default(),
                policy: FallbackPolicy::Allow,
                timeout: Some(DEFAULT_TIMEOUT),
                back_off: FIRST_BACK_OFF,
                allows_software: false,
                objective: Objective::Time,
                prices: None,
                meter: None,
                cpu_power: Fact::Unknown,
            },
            shared: Shared::new(ExecutionStrategy::Auto, OnceLock::new()),
        }
    }

    /// Adds another GPU.
    #[must_use]
    pub fn with_gpu(mut self, gpu: Arc<G>) -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let nameless = format!("unnamed GPU {}", number + 1);
        self.gpus.push(gpu);
        self.slots.push(Arc::new(GpuSlot::new(nameless, None)));
        self
    }

    /// Sets the strategy.
    #[must_use]
    pub fn with_strategy(self, strategy: ExecutionStrategy) -> Self {
        self.set_strategy(strategy);
        self
    }

    /// Sets what Auto minimises; the default is time.
    #[must_use]
    pub fn with_objective(mut self, objective: Objective) -> Self {
        self.config.objective = objective;
        self
    }

    /// Sets the prices of its devices; the default is the file that
    /// [`PRICES_VARIABLE`](super::PRICES_VARIABLE) names.
    #[must_use]
    pub fn with_prices(mut self, prices: Arc<Prices>) -> Self {
        self.config.prices = Some(prices);
        self
    }

    /// States the CPU's power, instead of measuring it. A GPU's power is stated in its [`GpuSpec`].
    #[must_use]
    pub fn with_cpu_power(mut self, power: Power) -> Self {
        self.config.cpu_power = Fact::Known(power);
        self
    }

    /// Sets the meter for joules; by default one is started when an objective first counts energy.
    ///
    /// That batch waits while the idle power of the devices is measured: 0.2 s, or a second if a
    /// GPU's driver reports power. From then on counters are read between batches.
    #[must_use]
    pub fn with_energy_meter(mut self, meter: Arc<EnergyMeter>) -> Self {
        self.config.meter = Some(meter);
        self
    }

    /// Returns what Auto minimises, with the prices if it counts them.
    pub(super) fn goal(&self, objective: Objective) -> Result<Goal<'_>, Error> {
        let counts_cost = objective.resource() == Some(Resource::Cost);
        let prices = match &self.config.prices {
            Some(prices) => Some(&**prices),
            None if counts_cost => self.shared.prices()?,
            None => None,
        };
        Ok(Goal { objective, prices })
    }

    /// Sets the thresholds for batches without measurements.
    #[must_use]
    pub fn with_heuristics(mut self, heuristics: ProfilingHeuristics) -> Self {
        self.config.heuristics = heuristics;
        self
    }

    /// Sets the cost model.
    #[must_use]
    pub fn with_costs(mut self, costs: Arc<Costs>) -> Self {
        self.shared = Shared::new(self.strategy(), OnceLock::from((costs, None)));
        self
    }

    /// Sets the policy for tasks that fail on a GPU.
    #[must_use]
    pub fn with_fallback(mut self, policy: FallbackPolicy) -> Self {
        self.config.policy = policy;
        self
    }

    /// Limits the time of a launch, none for no limit; the default is 60 s. A launch that takes
    /// longer is abandoned, unless it is a closure, which blocks.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.config.timeout = timeout;
        self
    }

    /// Sets the first quarantine time of a device that failed; the default is one second. It
    /// doubles with each consecutive failure, up to five minutes.
    #[must_use]
    pub fn with_back_off(mut self, first: Duration) -> Self {
        self.config.back_off = first;
        self
    }

    /// Lets Auto use software GPUs too.
    #[must_use]
    pub fn allow_software_gpu(mut self) -> Self {
        self.config.allows_software = true;
        self
    }

    /// Describes the GPU that was added last, for executors that give no description.
    #[must_use]
    pub fn with_device(mut self, device: GpuSpec) -> Self {
        if let Some(slot) = self.slots.last_mut() {
            *slot = Arc::new(slot.described_as(device));
        }
        self
    }

    /// Returns the strategy.
    pub fn strategy(&self) -> ExecutionStrategy {
        *locked(&self.shared.strategy)
    }

    /// Sets another strategy for future batches, also of the clones.
    pub fn set_strategy(&self, strategy: ExecutionStrategy) {
        *locked(&self.shared.strategy) = strategy;
    }

    /// Returns this machine's capabilities, detected on the first call: see
    /// [`HardwareCapabilities::detect`] for the time that takes.
    pub fn capabilities(&self) -> &HardwareCapabilities {
        let capabilities = &self.shared.capabilities;
        capabilities.get_or_init(HardwareCapabilities::detect)
    }

    /// Returns the workers, and the GPUs in their order.
    pub(crate) fn devices(&self) -> (&C, impl Iterator<Item = &G>) {
        (&self.cpu, self.gpus.iter().map(|gpu| &**gpu))
    }

    /// Returns the cost model.
    pub fn costs(&self) -> &Arc<Costs> {
        &self.shared.model(self.gpus.is_empty()).0
    }

    /// Returns what was wrong with the cost model's file, if anything; the model then starts empty.
    pub fn costs_warning(&self) -> Option<&CostsWarning> {
        self.shared.model(self.gpus.is_empty()).1.as_ref()
    }

    /// Returns what was done so far.
    pub fn stats(&self) -> ManagerStats {
        locked(&self.shared.stats).clone()
    }
}

impl<C, G> Clone for StrategyManager<C, G> {
    fn clone(&self) -> Self {
        Self {
            cpu: Arc::clone(&self.cpu),
            gpus: self.gpus.clone(),
            slots: self.slots.clone(),
            config: self.config.clone(),
            shared: Arc::clone(&self.shared),
        }
    }
}
