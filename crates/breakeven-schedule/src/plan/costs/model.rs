//! The model: operations by name, then by task size.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::OnceLock;
use std::time::SystemTime;

use smallvec::SmallVec;

use super::group::Group;
use super::window::ObservationRecord;
use super::{Forgotten, GpuCosts, Observation, OperationCosts, RanOn, Snapshot, micros};
use crate::plan::Tuning;

/// Most operations times sizes; beyond, the one not observed for longest is dropped.
pub(super) const MOST_GROUPS: usize = 1024;

/// Significant bytes of a name. Names that differ only after them are the same.
pub(super) const MOST_NAME: usize = 1024;

/// Most operations remembered as forgotten.
const MOST_FORGOTTEN: usize = 256;

/// The observations, and what follows from them.
#[derive(Debug, Clone, Default)]
pub struct Model {
    operations: HashMap<Box<str>, Vec<Group>>,
    groups: usize,
    /// Least cost of a launch on each GPU, ns, computed on first use.
    launches: OnceLock<BTreeMap<Box<str>, f64>>,
    /// Current drivers of the GPUs.
    drivers: HashMap<Box<str>, Box<str>>,
    /// Forgotten operations, and when, µs since 1970. Observations up to then stay out, even if
    /// another process still has them.
    forgotten: HashMap<Box<str>, u64>,
    /// Identifies this process in its observations.
    writer: u32,
    next_number: u32,
    /// Changes that the file does not have.
    pub unsaved: u64,
    /// Default, except in a bench.
    pub tuning: &'static Tuning,
}

/// Returns the bits of the memory per task.
pub(super) fn size_class(memory_per_task: usize) -> u8 {
    (usize::BITS - memory_per_task.leading_zeros()) as u8
}

/// Returns the least memory per task with that many bits.
fn least_of_class(size_class: u8) -> usize {
    match size_class.checked_sub(1) {
        None => 0,
        Some(shift) => 1_usize.checked_shl(shift.into()).unwrap_or(usize::MAX),
    }
}

/// Returns the significant bytes of a name.
pub(super) fn clipped(name: &str) -> &str {
    &name[..name.floor_char_boundary(MOST_NAME)]
}

impl Model {
    /// Creates an empty model, whose observations are signed with that number.
    pub fn of(writer: u32) -> Self {
        Self {
            writer,
            ..Self::default()
        }
    }

    /// Returns what is known about an operation on these GPUs and with that many workers, for tasks
    /// of `memory_per_task` bytes or of the nearest known size.
    pub fn lookup(
        &self,
        operation: &str,
        memory_per_task: usize,
        gpus: &[impl AsRef<str>],
        workers: usize,
    ) -> OperationCosts {
        let size_class = size_class(memory_per_task);
        let groups = self.operations.get(clipped(operation));
        let groups = groups.into_iter().flatten();
        let names = gpus.iter().map(|gpu| clipped(gpu.as_ref()));
        // An unknown size, or a device that is unknown at this size, is estimated by the nearest
        // size.
        let far = |group: &&Group| group.size_class.abs_diff(size_class);
        let like = groups.filter(|group| far(group) <= self.tuning.like_sizes);
        let mut like: SmallVec<[&Group; 4]> = like.collect();
        like.sort_by_key(far);
        let of = |group: &Group| {
            let costs = group.costs(names.clone(), workers.max(1));
            match i32::from(size_class) - i32::from(group.size_class) {
                0 => costs,
                doublings => costs.of_another_size(2_f64.powi(doublings)),
            }
        };
        let mut like = like.into_iter();
        let mut costs = like.next().map_or_else(
            || OperationCosts {
                gpus: vec![GpuCosts::default(); gpus.len()],
                ..OperationCosts::default()
            },
            of,
        );
        for group in like {
            if costs.knows_all() {
                break;
            }
            costs = costs.filled(&of(group));
        }
        for (known, gpu) in costs.gpus.iter_mut().zip(gpus) {
            if known.cost.is_none() {
                known.launch_ns = self.launch_ns(clipped(gpu.as_ref()));
            }
        }
        costs
    }

    /// Returns the least cost of a launch on that GPU over all operations, ns.
    fn launch_ns(&self, gpu: &str) -> Option<f64> {
        let launches = self.launches.get_or_init(|| {
            let groups = self.operations.values().flatten();
            let mut all = BTreeMap::new();
            for (gpu, ns) in groups.flat_map(Group::launches) {
                let least = all.entry(gpu.into()).or_insert(ns);
                *least = ns.min(*least);
            }
            all
        });
        launches.get(gpu).copied()
    }

    /// Returns the least memory per task of each known size of an operation.
    pub fn sizes(&self, operation: &str) -> Vec<usize> {
        let groups = self.operations.get(clipped(operation));
        let classes = groups.into_iter().flatten().map(|group| group.size_class);
        let mut sizes: Vec<usize> = classes.map(least_of_class).collect();
        sizes.sort_unstable();
        sizes
    }

    /// Returns the GPUs on which an operation was observed, ordered by name.
    pub fn gpus(&self, operation: &str) -> BTreeSet<String> {
        let groups = self.operations.get(clipped(operation));
        let names = groups.into_iter().flatten().flat_map(Group::gpus);
        names.map(str::to_owned).collect()
    }

    /// Records that a batch, or some of its tasks, ran there.
    pub fn observe(
        &mut self,
        operation: &str,
        memory_per_task: usize,
        on: RanOn<'_>,
        seen: &Observation,
    ) {
        self.observe_or_recall(operation, memory_per_task, on, seen, false);
    }

    /// As [`observe`](Self::observe); the time of a recalled launch is a lower bound.
    pub fn observe_or_recall(
        &mut self,
        operation: &str,
        memory_per_task: usize,
        on: RanOn<'_>,
        seen: &Observation,
        recalled: bool,
    ) {
        let size_class = size_class(memory_per_task);
        // The clock may have been set back since the operation was forgotten.
        let forgotten = self.forgotten.get(clipped(operation));
        let earliest = forgotten.map_or(0, |at_us| at_us.saturating_add(1));
        let record = ObservationRecord {
            at_us: micros(seen.at).max(earliest),
            writer: self.writer,
            number: self.next_number,
            tasks: seen.tasks,
            ns: seen.ns,
            workers: u32::try_from(seen.workers).unwrap_or(u32::MAX).max(1),
            transfer_ns: seen.transfer_ns,
            shared: seen.shared,
            recalled,
        };
        if !record.is_plausible() {
            return;
        }
        self.next_number = self.next_number.wrapping_add(1);
        self.unsaved += 1;
        self.with_group(operation, size_class, |group, drivers| match on {
            RanOn::Cpu => group.observe_cpu(record),
            RanOn::Gpu(name) => {
                let driver = driver_of(drivers, name);
                group.observe_gpu(clipped(name), driver, record);
            }
        });
    }

    /// Records that a larger launch was refused for lack of memory and one of `tasks` fitted.
    pub fn remember_fit(
        &mut self,
        operation: &str,
        memory_per_task: usize,
        gpu: &str,
        tasks: u64,
        at: SystemTime,
    ) {
        let (size_class, at_us) = (size_class(memory_per_task), micros(at));
        self.unsaved += 1;
        self.with_group(operation, size_class, |group, drivers| {
            let gpu = group.gpu(clipped(gpu), driver_of(drivers, gpu));
            gpu.remember_fit(tasks, at_us);
        });
    }

    /// Sets the GPU's current driver: observations with another one are void.
    pub fn declare_driver(&mut self, gpu: &str, driver: &str) {
        let (gpu, driver) = (clipped(gpu), clipped(driver));
        if driver_of(&self.drivers, gpu) == Some(driver) {
            return;
        }
        self.drivers.insert(gpu.into(), driver.into());
        self.launches.take();
        for group in self.operations.values_mut().flatten() {
            group.void_driver(gpu, driver);
        }
    }

    /// Forgets the observations of an operation up to now.
    pub fn forget(&mut self, operation: &str, now: SystemTime) {
        let at_us = micros(now);
        self.unsaved += 1;
        self.launches.take();
        let operation = clipped(operation);
        // Also observations of this process in the same microsecond.
        let groups = self.operations.remove(operation).unwrap_or_default();
        self.groups -= groups.len();
        let newest = groups.iter().map(Group::newest).fold(at_us, u64::max);
        self.note_forgotten(operation, newest);
    }

    /// Returns the operations, ordered by name.
    pub fn operations(&self) -> Vec<String> {
        let names = self.operations.keys().map(|name| name.to_string());
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        names
    }

    fn note_forgotten(&mut self, operation: &str, at_us: u64) {
        let noted = self.forgotten.entry(operation.into()).or_default();
        *noted = at_us.max(*noted);
        if self.forgotten.len() > MOST_FORGOTTEN {
            let oldest = self.forgotten.iter().min_by_key(|(_, at_us)| **at_us);
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                self.forgotten.remove(&oldest);
            }
        }
    }

    /// Calls `change` with the group, created if necessary.
    pub(super) fn with_group(
        &mut self,
        operation: &str,
        size_class: u8,
        change: impl FnOnce(&mut Group, &HashMap<Box<str>, Box<str>>),
    ) {
        let operation = clipped(operation);
        if !self.operations.contains_key(operation) {
            self.operations.insert(operation.into(), Vec::new());
        }
        let groups = self.operations.get_mut(operation);
        let groups = groups.expect("it was put in if it was not there");
        let is_it = |group: &Group| group.size_class == size_class;
        let found = groups.iter().position(is_it);
        let index = found.unwrap_or_else(|| {
            groups.push(Group::new(operation, size_class, self.tuning));
            groups.len() - 1
        });
        change(&mut groups[index], &self.drivers);
        if groups[index].launches().next().is_some() {
            self.launches.take();
        }
        if found.is_none() {
            self.groups += 1;
            self.drop_oldest();
        }
    }

    /// Drops groups until their number is within the limit.
    fn drop_oldest(&mut self) {
        let surplus = self.groups.saturating_sub(MOST_GROUPS);
        if surplus == 0 {
            return;
        }
        self.launches.take();
        let all = self.operations.values().flatten();
        let mut ages: Vec<u64> = all.map(Group::newest).collect();
        let (_, &mut newest_to_go, _) = ages.select_nth_unstable(surplus - 1);
        let mut to_go = surplus;
        self.operations.retain(|_, groups| {
            groups.retain(|group| {
                let goes = to_go > 0 && group.newest() <= newest_to_go;
                to_go -= usize::from(goes);
                !goes
            });
            !groups.is_empty()
        });
        self.groups -= surplus - to_go;
    }

    /// Merges what the file knows, and returns the result. Observations that both have count once.
    pub fn join(&mut self, filed: Vec<Group>, forgotten: Vec<Forgotten>) -> Snapshot {
        for Forgotten { operation, at_us } in forgotten {
            self.note_forgotten(clipped(&operation), at_us);
        }
        for mut filed in filed {
            for gpu in &mut filed.gpus {
                gpu.name = clipped(&gpu.name).into();
            }
            filed.gpus.retain(|gpu| {
                let here = driver_of(&self.drivers, &gpu.name);
                let there = gpu.driver.as_deref();
                here.is_none() || there.is_none() || here == there
            });
            let operation = filed.operation.clone();
            self.with_group(&operation, filed.size_class, |group, _| group.join(filed));
        }
        let forgotten = &self.forgotten;
        self.operations.retain(|name, groups| {
            if let Some(&at_us) = forgotten.get(name) {
                for group in groups.iter_mut() {
                    group.forget_until(at_us);
                }
                groups.retain(|group| !group.is_empty());
            }
            !groups.is_empty()
        });
        self.groups = self.operations.values().map(Vec::len).sum();
        self.launches.take();
        self.snapshot()
    }

    /// Returns everything as plain data, ordered by name.
    fn snapshot(&self) -> Snapshot {
        let mut operations: Vec<_> = self.operations.values().flatten().cloned().collect();
        operations.sort_by(|a, b| (&a.operation, a.size_class).cmp(&(&b.operation, b.size_class)));
        let forgotten = self.forgotten.iter();
        let forgotten = forgotten.map(|(name, &at_us)| Forgotten {
            operation: name.to_string(),
            at_us,
        });
        let mut forgotten: Vec<_> = forgotten.collect();
        forgotten.sort();
        Snapshot {
            operations,
            forgotten,
            unsaved: self.unsaved,
        }
    }

    /// Records that the snapshot was written to the file.
    pub fn written(&mut self, snapshot: &Snapshot) {
        self.unsaved = self.unsaved.saturating_sub(snapshot.unsaved);
        for saved in &snapshot.operations {
            let groups = self.operations.get_mut(&saved.operation);
            let groups = groups.into_iter().flatten();
            for group in groups.filter(|group| group.size_class == saved.size_class) {
                group.written(saved);
            }
        }
    }
}

pub(super) fn driver_of<'a>(
    drivers: &'a HashMap<Box<str>, Box<str>>,
    gpu: &str,
) -> Option<&'a str> {
    drivers.get(clipped(gpu)).map(|driver| &**driver)
}
