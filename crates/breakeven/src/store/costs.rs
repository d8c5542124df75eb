//! The cost model as the threads of a process share it, and its file.

use std::hash::{BuildHasher, RandomState};
use std::mem::take;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant, SystemTime};

use breakeven_profile::profile::Peak;
use serde::{Deserialize, Serialize};

use crate::cache::{CacheFile, Cached, CostsWarning, MachineId};
use crate::error::Error;
use crate::hardware::DeviceId;
use crate::plan::{Forgotten, GpuSpec, Group, Model, Observation, OperationCosts, RanOn, micros};

/// Most machines kept; beyond, the one not used for longest is dropped.
const MOST_MACHINES: usize = 16;

/// Stamps later than now by more than this are wrong: they would never expire.
const CLOCK_DIFFERENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// The measured cost model, shared by threads.
///
/// Tasks of similar size are one: the key has the memory per task rounded down to a power of two.
/// For each operation, size and device 16 observations are kept (the newest, and an older one if it
/// alone shows the launch cost), and a line is fitted to them that outliers do not change. The
/// CPU's time per task is assumed to be inversely proportional to the workers: an observation with
/// 8 workers counts, times two, for 4, until the window is full of new ones.
///
/// 1024 pairs of operation and size are kept; beyond, the one not observed for longest is dropped.
/// 1024 bytes of a name are significant.
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
    model: RwLock<Model>,
    /// Its file, and the machine that it belongs to.
    pub(super) file: Option<(CacheFile<Machines>, MachineId)>,
    /// The peaks of this machine's devices; none before the first request.
    pub(super) peaks: Mutex<Option<Arc<[Peak]>>>,
    /// When a manager that ended last saved it.
    pub(super) flushed: Mutex<Option<Instant>>,
}

/// `costs.json`: the costs of all machines that share the directory, the last used one first. Each
/// process changes its own machine's and keeps the rest.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Machines {
    machines: Vec<Machine>,
}

/// What is known about one machine.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Machine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cpu: Option<String>,
    cores: usize,
    /// When it was last written, µs since 1970.
    #[serde(default)]
    saved_at_us: u64,
    #[serde(default)]
    forgotten: Vec<Forgotten>,
    #[serde(default)]
    operations: Vec<Group>,
}

impl Machines {
    /// Moves that machine's costs to the front; empty if it was not there.
    fn own(&mut self, id: &MachineId) -> &mut Machine {
        let is_own = |machine: &Machine| machine.cpu == id.cpu && machine.cores == id.cores;
        let new = || Machine {
            cpu: id.cpu.clone(),
            cores: id.cores,
            ..Machine::default()
        };
        let at = self.machines.iter().position(is_own);
        let own = at.map_or_else(new, |at| self.machines.remove(at));
        self.machines.insert(0, own);
        self.machines.truncate(MOST_MACHINES);
        &mut self.machines[0]
    }
}

impl Cached for Machines {
    const NAME: &str = "costs.json";
    const FORMAT: &str = "breakeven-costs";

    /// Drops what is stamped later than now.
    fn mend(&mut self) {
        let latest = micros(SystemTime::now() + CLOCK_DIFFERENCE);
        for machine in &mut self.machines {
            machine.forgotten.retain(|noted| noted.at_us <= latest);
            for operation in &mut machine.operations {
                operation.drop_later(latest);
            }
        }
    }
}

impl Costs {
    /// Creates an empty model in memory only.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the model that this user's processes share: `costs.json` in `$BREAKEVEN_CACHE_DIR`,
    /// else in `breakeven/` of the platform's cache directory. In memory only with
    /// `BREAKEVEN_CACHE=off` (or `0`, `false`, `no`) in the environment. Never fails; takes a few
    /// milliseconds.
    pub fn open_default() -> (Self, Option<CostsWarning>) {
        match CacheFile::open_default() {
            Ok(Some(file)) => Self::of(file, MachineId::detect()),
            Ok(None) => (Self::new(), None),
            Err(no_place) => (Self::new(), Some(no_place)),
        }
    }

    /// Opens the model in the file at `path`, which need not exist yet. Never fails: if a file
    /// cannot be read, the model is empty, and the warning says why.
    pub fn load(path: &Path) -> (Self, Option<CostsWarning>) {
        Self::of(CacheFile::at(path), MachineId::detect())
    }

    pub(super) fn of(
        file: CacheFile<Machines>,
        machine: MachineId,
    ) -> (Self, Option<CostsWarning>) {
        // A number that no other process is likely to have: the standard library seeds its maps
        // from the operating system.
        let writer = (RandomState::new().hash_one(std::process::id()) >> 32) as u32;
        let mut model = Model::of(writer);
        let read = file.read().map(|mut machines| {
            let own = machines.own(&machine);
            model.join(take(&mut own.operations), take(&mut own.forgotten));
        });
        let costs = Self {
            model: RwLock::new(model),
            file: Some((file, machine)),
            ..Self::default()
        };
        (costs, read.err())
    }

    /// Writes what was learned to the file, merged with what other processes wrote since it was
    /// read, and learns that too. For each operation, size and device 16 observations stay: the
    /// newest, and an older one if it alone shows the launch cost. Does nothing for a model in
    /// memory only, or if nothing is new.
    ///
    /// A damaged file is kept alongside the new one, as `costs.json.damaged-1` and so on.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::File`](crate::ErrorKind::File) if the file cannot be written or is of a newer
    /// version, or if other processes hold the lock for 5 s. The old file and the model are then
    /// unchanged: the next call may succeed.
    pub fn save(&self) -> Result<(), Error> {
        let Some((file, machine)) = self.file.as_ref().filter(|_| self.is_unsaved()) else {
            return Ok(());
        };
        let written = file.update(|machines| {
            let own = machines.own(machine);
            let (operations, forgotten) = (take(&mut own.operations), take(&mut own.forgotten));
            let snapshot = self.change(|model| model.join(operations, forgotten));
            own.saved_at_us = micros(SystemTime::now());
            own.operations.clone_from(&snapshot.operations);
            own.forgotten.clone_from(&snapshot.forgotten);
            snapshot
        })?;
        self.change(|model| model.written(&written));
        Ok(())
    }

    /// Returns true if a file keeps what is learned, false if it is in memory only.
    pub fn is_kept(&self) -> bool {
        self.file.is_some()
    }

    /// Returns what is known about an operation with this memory per task, on a CPU with that many
    /// workers and on those GPUs.
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

    /// Learns the time of a batch. Ignores a batch of no tasks, or of more than three months.
    pub fn observe(
        &self,
        operation: &str,
        memory_per_task: usize,
        on: RanOn<'_>,
        seen: &Observation,
    ) {
        self.change(|model| model.observe(operation, memory_per_task, on, seen));
    }

    /// States the driver of a GPU, with its version. Observations with another driver are void from
    /// then on, here and in the file.
    pub fn declare_driver(&self, gpu: &str, driver: &str) {
        self.change(|model| model.declare_driver(gpu, driver));
    }

    /// Forgets all sizes and devices of an operation, also in the file once it is saved, even if
    /// other processes still have them.
    pub fn forget(&self, operation: &str, now: SystemTime) {
        self.change(|model| model.forget(operation, now));
    }

    /// Returns the known operations, ordered by name.
    pub fn operations(&self) -> Vec<String> {
        self.read().operations()
    }

    /// Returns the known task sizes of an operation: the least memory per task of each, bytes, in
    /// ascending order.
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

    /// Returns the GPUs on which an operation was measured that no driver knows: the slots of
    /// `breakeven run`, and GPUs that a program named itself.
    pub fn slots(&self, operation: &str) -> Vec<GpuSpec> {
        let gpus = self.read().gpus(operation).into_iter();
        let slots = gpus.filter(|name| name.parse::<DeviceId>().is_err());
        slots.map(GpuSpec::named).collect()
    }

    /// Returns true if there are unsaved changes.
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
