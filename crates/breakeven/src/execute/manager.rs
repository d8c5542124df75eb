//! The executor as a program uses it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use breakeven_profile::recorder;

use super::batch::Batch;
use super::control::{FallbackPolicy, Unchecked};
use super::executor::{CpuExecutor, GpuExecutor, NoGpu};
use super::operator::ordered_strategy;
use super::quarantine::FIRST_BACK_OFF;
use super::result::{ExecuteError, ExecutionResult};
use crate::error::Error;
use crate::hardware::{Fact, GpuKind, HardwareCapabilities};
use crate::plan::{
    Basis, Costs, Decision, ExecutionStrategy, GpuSpec, Machine, OperationCosts,
    ProfilingHeuristics, decide_for,
};
use crate::store::CostsWarning;
use crate::workload::WorkloadProfile;

/// How long a launch may take unless another time is set.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// How often what was learned is written to the cost model's file.
const SAVED_EVERY: Duration = Duration::from_secs(60);

/// For how long the memory in use on a GPU is believed.
const MEMORY_KNOWN_FOR: Duration = Duration::from_millis(100);

/// Runs batches where it pays: decides, runs, falls back, learns.
///
/// ```
/// use std::sync::Arc;
/// use breakeven::execute::{RayonCpu, StrategyManager};
///
/// let manager = StrategyManager::cpu_only(Arc::new(RayonCpu::current()));
/// let words = ["one", "three"];
/// let result = manager
///     .operation("length")
///     .execute(&words, |word| Ok::<_, std::num::ParseIntError>(word.len()))?;
/// assert_eq!(result.outputs, [3, 5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct StrategyManager<C, G = NoGpu> {
    pub(super) cpu: Arc<C>,
    pub(super) gpu: Option<Arc<G>>,
    strategy: ExecutionStrategy,
    pub(super) heuristics: ProfilingHeuristics,
    pub(super) policy: FallbackPolicy,
    pub(super) timeout: Option<Duration>,
    pub(super) back_off: Duration,
    pub(super) allows_software: bool,
    device: Option<GpuSpec>,
    /// The device as its executor told of it.
    seen: OnceLock<GpuSpec>,
    costs: OnceLock<(Arc<Costs>, Option<CostsWarning>)>,
    saved: Mutex<Instant>,
    declared: Once,
    /// What the operator says, or what is wrong with it.
    operator: Option<Result<ExecutionStrategy, Error>>,
    capabilities: OnceLock<HardwareCapabilities>,
    memory_used: Mutex<Option<(Instant, Fact<u64>)>>,
    /// What a GPU without a name goes by in quarantine: nobody else's.
    nameless: String,
}

/// Managers that were made.
static MADE: AtomicU64 = AtomicU64::new(1);

impl<C: CpuExecutor> StrategyManager<C, NoGpu> {
    /// A manager of the CPU's workers alone.
    pub fn cpu_only(cpu: Arc<C>) -> Self {
        Self::made(cpu, None)
    }
}

impl<C: CpuExecutor, G> StrategyManager<C, G> {
    /// A manager of the CPU's workers and a GPU, which decides for each batch.
    ///
    /// What it learns is kept in the cost model of this machine
    /// ([`Costs::open_default`]), unless [`with_costs`](Self::with_costs) gives another.
    pub fn new(cpu: Arc<C>, gpu: Arc<G>) -> Self {
        Self::made(cpu, Some(gpu))
    }

    fn made(cpu: Arc<C>, gpu: Option<Arc<G>>) -> Self {
        // Not in the first batch's time.
        recorder::prepare();
        Self {
            cpu,
            gpu,
            strategy: ExecutionStrategy::Auto,
            heuristics: ProfilingHeuristics::default(),
            policy: FallbackPolicy::Allow,
            timeout: Some(DEFAULT_TIMEOUT),
            back_off: FIRST_BACK_OFF,
            allows_software: false,
            device: None,
            seen: OnceLock::new(),
            costs: OnceLock::new(),
            saved: Mutex::new(Instant::now()),
            declared: Once::new(),
            operator: ordered_strategy(),
            capabilities: OnceLock::new(),
            memory_used: Mutex::new(None),
            nameless: format!(
                "the GPU of manager {}",
                MADE.fetch_add(1, Ordering::Relaxed)
            ),
        }
    }

    /// The same with that strategy.
    #[must_use]
    pub fn with_strategy(mut self, strategy: ExecutionStrategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// The same with those thresholds for when nothing was measured.
    #[must_use]
    pub fn with_heuristics(mut self, heuristics: ProfilingHeuristics) -> Self {
        self.heuristics = heuristics;
        self
    }

    /// The same with that cost model.
    #[must_use]
    pub fn with_costs(mut self, costs: Arc<Costs>) -> Self {
        self.costs = OnceLock::from((costs, None));
        self
    }

    /// The same with that policy for tasks that the GPU fails at.
    #[must_use]
    pub fn with_fallback(mut self, policy: FallbackPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// The same with that much time for a launch, none for no limit; 60 s unless
    /// set. A launch that takes longer is given up.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.timeout = timeout;
        self
    }

    /// The same with that time for which a device that failed is left alone at
    /// first; one second unless set. It doubles with each failure in a row, up to
    /// five minutes.
    #[must_use]
    pub fn with_back_off(mut self, first: Duration) -> Self {
        self.back_off = first;
        self
    }

    /// The same, and Auto uses the GPU even if it is software.
    #[must_use]
    pub fn allow_software_gpu(mut self) -> Self {
        self.allows_software = true;
        self
    }

    /// The same with that description of the GPU, for executors that give none.
    #[must_use]
    pub fn with_device(mut self, device: GpuSpec) -> Self {
        self.device = Some(device);
        self
    }

    /// The strategy that was set.
    pub fn strategy(&self) -> ExecutionStrategy {
        self.strategy
    }

    /// Sets another strategy for the batches to come.
    pub fn set_strategy(&mut self, strategy: ExecutionStrategy) {
        self.strategy = strategy;
    }

    /// This machine, looked at on the first call: see
    /// [`HardwareCapabilities::detect`] for what that takes.
    pub fn capabilities(&self) -> &HardwareCapabilities {
        self.capabilities.get_or_init(HardwareCapabilities::detect)
    }

    /// The cost model.
    pub fn costs(&self) -> &Arc<Costs> {
        &self.model().0
    }

    /// What was wrong with the cost model's file, if something was; nothing is
    /// known then, and everything is learned anew.
    pub fn costs_warning(&self) -> Option<&CostsWarning> {
        self.model().1.as_ref()
    }

    /// True where what is measured is kept: where there is a choice, or where
    /// somebody gave a cost model to keep it in.
    pub(super) fn learns(&self) -> bool {
        self.gpu.is_some() || self.costs.get().is_some()
    }

    fn model(&self) -> &(Arc<Costs>, Option<CostsWarning>) {
        self.costs.get_or_init(|| {
            // Without a GPU nothing is decided, so nothing need be kept.
            if self.gpu.is_none() {
                return (Arc::new(Costs::new()), None);
            }
            let (costs, warning) = Costs::open_default();
            if let Some(warning) = &warning {
                log::warn!("{warning}");
            }
            (Arc::new(costs), warning)
        })
    }

    /// Writes what was learned to the cost model's file: now and then, so that a
    /// program that is killed loses a minute's at most.
    pub(super) fn save_now_and_then(&self) {
        // One thread does; the others need not wait for the file.
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = saved.elapsed() >= SAVED_EVERY;
        if is_due {
            *saved = Instant::now();
        }
        drop(saved);
        if is_due {
            self.save();
        }
    }

    /// States the GPU's driver, once.
    pub(super) fn declare_driver(&self, device: &GpuSpec) {
        self.declared.call_once(|| {
            if let Some(driver) = device.driver.known() {
                self.costs().declare_driver(&device.name, driver);
            }
        });
    }

    /// What would be done with a batch of which nothing was measured: by the
    /// strategy that was set, or the operator's. The GPU is the one that
    /// [`with_device`](Self::with_device) described, else the one that the
    /// executor told of in a batch before.
    ///
    /// # Errors
    ///
    /// As [`decide_for`].
    pub fn detect_strategy(&self, workload: &WorkloadProfile) -> Result<Decision, Error> {
        let device = self.device.as_ref().or(self.seen.get());
        let machine = self.machine(device, Fact::Unknown);
        let (strategy, basis) = self.asked()?;
        let costs = OperationCosts::default();
        decide_for(
            strategy,
            basis,
            workload,
            &machine,
            &self.heuristics,
            &costs,
        )
    }

    /// Keeps what the executor says of its device.
    pub(super) fn saw_device(&self, device: &GpuSpec) {
        self.seen.get_or_init(|| device.clone());
    }

    /// A batch of the operation of that name: what was learned of one batch helps
    /// the next one of the same name.
    pub fn operation<'m>(&'m self, name: &'m str) -> Batch<'m, C, G, Unchecked> {
        Batch::new(self, Some(name))
    }

    /// Runs `process_fn` for every task, by the type name of which the
    /// operation goes: see [`Batch::execute`].
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

    /// The machine that a decision is made for.
    pub(super) fn machine(&self, device: Option<&GpuSpec>, memory_used: Fact<u64>) -> Machine {
        let workers = self.cpu.workers().max(1);
        let mut gpu = match (&self.gpu, device.or(self.device.as_ref())) {
            (None, _) => None,
            (Some(_), Some(device)) => Some(device.clone()),
            (Some(_), None) => Some(GpuSpec::named("gpu")),
        };
        if let Some(gpu) = &mut gpu {
            gpu.memory_used_bytes = memory_used.or(gpu.memory_used_bytes);
        }
        let usable = |gpu: &GpuSpec| gpu.kind != GpuKind::Software || self.allows_software;
        Machine {
            cores: workers,
            memory_bytes: Fact::Unknown,
            gpus: gpu.filter(usable).into_iter().collect(),
        }
    }

    /// What the GPU goes by in profiles and in the cost model.
    pub(super) fn device_name<'n>(&'n self, device: Option<&'n GpuSpec>) -> &'n str {
        device
            .or(self.device.as_ref())
            .map_or("gpu", |device| &device.name)
    }

    /// What the GPU goes by in quarantine: its name, by which all managers of the
    /// process know it, or, without one, a name that only this manager has.
    pub(super) fn quarantine_key<'n>(&'n self, device: Option<&'n GpuSpec>) -> &'n str {
        device
            .or(self.device.as_ref())
            .map_or(&self.nameless, |device| &device.name)
    }

    /// The GPU as [`with_device`](Self::with_device) described it.
    pub(super) fn described(&self) -> Option<&GpuSpec> {
        self.device.as_ref()
    }

    /// Memory in use on the GPU: asked ten times a second at most.
    pub(super) fn memory_used<I, T>(&self, gpu: &G) -> Fact<u64>
    where
        G: GpuExecutor<I, T>,
    {
        let mut known = self
            .memory_used
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match *known {
            Some((at, used)) if at.elapsed() < MEMORY_KNOWN_FOR => used,
            _ => {
                let used = gpu.memory_used();
                *known = Some((Instant::now(), used));
                used
            }
        }
    }

    /// The strategy for a batch: the operator's before Auto.
    pub(super) fn asked(&self) -> Result<(ExecutionStrategy, Basis), Error> {
        match &self.operator {
            Some(operator) if self.strategy == ExecutionStrategy::Auto => {
                operator.clone().map(|strategy| (strategy, Basis::Operator))
            }
            _ => Ok((self.strategy, Basis::Asked)),
        }
    }
}

impl<C, G> StrategyManager<C, G> {
    fn save(&self) {
        let saved = self.costs.get().map_or(Ok(()), |(costs, _)| costs.save());
        if let Err(error) = saved {
            log::warn!("what was learned was not kept: {error}");
        }
    }
}

/// Keeps what was learned.
impl<C, G> Drop for StrategyManager<C, G> {
    fn drop(&mut self) {
        self.save();
    }
}
