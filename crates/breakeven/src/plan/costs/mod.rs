//! The measured cost model: per operation, size of task and device, what a
//! batch costs, learned from the batches that ran.
//!
//! [`Costs`] is shared by the threads of a process, and through its file by the
//! processes of a machine ([`Costs::load`], [`Costs::save`]).
//!
//! | file | what |
//! |---|---|
//! | `cost` | what a lookup gives: a fixed cost and one per task |
//! | `line` | the robust line through a window of observations |
//! | `window` | the newest 16 observations of an operation on a device |
//! | `group` | one operation at one size of task: its devices, what fits, how long each was left alone |
//! | `model` | all of them, bounded; joining with what the file knows |
//! | `record` | the same as plain data |

mod cost;
#[cfg(test)]
mod costs_tests;
mod counter;
mod group;
#[cfg(test)]
mod launch_tests;
mod line;
#[cfg(test)]
mod line_tests;
mod model;
mod record;
mod shape;
mod window;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use breakeven_profile::profile::Peak;
use model::{Model, size_class};

pub use cost::{Cost, GpuCosts, OperationCosts};
pub(crate) use record::OperationRecord;
pub use shape::Shape;
pub(crate) use shape::{PLACES, PlaceWork, STEADY};

/// What a batch, or a part of it, took on a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// When it ended.
    pub at: SystemTime,
    /// Its tasks.
    pub tasks: u64,
    /// Wall-clock time, ns.
    pub ns: u64,
    /// Of it, moving data to the device and back, ns; none where it is not known apart.
    pub transfer_ns: Option<u64>,
    /// CPU workers at it; of no meaning on a GPU.
    pub workers: usize,
    /// Other devices worked at the same batch at the same time.
    pub shared: bool,
}

/// A batch of which the cost model learns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Learned<'l> {
    pub(crate) costs: &'l Costs,
    pub(crate) operation: &'l str,
    pub(crate) memory_per_task: usize,
    /// When it ended.
    pub(crate) at: SystemTime,
    pub(crate) workers: usize,
}

impl Learned<'_> {
    /// What so many tasks took there.
    pub(crate) fn observe(&self, on: RanOn<'_>, tasks: u64, ns: u64, shared: bool) {
        let seen = Observation {
            at: self.at,
            tasks,
            ns,
            transfer_ns: None,
            workers: self.workers,
            shared,
        };
        self.costs
            .observe(self.operation, self.memory_per_task, on, &seen);
    }
}

/// Where a batch ran. A GPU goes by its [`GpuSpec::name`](crate::plan::GpuSpec).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RanOn<'a> {
    /// On the CPU's workers.
    Cpu,
    /// On that GPU.
    Gpu(&'a str),
}

/// The measured cost model, shared by threads.
///
/// Tasks of like size are one: the key has the memory per task rounded down to
/// a power of two. Of each operation, size and device the newest 16
/// observations are kept and a line is drawn through them that strays do not
/// move. The CPU's time per task is taken to be inversely proportional to the
/// workers: what a pool of 8 was observed at holds for one of 4, times two,
/// until the window has been filled anew.
///
/// 1024 pairs of operation and size are kept; beyond, the one that was not
/// observed for longest goes. Of a name 1024 bytes count.
///
/// ```
/// use std::time::SystemTime;
/// use breakeven::plan::{Costs, Observation, RanOn};
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
    model: RwLock<Model>,
    file: Option<CostFile>,
    /// Of this machine's devices; none before they were looked for.
    peaks: Mutex<Option<Arc<[Peak]>>>,
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

/// The model at one moment, as plain data.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Snapshot {
    pub(crate) operations: Vec<OperationRecord>,
    /// Operations that were forgotten, and when, µs since 1970.
    pub(crate) forgotten: Vec<(String, u64)>,
    unsaved: u64,
}

impl Costs {
    /// A model that knows nothing and is in memory only.
    pub fn new() -> Self {
        Self::default()
    }

    /// One that is kept in a file. `writer` is a number that no other process has.
    pub(crate) fn kept(file: CostFile, writer: u32) -> Self {
        Self {
            model: RwLock::new(Model::of(writer)),
            file: Some(file),
            peaks: Mutex::default(),
        }
    }

    /// True where a file keeps what is learned, false in memory only.
    pub fn is_kept(&self) -> bool {
        self.file.is_some()
    }

    /// One in memory only that signs with that number.
    #[cfg(test)]
    fn kept_nowhere(writer: u32) -> Self {
        Self {
            model: RwLock::new(Model::of(writer)),
            file: None,
            peaks: Mutex::default(),
        }
    }

    pub(crate) fn peaks_slot(&self) -> MutexGuard<'_, Option<Arc<[Peak]>>> {
        self.peaks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn file(&self) -> Option<&CostFile> {
        self.file.as_ref()
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
        model.lookup(operation, size_class(memory_per_task), gpus, workers)
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
        let mut model = self.write();
        model.observe(operation, size_class(memory_per_task), on, seen);
    }

    /// Counts a run of so many ns, and who had a part in it: the CPU, GPUs.
    /// Time without a part is what earns a device its next chance
    /// ([`GpuCosts::since_ns`]).
    pub fn note_run(
        &self,
        operation: &str,
        memory_per_task: usize,
        ns: u64,
        cpu: bool,
        gpus: &[&str],
    ) {
        let mut model = self.write();
        model.note_run(operation, size_class(memory_per_task), ns, cpu, gpus);
    }

    /// Learns where in a batch its work lay ([`OperationCosts::shape`]), and how many times
    /// as long as predicted a split took, where it was one. In memory only.
    pub(crate) fn note_shape(
        &self,
        operation: &str,
        memory_per_task: usize,
        seen: &[Option<PlaceWork>; PLACES],
        excess: Option<f64>,
    ) {
        self.write()
            .note_shape(operation, size_class(memory_per_task), seen, excess);
    }

    /// The GPU's memory refused a launch and took one of so many tasks
    /// ([`GpuCosts::fits`]). After every 32 observed runs on the GPU twice
    /// as many may be tried again, for memory that others held may be free.
    pub fn remember_fit(
        &self,
        operation: &str,
        memory_per_task: usize,
        gpu: &str,
        tasks: u64,
        at: SystemTime,
    ) {
        let class = size_class(memory_per_task);
        let mut model = self.write();
        model.remember_fit(operation, class, gpu, tasks, micros(at));
    }

    /// States the driver of a GPU, with its version. What was observed with
    /// another one is void from then on, here and in the file.
    pub fn declare_driver(&self, gpu: &str, driver: &str) {
        self.write().declare_driver(gpu, driver);
    }

    /// Forgets all sizes and devices of an operation, also in the file once it
    /// is saved, whatever other processes still know of it.
    pub fn forget(&self, operation: &str, now: SystemTime) {
        self.write().forget(operation, micros(now));
    }

    /// The operations of which something is known, in the order of their names.
    pub fn operations(&self) -> Vec<String> {
        let model = self.read();
        let mut names: Vec<_> = model.operations().map(str::to_owned).collect();
        names.sort_unstable();
        names
    }

    /// The sizes of task of which something is known of an operation: the least
    /// memory per task of each, bytes, in their order.
    ///
    /// ```
    /// # use std::time::SystemTime;
    /// # use breakeven::plan::{Costs, Observation, RanOn};
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

    /// True where there is something that was not saved yet.
    pub(crate) fn is_unsaved(&self) -> bool {
        self.read().unsaved > 0
    }

    /// Takes in what a file knows, and gives all that is known then.
    pub(crate) fn join(
        &self,
        operations: Vec<OperationRecord>,
        forgotten: Vec<(String, u64)>,
    ) -> Snapshot {
        let mut model = self.write();
        model.join(operations, forgotten);
        let (operations, forgotten) = model.records();
        Snapshot {
            operations,
            forgotten,
            unsaved: model.unsaved,
        }
    }

    /// That snapshot was written to the file.
    pub(crate) fn written(&self, snapshot: &Snapshot) {
        let mut model = self.write();
        model.written(&snapshot.operations, snapshot.unsaved);
    }

    // A thread that panicked while it held the lock left at worst one
    // observation without its line.
    fn read(&self) -> RwLockReadGuard<'_, Model> {
        self.model.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Model> {
        self.model.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// µs since 1970; 0 before.
pub(crate) fn micros(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
