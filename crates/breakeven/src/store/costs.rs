//! The cost model as the threads of a process share it, and where it is kept.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::SystemTime;

use breakeven_profile::profile::Peak;

use crate::hardware::DeviceId;
use crate::plan::costs::Model;
use crate::plan::{GpuSpec, Observation, OperationCosts, RanOn};

/// The measured cost model, shared by threads.
///
/// Tasks of like size are one: the key has the memory per task rounded down to
/// a power of two. Of each operation, size and device 16 observations are kept (the
/// newest, and an older one where it alone tells what a launch costs), and a line is
/// drawn through them that strays do not move. The CPU's time per task is taken to be inversely proportional to the
/// workers: what a pool of 8 was observed at holds for one of 4, times two,
/// until the window has been filled anew.
///
/// 1024 pairs of operation and size are kept; beyond, the one that was not
/// observed for longest goes. Of a name 1024 bytes count.
///
/// ```
/// use std::time::SystemTime;
/// use breakeven::Costs;
/// use breakeven::plan::{Observation, RanOn};
///
/// let costs = Costs::new();
/// for tasks in [100, 200, 400] {
///     let seen = Observation {
///         at: SystemTime::now(),
///         tasks,
///         ns: 5_000 + 30 * tasks,
///         transfer_ns: None,
///         workers: 1,
///         shared: false,
///     };
///     costs.observe("blur", 4096, RanOn::Gpu("cuda:h100"), &seen);
/// }
/// let known = costs.lookup("blur", 4096, &["cuda:h100"], 1);
/// let gpu = known.gpu(0).cost.expect("it was observed");
/// assert!((gpu.predict_ns(300) / 14_000.0 - 1.0).abs() < 0.01);
/// assert!(known.cpu.is_none());
/// ```
#[derive(Debug, Default)]
pub struct Costs {
    pub(super) model: RwLock<Model>,
    pub(super) file: Option<CostFile>,
    /// Of this machine's devices; none before they were looked for.
    pub(super) peaks: Mutex<Option<Arc<[Peak]>>>,
}

/// Where a model is kept, and of which machine it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CostFile {
    pub(crate) path: PathBuf,
    pub(crate) machine: MachineId,
}

/// What tells machines apart without their names: costs of one are void on another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct MachineId {
    /// Model of its processor; none where it does not tell.
    pub(crate) cpu: Option<String>,
    /// Its logical cores.
    pub(crate) cores: usize,
}

impl Costs {
    /// A model that knows nothing and is in memory only.
    pub fn new() -> Self {
        Self::default()
    }

    /// True where a file keeps what is learned, false in memory only.
    pub fn is_kept(&self) -> bool {
        self.file.is_some()
    }

    /// What is known of an operation whose tasks take so much memory, on a CPU
    /// with so many workers and on those GPUs.
    pub fn lookup(
        &self,
        operation: &str,
        memory_per_task: usize,
        gpus: &[impl AsRef<str>],
        workers: usize,
    ) -> OperationCosts {
        let model = self.read();
        model.lookup(operation, memory_per_task, gpus, workers)
    }

    /// Learns what a batch took. One of no tasks, or of more than three months,
    /// teaches nothing.
    pub fn observe(
        &self,
        operation: &str,
        memory_per_task: usize,
        on: RanOn<'_>,
        seen: &Observation,
    ) {
        self.change(|model| model.observe(operation, memory_per_task, on, seen));
    }

    /// States the driver of a GPU, with its version. What was observed with
    /// another one is void from then on, here and in the file.
    pub fn declare_driver(&self, gpu: &str, driver: &str) {
        self.change(|model| model.declare_driver(gpu, driver));
    }

    /// Forgets all sizes and devices of an operation, also in the file once it
    /// is saved, whatever other processes still know of it.
    pub fn forget(&self, operation: &str, now: SystemTime) {
        self.change(|model| model.forget(operation, now));
    }

    /// The operations of which something is known, in the order of their names.
    pub fn operations(&self) -> Vec<String> {
        self.read().operations()
    }

    /// The sizes of task of which something is known of an operation: the least
    /// memory per task of each, bytes, in their order.
    ///
    /// ```
    /// # use std::time::SystemTime;
    /// # use breakeven::{Costs, plan::{Observation, RanOn}};
    /// # let (at, transfer_ns) = (SystemTime::now(), None);
    /// # let seen = Observation { at, tasks: 1, ns: 1, transfer_ns, workers: 1, shared: false };
    /// let costs = Costs::new();
    /// for bytes in [5_000, 0, 4_096, 1] {
    ///     costs.observe("blur", bytes, RanOn::Cpu, &seen);
    /// }
    /// assert_eq!(costs.sizes("blur"), [0, 1, 4_096]);
    /// ```
    pub fn sizes(&self, operation: &str) -> Vec<usize> {
        self.read().sizes(operation)
    }

    /// The GPUs on which an operation was measured that no driver knows: the slots of
    /// `breakeven run`, and those to which a program gave a name of its own.
    pub fn slots(&self, operation: &str) -> Vec<GpuSpec> {
        let gpus = self.read().gpus(operation).into_iter();
        let slots = gpus.filter(|name| name.parse::<DeviceId>().is_err());
        slots.map(GpuSpec::named).collect()
    }

    /// True where there is something that was not saved yet.
    pub(crate) fn is_unsaved(&self) -> bool {
        self.read().unsaved > 0
    }

    /// Changes the model as one step.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut Model) -> R) -> R {
        change(&mut self.model.write().unwrap_or_else(PoisonError::into_inner))
    }

    // A thread that panicked while it held the lock left at worst one
    // observation without its line.
    fn read(&self) -> RwLockReadGuard<'_, Model> {
        self.model.read().unwrap_or_else(PoisonError::into_inner)
    }
}
