//! What is known about one operation at one task size.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::counter::Counter;
use super::overlap::Overlap;
use super::part::Part;
use super::recent::Recent;
use super::shape::Remembered;
use super::ways::Ways;
use super::window::{Kind, ObservationRecord, Window};
use super::{Cost, GpuCosts, OperationCosts};
use crate::plan::Tuning;

/// Largest plausible factor by which devices hinder each other.
const MOST_HINDRANCE: f64 = 1e3;

/// Most GPUs remembered per operation.
const MOST_GPUS: usize = 16;

/// One operation at one task size: what the file has, and what only this process knows.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Group {
    pub(super) operation: Box<str>,
    /// Bits of the memory per task in bytes: class 11 is 1024 to 2047 bytes.
    pub(super) size_class: u8,
    #[serde(skip)]
    tuning: &'static Tuning,
    /// Total time spent running it, ns.
    #[serde(default, rename = "spent_ns")]
    spent: Counter,
    #[serde(default, rename = "since_cpu_ns")]
    cpu_part: Part,
    #[serde(default, rename = "since_hindrance_ns")]
    hindrance_part: Part,
    /// Slow-down of the CPU beside GPUs when it was last measured; none if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hindrance: Option<f64>,
    #[serde(default)]
    pub(super) cpu: Window,
    /// Power of the CPU above idle with all workers busy, W.
    #[serde(default, skip_serializing_if = "Recent::is_empty")]
    pub(super) cpu_watts: Recent,
    /// Fixed cost of a call of a function that takes several tasks, ns.
    #[serde(default, skip_serializing_if = "Recent::is_empty")]
    pub(super) call_ns: Recent,
    #[serde(default)]
    pub(super) gpus: Vec<Gpu>,
    #[serde(skip)]
    pub(super) shape: Remembered,
    /// Times of the last splits relative to their predictions, and the number of batches since
    /// then.
    #[serde(skip)]
    excess: VecDeque<f64>,
    #[serde(skip)]
    since_split: usize,
    #[serde(skip)]
    pub(super) ways: Ways,
}

/// Its observations on one GPU.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Gpu {
    #[serde(rename = "device")]
    pub(super) name: Box<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) driver: Option<Box<str>>,
    #[serde(default, rename = "since_ns")]
    part: Part,
    #[serde(default, rename = "fits", skip_serializing_if = "Option::is_none")]
    fit: Option<Fit>,
    #[serde(default, rename = "alone")]
    pub(super) launches: Window,
    #[serde(default, skip_serializing_if = "Overlap::is_empty")]
    pub(super) overlap: Overlap,
    /// Power above idle while it worked, W.
    #[serde(default, skip_serializing_if = "Recent::is_empty")]
    pub(super) watts: Recent,
}

/// The batch that fitted the GPU's memory after a larger one was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Fit {
    /// When it refused, µs since 1970.
    at_us: u64,
    /// Runs on the GPU since.
    runs: u64,
    /// Tasks that fitted.
    tasks: u64,
}

impl Group {
    pub(super) fn new(operation: &str, size_class: u8, tuning: &'static Tuning) -> Self {
        Self {
            operation: operation.into(),
            size_class,
            tuning,
            cpu: Window::new(Kind::Cpu, tuning),
            ..Self::default()
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
                absence: gpu
                    .map_or_else(|| Part::never(spent), |gpu| gpu.part)
                    .absence(),
                watts: gpu.and_then(|gpu| gpu.watts.middle()),
            }
        };
        OperationCosts {
            cpu,
            gpus: gpus.clone().map(known).collect(),
            cpu_absence: self.cpu_part.absence(),
            hindrance_absence: self.hindrance_part.absence(),
            shape: self.shape.expected(),
            split_excess: self.split_excess(),
            ways: self.ways.on(gpus),
            cpu_watts: self.cpu_watts.middle(),
            call_ns,
        }
    }

    /// Iterates over the names of the GPUs that it was observed on.
    pub(super) fn gpus(&self) -> impl Iterator<Item = &str> {
        let observed = self.gpus.iter().filter(|gpu| !gpu.launches.is_empty());
        observed.map(|gpu| &*gpu.name)
    }

    /// Iterates over the launch cost on each GPU, ns, if launches of two sizes showed it.
    pub(super) fn launches(&self) -> impl Iterator<Item = (&str, f64)> {
        self.gpus.iter().filter_map(|gpu| {
            let cost = gpu.launches.cost(1)?;
            (cost.is_fixed_known() && cost.fixed_ns > 0.0).then_some((&*gpu.name, cost.fixed_ns))
        })
    }

    /// Returns the GPU of that name, created if necessary. If there are too many, the one not
    /// observed for longest is dropped.
    pub(super) fn gpu(&mut self, name: &str, driver: Option<&str>) -> &mut Gpu {
        let found = self.gpus.iter().position(|gpu| *gpu.name == *name);
        let index = found.unwrap_or_else(|| {
            if self.gpus.len() == MOST_GPUS {
                let newest = |&index: &usize| self.gpus[index].launches.newest();
                let oldest = (0..MOST_GPUS).min_by_key(newest);
                self.gpus.remove(oldest.unwrap_or(0));
            }
            let mut gpu = Gpu::new(name, driver, self.tuning);
            gpu.part = Part::never(self.spent.value());
            gpu.launches.set_hindrance(self.hindrance.unwrap_or(1.0));
            self.gpus.push(gpu);
            self.gpus.len() - 1
        });
        &mut self.gpus[index]
    }

    pub(super) fn observe_cpu(&mut self, record: ObservationRecord) {
        self.cpu.push(record, self.cpu_part.was_left_out());
    }

    pub(super) fn observe_gpu(
        &mut self,
        name: &str,
        driver: Option<&str>,
        record: ObservationRecord,
    ) {
        let gpu = self.gpu(name, driver);
        gpu.launches.push(record, gpu.part.was_left_out());
    }

    /// Counts a run of `ns` in which these devices had a share.
    pub(super) fn spend<'g>(
        &mut self,
        ns: u64,
        cpu: bool,
        gpus: impl Iterator<Item = (&'g str, Option<&'g str>)>,
    ) {
        self.spent.add(ns);
        let parts = self.gpus.iter_mut().map(|gpu| &mut gpu.part);
        for part in parts.chain([&mut self.cpu_part, &mut self.hindrance_part]) {
            part.had_none(ns);
        }
        if cpu {
            self.cpu_part.had(ns);
        }
        for (name, driver) in gpus {
            let gpu = self.gpu(name, driver);
            gpu.part.had(ns);
            if let Some(fit) = &mut gpu.fit {
                // A step towards larger launches.
                fit.runs = fit.runs.saturating_add(1);
            }
        }
    }

    /// Returns the least slow-down of recent splits compared with their prediction.
    fn split_excess(&self) -> f64 {
        let least = self.excess.iter().copied().reduce(f64::min);
        let least = least.filter(|_| self.excess.len() >= self.tuning.slow_splits);
        least.map_or(1.0, |least| least.max(1.0))
    }

    /// Records the slow-down of a split compared with its prediction; none if the batch was no
    /// split.
    pub(super) fn note_excess(&mut self, times: Option<f64>) {
        match times {
            Some(times) => {
                self.since_split = 0;
                self.excess.truncate(self.tuning.slow_splits - 1);
                self.excess.push_front(times);
            }
            None => {
                self.since_split += 1;
                if self.since_split.is_multiple_of(self.tuning.slow_splits) {
                    self.excess.pop_back();
                }
            }
        }
    }

    /// Records the result of the last run, of `ns`, which measured how far the devices hinder each
    /// other.
    pub(super) fn note_hindrance(&mut self, ns: u64, times: Option<f64>) {
        self.hindrance_part.had(ns);
        if let Some(times) = times {
            self.set_hindrance(times);
        }
    }

    /// Sets the factor, limited to plausible values: a file may contain anything.
    fn set_hindrance(&mut self, times: f64) {
        let times = match times.is_nan() {
            true => 1.0,
            false => times.clamp(1.0, MOST_HINDRANCE),
        };
        self.hindrance = Some(times).filter(|times| *times > 1.0);
        self.cpu.set_hindrance(times);
        for gpu in &mut self.gpus {
            gpu.launches.set_hindrance(times);
        }
    }

    /// Drops observations with another driver of the GPU.
    pub(super) fn void_driver(&mut self, name: &str, driver: &str) {
        self.gpus
            .retain(|gpu| *gpu.name != *name || gpu.is_of_driver(driver));
        for gpu in self.gpus.iter_mut().filter(|gpu| *gpu.name == *name) {
            gpu.driver = Some(driver.into());
        }
    }

    /// Drops observations up to that time.
    pub(super) fn forget_until(&mut self, at_us: u64) {
        self.cpu.forget_until(at_us);
        for gpu in &mut self.gpus {
            gpu.launches.forget_until(at_us);
            gpu.fit = gpu.fit.filter(|fit| fit.at_us > at_us);
        }
    }

    /// Drops observations stamped later than that.
    pub fn drop_later(&mut self, at_us: u64) {
        let gpus = self.gpus.iter_mut().map(|gpu| {
            gpu.fit = gpu.fit.filter(|fit| fit.at_us <= at_us);
            &mut gpu.launches
        });
        for window in gpus.chain([&mut self.cpu]) {
            window.records.retain(|record| record.at_us <= at_us);
        }
    }

    /// Merges what the file knows.
    pub(super) fn join(&mut self, filed: Self) {
        let unfiled = self.spent.unfiled();
        self.spent.join(filed.spent.value());
        self.cpu_part.join(filed.cpu_part, unfiled);
        if self.hindrance_part.join(filed.hindrance_part, unfiled) {
            self.hindrance = filed.hindrance;
        }
        self.cpu.join(filed.cpu);
        self.cpu_watts.join(filed.cpu_watts);
        self.call_ns.join(filed.call_ns);
        // GPUs that the file does not know had no share there.
        for gpu in &mut self.gpus {
            if !filed.gpus.iter().any(|other| other.name == gpu.name) {
                gpu.part.join(Part::never(filed.spent.value()), unfiled);
            }
        }
        for gpu in filed.gpus {
            let own = self.gpu(&gpu.name, gpu.driver.as_deref());
            own.join(gpu, unfiled);
        }
        self.set_hindrance(self.hindrance.unwrap_or(1.0));
    }

    /// Records what was written to the file.
    pub(super) fn written(&mut self, saved: &Self) {
        self.spent.written(saved.spent);
        self.cpu.observed.written(saved.cpu.observed);
        for saved in &saved.gpus {
            let mut gpus = self.gpus.iter_mut();
            if let Some(gpu) = gpus.find(|gpu| gpu.name == saved.name) {
                gpu.launches.observed.written(saved.launches.observed);
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

    /// Returns false if it is known to have another driver.
    fn is_of_driver(&self, driver: &str) -> bool {
        self.driver.as_deref().is_none_or(|own| own == driver)
    }

    /// Returns the most tasks in a launch.
    fn fits(&self, tuning: &Tuning) -> Option<u64> {
        let fit = self.fit?;
        let doublings = fit.runs / tuning.runs_before_again;
        let doublings = u32::try_from(doublings).unwrap_or(u32::MAX);
        let larger = 1_u64.checked_shl(doublings).unwrap_or(u64::MAX);
        Some(fit.tasks.max(1).saturating_mul(larger))
    }

    /// Records that a larger launch was refused and one of `tasks` fitted.
    pub(super) fn remember_fit(&mut self, tasks: u64, at_us: u64) {
        self.fit = Some(Fit {
            at_us,
            runs: 0,
            tasks,
        });
    }

    fn join(&mut self, filed: Self, unfiled: u64) {
        self.part.join(filed.part, unfiled);
        let driver = filed.driver.as_deref();
        if driver.is_some_and(|driver| !self.is_of_driver(driver)) {
            // Both cannot be true of the machine; the newer one is.
            let stamps = filed.launches.records.iter().map(|record| record.at_us);
            if stamps.max() <= Some(self.launches.newest()) {
                return;
            }
            *self = Self {
                part: self.part,
                ..Self::new(&self.name, None, self.launches.tuning())
            };
        }
        self.driver = self.driver.take().or(filed.driver);
        self.fit = self.fit.max(filed.fit);
        self.launches.join(filed.launches);
        self.overlap.join(filed.overlap);
        self.watts.join(filed.watts);
    }
}
