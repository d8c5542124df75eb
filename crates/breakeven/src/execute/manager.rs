//! The executor as a program uses it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use breakeven_profile::recorder;
use serde::Serialize;

use super::batch::Batch;
use super::control::{FallbackPolicy, Unchecked};
use super::counts::Counts;
use super::executor::{CpuExecutor, GpuExecutor, NoGpu};
use super::quarantine::FIRST_BACK_OFF;
use super::result::{ExecuteError, ExecutionResult};
use super::slot::GpuSlot;
use crate::error::Error;
use crate::hardware::HardwareCapabilities;
use crate::locked;
use crate::plan::{Decision, ExecutionStrategy, GpuSpec, ProfilingHeuristics};
use crate::store::{Costs, CostsWarning, saver};
use crate::workload::WorkloadProfile;

/// How long a launch may take unless another time is set.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// How often what was learned is written to the cost model's file.
const SAVED_EVERY: Duration = Duration::from_secs(60);

/// For how long the last manager waits for what was learned to be saved.
const SAVED_WITHIN: Duration = Duration::from_millis(80);

/// Runs batches where it pays: decides, runs, falls back, learns. Clones share all that
/// was learned.
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
    /// What is kept of each.
    pub(super) slots: Vec<Arc<GpuSlot>>,
    pub(super) config: Config,
    pub(super) shared: Arc<Shared>,
}

/// What a manager was told.
#[derive(Debug, Clone)]
pub(super) struct Config {
    pub(super) heuristics: ProfilingHeuristics,
    pub(super) policy: FallbackPolicy,
    pub(super) timeout: Option<Duration>,
    pub(super) back_off: Duration,
    pub(super) allows_software: bool,
}

/// What a manager and its clones share.
#[derive(Debug)]
pub(super) struct Shared {
    strategy: Mutex<ExecutionStrategy>,
    costs: OnceLock<Model>,
    saved: Mutex<Instant>,
    stats: Mutex<ManagerStats>,
    capabilities: OnceLock<HardwareCapabilities>,
    chains: AtomicU64,
}

/// What a manager and its clones did so far.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct ManagerStats {
    /// Batches, those included that failed or were stopped.
    pub batches: u64,
    /// Tasks that each device did; the CPU is `cpu`.
    pub tasks: BTreeMap<String, u64>,
    /// Tasks that the CPU did in a GPU's place.
    pub fallback_tasks: u64,
    /// Device errors, by their kind.
    pub device_errors: BTreeMap<String, u64>,
    /// Tasks that were taken back from launches that lasted too long.
    pub recalled_tasks: u64,
    /// Times that a device was put into quarantine.
    pub quarantines: u64,
}

impl<C: CpuExecutor> StrategyManager<C, NoGpu> {
    /// A manager of the CPU's workers alone.
    pub fn cpu_only(cpu: Arc<C>) -> Self {
        Self::made(cpu)
    }
}

impl<C: CpuExecutor, G> StrategyManager<C, G> {
    /// A manager of the CPU's workers and a GPU, which decides for each batch.
    ///
    /// What it learns is kept in the cost model of this machine
    /// ([`Costs::open_default`]), unless [`with_costs`](Self::with_costs) gives another.
    pub fn new(cpu: Arc<C>, gpu: Arc<G>) -> Self {
        Self::made(cpu).with_gpu(gpu)
    }

    fn made(cpu: Arc<C>) -> Self {
        // Not in the first batch's time.
        recorder::prepare();
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
            },
            shared: Shared::new(ExecutionStrategy::Auto, OnceLock::new()),
        }
    }

    /// The same with another GPU beside those that it has.
    #[must_use]
    pub fn with_gpu(mut self, gpu: Arc<G>) -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let nameless = format!("the GPU without a name, number {number}");
        self.gpus.push(gpu);
        self.slots.push(Arc::new(GpuSlot::new(nameless, None)));
        self
    }

    /// The same with that strategy.
    #[must_use]
    pub fn with_strategy(self, strategy: ExecutionStrategy) -> Self {
        self.set_strategy(strategy);
        self
    }

    /// The same with those thresholds for when nothing was measured.
    #[must_use]
    pub fn with_heuristics(mut self, heuristics: ProfilingHeuristics) -> Self {
        self.config.heuristics = heuristics;
        self
    }

    /// The same with that cost model.
    #[must_use]
    pub fn with_costs(mut self, costs: Arc<Costs>) -> Self {
        self.shared = Shared::new(self.strategy(), OnceLock::from((costs, None)));
        self
    }

    /// The same with that policy for tasks that a GPU fails at.
    #[must_use]
    pub fn with_fallback(mut self, policy: FallbackPolicy) -> Self {
        self.config.policy = policy;
        self
    }

    /// The same with that much time for a launch, none for no limit; 60 s unless
    /// set. A launch that takes longer is given up.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.config.timeout = timeout;
        self
    }

    /// The same with that time for which a device that failed is left alone at
    /// first; one second unless set. It doubles with each failure in a row, up to
    /// five minutes.
    #[must_use]
    pub fn with_back_off(mut self, first: Duration) -> Self {
        self.config.back_off = first;
        self
    }

    /// The same, and Auto uses GPUs even if they are software.
    #[must_use]
    pub fn allow_software_gpu(mut self) -> Self {
        self.config.allows_software = true;
        self
    }

    /// The same with that description of the GPU that was added last, for executors that
    /// give none.
    #[must_use]
    pub fn with_device(mut self, device: GpuSpec) -> Self {
        if let Some(slot) = self.slots.last_mut() {
            *slot = Arc::new(slot.described_as(device));
        }
        self
    }

    /// The strategy that was set.
    pub fn strategy(&self) -> ExecutionStrategy {
        *locked(&self.shared.strategy)
    }

    /// Sets another strategy for the batches to come, of the clones too.
    pub fn set_strategy(&self, strategy: ExecutionStrategy) {
        *locked(&self.shared.strategy) = strategy;
    }

    /// This machine, looked at on the first call: see
    /// [`HardwareCapabilities::detect`] for what that takes.
    pub fn capabilities(&self) -> &HardwareCapabilities {
        let capabilities = &self.shared.capabilities;
        capabilities.get_or_init(HardwareCapabilities::detect)
    }

    /// The workers, and the GPUs in their order.
    pub(crate) fn devices(&self) -> (&C, impl Iterator<Item = &G>) {
        (&self.cpu, self.gpus.iter().map(|gpu| &**gpu))
    }

    /// The cost model.
    pub fn costs(&self) -> &Arc<Costs> {
        &self.shared.model(self.gpus.is_empty()).0
    }

    /// What was wrong with the cost model's file, if something was; nothing is
    /// known then, and everything is learned anew.
    pub fn costs_warning(&self) -> Option<&CostsWarning> {
        self.shared.model(self.gpus.is_empty()).1.as_ref()
    }

    /// What was done so far.
    pub fn stats(&self) -> ManagerStats {
        locked(&self.shared.stats).clone()
    }

    /// What would be done with a batch of that kind now, of an operation without a name
    /// of which nothing was measured: [`Batch::decide`] says more exactly what will be
    /// done with given tasks.
    ///
    /// # Errors
    ///
    /// As [`Batch::decide`].
    pub fn detect_strategy(&self, workload: &WorkloadProfile) -> Result<Box<Decision>, Error> {
        Batch::new(self, None).decide_for(workload)
    }

    /// A batch of the operation of that name: what was learned of one batch helps
    /// the next one of the same name.
    pub fn operation<'m>(&'m self, name: &'m str) -> Batch<'m, C, G, Unchecked> {
        Batch::new(self, Some(name))
    }

    /// Runs `process_fn` for every task; the operation's name is the function's type
    /// name: see [`Batch::execute`].
    ///
    /// # Errors
    ///
    /// As [`Batch::execute`].
    pub fn execute<I, T, E, F>(
        &self,
        tasks: impl AsRef<[I]>,
        process_fn: F,
    ) -> Result<ExecutionResult<T>, ExecuteError<E>>
    where
        I: Sync,
        T: Send,
        E: Send,
        F: Fn(&I) -> Result<T, E> + Sync,
        G: GpuExecutor<I, T>,
    {
        Batch::new(self, None).execute(tasks, process_fn)
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

/// The cost model, and what was wrong with its file.
type Model = (Arc<Costs>, Option<CostsWarning>);

impl Shared {
    fn new(strategy: ExecutionStrategy, costs: OnceLock<Model>) -> Arc<Self> {
        Arc::new(Self {
            strategy: Mutex::new(strategy),
            costs,
            saved: Mutex::new(Instant::now()),
            stats: Mutex::default(),
            capabilities: OnceLock::new(),
            chains: AtomicU64::new(0),
        })
    }

    /// Numbers the chains.
    pub(super) fn count_chain(&self) -> u64 {
        self.chains.fetch_add(1, Ordering::Relaxed)
    }

    /// Where what is measured is kept: where there is a choice, or where somebody gave a
    /// cost model to keep it in.
    pub(super) fn costs(&self, cpu_only: bool) -> Option<&Arc<Costs>> {
        let keeps = !cpu_only || self.costs.get().is_some();
        keeps.then(|| &self.model(cpu_only).0)
    }

    fn model(&self, cpu_only: bool) -> &Model {
        self.costs.get_or_init(|| {
            // Without a GPU nothing is decided, so nothing need be kept.
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

    /// Has what was learned written to the cost model's file: now and then, so that a
    /// program that is killed loses a minute's at most.
    pub(super) fn save_now_and_then(&self) {
        let mut saved = locked(&self.saved);
        if saved.elapsed() < SAVED_EVERY {
            return;
        }
        *saved = Instant::now();
        drop(saved);
        if let Some((costs, _)) = self.costs.get() {
            saver::save(costs);
        }
    }

    pub(super) fn count(&self, counts: &Counts, names: &[String], recalled: usize) {
        let mut stats = locked(&self.stats);
        stats.batches += 1;
        stats.recalled_tasks += recalled as u64;
        stats.fallback_tasks += counts.fallback.tasks as u64;
        for error in &counts.errors {
            let kind = error.kind.to_string();
            *stats.device_errors.entry(kind).or_default() += 1;
        }
        let gpus = counts.gpus.iter().zip(names);
        let gpus = gpus.map(|(gpu, name)| (name.as_str(), gpu.tasks));
        let all = gpus.chain([("cpu", counts.cpu.tasks)]);
        for (name, tasks) in all.filter(|(_, tasks)| *tasks > 0) {
            match stats.tasks.get_mut(name) {
                Some(count) => *count += tasks as u64,
                None => _ = stats.tasks.insert(name.to_owned(), tasks as u64),
            }
        }
    }

    pub(super) fn count_quarantine(&self) {
        locked(&self.stats).quarantines += 1;
    }
}

/// Keeps what was learned.
impl Drop for Shared {
    fn drop(&mut self) {
        if let Some((costs, _)) = self.costs.get() {
            saver::save_within(costs, SAVED_WITHIN);
        }
    }
}
