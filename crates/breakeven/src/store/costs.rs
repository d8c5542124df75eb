//! The cost model as the threads of a process share it, and where it is kept.

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

/// Machines that are kept; beyond, the one that was not used for longest goes.
const MOST_MACHINES: usize = 16;

/// Stamps that are later than now by more are wrong: they would never be old.
const CLOCK_DIFFERENCE: Duration = Duration::from_secs(24 * 60 * 60);

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
    model: RwLock<Model>,
    /// Where it is kept, and of which machine it is.
    pub(super) file: Option<(CacheFile<Machines>, MachineId)>,
    /// Of this machine's devices; none before they were asked for.
    pub(super) peaks: Mutex<Option<Arc<[Peak]>>>,
    /// When a manager that ended had it saved last.
    pub(super) flushed: Mutex<Option<Instant>>,
}

/// `costs.json`: the costs of all machines that share the directory, the last used one first.
/// Each process changes its own machine's and keeps the others.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Machines {
    machines: Vec<Machine>,
}

/// What is known on one machine.
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
    /// That machine's, put in front; empty if it was not there.
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
    /// A model that knows nothing and is in memory only.
    pub fn new() -> Self {
        Self::default()
    }

    /// The model that this user's processes share: `costs.json` in
    /// `$BREAKEVEN_CACHE_DIR`, else in `breakeven/` of the platform's cache
    /// directory. In memory only with `BREAKEVEN_CACHE=off` (or `0`, `false`,
    /// `no`) in the environment. Never fails; takes a few milliseconds.
    pub fn open_default() -> (Self, Option<CostsWarning>) {
        match CacheFile::open_default() {
            Ok(Some(file)) => Self::of(file, MachineId::detect()),
            Ok(None) => (Self::new(), None),
            Err(no_place) => (Self::new(), Some(no_place)),
        }
    }

    /// The model in the file at `path`, which need not exist yet. Never fails:
    /// of a file that cannot be read nothing is known, and the warning says why.
    pub fn load(path: &Path) -> (Self, Option<CostsWarning>) {
        Self::of(CacheFile::at(path), MachineId::detect())
    }

    pub(super) fn of(
        file: CacheFile<Machines>,
        machine: MachineId,
    ) -> (Self, Option<CostsWarning>) {
        // A number that no other process is likely to have: what the standard library seeds
        // its maps with comes from the operating system.
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

    /// Writes what was learned to the file, together with what other processes
    /// wrote since it was read, and learns that too. Of each operation, size and
    /// device 16 observations stay: the newest, and an older one where it alone tells what
    /// a launch costs. Does nothing for a model in memory only, or where nothing is new.
    ///
    /// A file that is damaged is kept beside the new one, as
    /// `costs.json.damaged-1` and so on.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::File`](crate::ErrorKind::File) where the file cannot be
    /// written or is of a newer version, or when other processes hold the lock
    /// for 5 s. The old file is then as it was, and so is the model: the next call
    /// may succeed.
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
