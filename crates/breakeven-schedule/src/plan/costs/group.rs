//! What is known of one operation at one size of task.

use std::collections::VecDeque;

use super::counter::Counter;
use super::overlap::Overlap;
use super::part::{Part, Parts};
use super::recent::Recent;
use super::record::{FitRecord, GpuRecord, ObservationRecord, OperationRecord};
use super::shape::Remembered;
use super::ways::Ways;
use super::window::{Kind, Window};
use super::{Cost, GpuCosts, OperationCosts};
use crate::plan::Tuning;

/// How far devices can hinder each other, as a multiple.
const MOST_HINDRANCE: f64 = 1e3;

/// GPUs that are kept of an operation.
const MOST_GPUS: usize = 16;

/// One operation at one size of task.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub(super) size_class: u8,
    tuning: &'static Tuning,
    pub(super) cpu: Window,
    pub(super) cpu_watts: Recent,
    /// What a call of a function that takes several tasks costs whatever it holds, ns.
    pub(super) call_ns: Recent,
    pub(super) shape: Remembered,
    /// Times of the last splits over what was predicted of them, and the batches since then.
    excess: VecDeque<f64>,
    since_split: u32,
    pub(super) ways: Ways,
    gpus: Vec<Gpu>,
    /// Time that was ever spent running it, ns.
    spent: Counter,
    cpu_part: Part,
    /// How many times as long the CPU took beside GPUs when a batch showed it last.
    hindrance: f64,
    hindrance_part: Part,
}

/// Its part on one GPU.
#[derive(Debug, Clone)]
pub(super) struct Gpu {
    name: Box<str>,
    driver: Option<Box<str>>,
    pub(super) launches: Window,
    pub(super) overlap: Overlap,
    pub(super) watts: Recent,
    fit: Option<FitRecord>,
    part: Part,
}

impl Group {
    pub(super) fn new(size_class: u8, tuning: &'static Tuning) -> Self {
        Self {
            size_class,
            tuning,
            cpu: Window::new(Kind::Cpu, tuning),
            cpu_watts: Recent::default(),
            call_ns: Recent::default(),
            shape: Remembered::default(),
            excess: VecDeque::new(),
            since_split: 0,
            ways: Ways::default(),
            gpus: Vec::new(),
            spent: Counter::default(),
            cpu_part: Part::default(),
            hindrance: 1.0,
            hindrance_part: Part::default(),
        }
    }

    /// When it was last observed, µs since 1970.
    pub(super) fn newest(&self) -> u64 {
        let gpus = self.gpus.iter().map(|gpu| gpu.launches.newest());
        gpus.fold(self.cpu.newest(), u64::max)
    }

    pub(super) fn is_empty(&self) -> bool {
        let is_empty = |gpu: &Gpu| gpu.launches.is_empty() && gpu.fit.is_none();
        self.cpu.is_empty() && self.gpus.iter().all(is_empty)
    }

    pub(super) fn costs<'g>(
        &self,
        gpus: impl Iterator<Item = &'g str> + Clone,
        workers: usize,
    ) -> OperationCosts {
        let tuning = self.tuning;
        let spent = self.spent.value();
        let call_ns = self.call_ns.middle();
        let cpu = self.cpu.cost(workers).map(|cost| Cost {
            fixed_ns: cost.fixed_ns + call_ns.unwrap_or(0.0),
            ..cost
        });
        let known = |name: &str| {
            let gpu = self.gpus.iter().find(|gpu| *gpu.name == *name);
            let cost = gpu.and_then(|gpu| gpu.launches.cost(workers));
            GpuCosts {
                cost: cost.map(|cost| cpu.map_or(cost, |cpu| cost.beside(&cpu, tuning))),
                fits: gpu.and_then(|gpu| gpu.fits(tuning)),
                piece_ns: gpu.and_then(|gpu| gpu.overlap.launch_ns(tuning)),
                bottleneck: gpu.and_then(|gpu| gpu.overlap.bottleneck(tuning)),
                launch_ns: None,
                // One that never had a part: all that was ever spent.
                absence: gpu.map_or(Part::default(), |gpu| gpu.part).absence(spent),
                watts: gpu.and_then(|gpu| gpu.watts.middle()),
            }
        };
        OperationCosts {
            cpu,
            gpus: gpus.clone().map(known).collect(),
            cpu_absence: self.cpu_part.absence(spent),
            hindrance_absence: self.hindrance_part.absence(spent),
            shape: self.shape.expected(),
            split_excess: self.split_excess(),
            ways: self.ways.on(gpus),
            cpu_watts: self.cpu_watts.middle(),
            call_ns,
        }
    }

    /// The names of the GPUs that it was observed on.
    pub(super) fn gpus(&self) -> impl Iterator<Item = &str> {
        let observed = self.gpus.iter().filter(|gpu| !gpu.launches.is_empty());
        observed.map(|gpu| &*gpu.name)
    }

    /// What a launch costs on each GPU where launches of two sizes told, ns.
    pub(super) fn launches(&self) -> impl Iterator<Item = (&str, f64)> {
        self.gpus.iter().filter_map(|gpu| {
            let cost = gpu.launches.cost(1)?;
            (cost.tells_fixed() && cost.fixed_ns > 0.0).then_some((&*gpu.name, cost.fixed_ns))
        })
    }

    /// The GPU of that name, made where there is none; of too many, the one that
    /// was not observed for longest goes.
    pub(super) fn gpu(&mut self, name: &str, driver: Option<&str>) -> &mut Gpu {
        let found = self.gpus.iter().position(|gpu| *gpu.name == *name);
        let index = found.unwrap_or_else(|| {
            if self.gpus.len() == MOST_GPUS {
                let newest = |&index: &usize| self.gpus[index].launches.newest();
                let oldest = (0..MOST_GPUS).min_by_key(newest);
                self.gpus.remove(oldest.unwrap_or(0));
            }
            let mut gpu = Gpu::new(name, driver, self.tuning);
            gpu.launches.set_hindrance(self.hindrance);
            self.gpus.push(gpu);
            self.gpus.len() - 1
        });
        &mut self.gpus[index]
    }

    pub(super) fn observe_cpu(&mut self, record: ObservationRecord) {
        let was_left_out = self.cpu_part.at < self.spent.value();
        self.cpu.push(record, was_left_out);
    }

    pub(super) fn observe_gpu(
        &mut self,
        name: &str,
        driver: Option<&str>,
        record: ObservationRecord,
    ) {
        let spent = self.spent.value();
        let gpu = self.gpu(name, driver);
        gpu.launches.push(record, gpu.part.at < spent);
    }

    /// Counts a run of so many ns, in which these had a part.
    pub(super) fn spend<'g>(
        &mut self,
        ns: u64,
        cpu: bool,
        gpus: impl Iterator<Item = (&'g str, Option<&'g str>)>,
    ) {
        let before = self.spent.value();
        self.spent.add(ns);
        let spent = self.spent.value();
        if cpu {
            self.cpu_part.had(before, spent);
        }
        for (name, driver) in gpus {
            let gpu = self.gpu(name, driver);
            gpu.part.had(before, spent);
            if let Some(fit) = &mut gpu.fit {
                // A step towards larger launches.
                fit.runs = fit.runs.saturating_add(1);
            }
        }
    }

    /// How many times as long as its devices' costs say a split lasts at the least.
    fn split_excess(&self) -> f64 {
        let least = self.excess.iter().copied().reduce(f64::min);
        let least = least.filter(|_| self.excess.len() >= self.tuning.slow_splits);
        least.map_or(1.0, |least| least.max(1.0))
    }

    /// A split took so many times what was predicted; none where the batch was no split.
    pub(super) fn note_excess(&mut self, times: Option<f64>) {
        match times {
            Some(times) => {
                self.since_split = 0;
                self.excess.truncate(self.tuning.slow_splits - 1);
                self.excess.push_front(times);
            }
            None => {
                self.since_split += 1;
                if self.since_split.is_multiple_of(self.tuning.forgotten_after) {
                    self.excess.pop_back();
                }
            }
        }
    }

    /// The last run, of so many ns, was to show how far the devices hinder each other.
    pub(super) fn note_hindrance(&mut self, ns: u64, times: Option<f64>) {
        let spent = self.spent.value();
        self.hindrance_part.had(spent.saturating_sub(ns), spent);
        if let Some(times) = times {
            self.set_hindrance(times);
        }
    }

    /// As far as it is plausible: a file may say anything.
    fn set_hindrance(&mut self, times: f64) {
        let times = match times.is_nan() {
            true => 1.0,
            false => times.clamp(1.0, MOST_HINDRANCE),
        };
        self.hindrance = times;
        self.cpu.set_hindrance(times);
        for gpu in &mut self.gpus {
            gpu.launches.set_hindrance(times);
        }
    }

    /// Drops what was observed with another driver of the GPU.
    pub(super) fn void_driver(&mut self, name: &str, driver: &str) {
        self.gpus
            .retain(|gpu| *gpu.name != *name || gpu.is_of_driver(driver));
        for gpu in self.gpus.iter_mut().filter(|gpu| *gpu.name == *name) {
            gpu.driver = Some(driver.into());
        }
    }

    /// Drops what was observed until then.
    pub(super) fn forget_until(&mut self, at_us: u64) {
        self.cpu.forget_until(at_us);
        for gpu in &mut self.gpus {
            gpu.launches.forget_until(at_us);
            gpu.fit = gpu.fit.filter(|fit| fit.at_us > at_us);
        }
    }

    /// Takes in what the file knows.
    pub(super) fn join(&mut self, record: OperationRecord) {
        let old = self.spent;
        self.spent.join(record.spent_ns);
        let parts = Parts {
            old,
            new: self.spent.value(),
            filed: record.spent_ns,
        };
        parts.join(&mut self.cpu_part, record.since_cpu_ns);
        if parts.join(&mut self.hindrance_part, record.since_hindrance_ns) {
            self.hindrance = record.hindrance.unwrap_or(1.0);
        }
        self.cpu.join(record.cpu);
        self.cpu_watts.join(record.cpu_watts);
        self.call_ns.join(record.call_ns);
        // GPUs of which the file knows nothing keep how long ago their part was.
        for gpu in &mut self.gpus {
            if !record.gpus.iter().any(|other| *other.device == *gpu.name) {
                parts.join(&mut gpu.part, record.spent_ns);
            }
        }
        for record in record.gpus {
            let gpu = self.gpu(&record.device, record.driver.as_deref());
            gpu.join(record, &parts);
        }
        self.set_hindrance(self.hindrance);
    }

    pub(super) fn record(&self, operation: &str) -> OperationRecord {
        let spent = self.spent.value();
        OperationRecord {
            operation: operation.to_owned(),
            size_class: self.size_class,
            spent_ns: spent,
            since_cpu_ns: spent.saturating_sub(self.cpu_part.at),
            since_hindrance_ns: spent.saturating_sub(self.hindrance_part.at),
            hindrance: Some(self.hindrance).filter(|times| *times > 1.0),
            cpu: self.cpu.record(),
            cpu_watts: self.cpu_watts.record(),
            call_ns: self.call_ns.record(),
            gpus: self.gpus.iter().map(|gpu| gpu.record(spent)).collect(),
        }
    }

    /// That record of it was written to the file.
    pub(super) fn written(&mut self, record: &OperationRecord) {
        self.spent.written(record.spent_ns);
        self.cpu.written(&record.cpu);
        for record in &record.gpus {
            let mut gpus = self.gpus.iter_mut();
            if let Some(gpu) = gpus.find(|gpu| *gpu.name == *record.device) {
                gpu.launches.written(&record.launches);
            }
        }
    }
}

impl Gpu {
    fn new(name: &str, driver: Option<&str>, tuning: &'static Tuning) -> Self {
        Self {
            name: name.into(),
            driver: driver.map(Into::into),
            launches: Window::new(Kind::Gpu, tuning),
            overlap: Overlap::default(),
            watts: Recent::default(),
            fit: None,
            part: Part::default(),
        }
    }

    /// False where it is known to be another one.
    fn is_of_driver(&self, driver: &str) -> bool {
        self.driver.as_deref().is_none_or(|own| own == driver)
    }

    /// Most tasks in a launch.
    fn fits(&self, tuning: &Tuning) -> Option<u64> {
        let fit = self.fit?;
        let doublings = fit.runs / tuning.runs_before_again;
        let doublings = u32::try_from(doublings).unwrap_or(u32::MAX);
        let larger = 1_u64.checked_shl(doublings).unwrap_or(u64::MAX);
        Some(fit.tasks.max(1).saturating_mul(larger))
    }

    /// A launch of more tasks was refused; so many were taken.
    pub(super) fn remember_fit(&mut self, tasks: u64, at_us: u64) {
        self.fit = Some(FitRecord {
            at_us,
            runs: 0,
            tasks,
        });
    }

    fn join(&mut self, record: GpuRecord, parts: &Parts) {
        parts.join(&mut self.part, record.since_ns);
        let driver = record.driver.as_deref();
        if driver.is_some_and(|driver| !self.is_of_driver(driver)) {
            // Both cannot be true of the machine; the newer one is.
            let filed = record.launches.observations.iter();
            if filed.map(|seen| seen.at_us).max() <= Some(self.launches.newest()) {
                return;
            }
            self.launches = Window::new(Kind::Gpu, self.launches.tuning());
            self.overlap = Overlap::default();
            self.watts = Recent::default();
            self.fit = None;
            self.driver = None;
        }
        self.driver = self.driver.take().or(record.driver.map(Into::into));
        self.fit = self.fit.max(record.fits);
        self.launches.join(record.launches);
        self.overlap.join(record.bottlenecks, record.piece_ns);
        self.watts.join(record.watts);
    }

    fn record(&self, spent: u64) -> GpuRecord {
        let (bottlenecks, piece_ns) = self.overlap.record();
        GpuRecord {
            device: self.name.to_string(),
            driver: self.driver.as_deref().map(Into::into),
            since_ns: spent.saturating_sub(self.part.at),
            fits: self.fit,
            launches: self.launches.record(),
            bottlenecks,
            piece_ns,
            watts: self.watts.record(),
        }
    }
}
