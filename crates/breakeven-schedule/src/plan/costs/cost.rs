//! The cost of an operation on a device, as far as it was measured.

use std::sync::Arc;

use serde::Serialize;

use super::{Shape, Ways};
use crate::plan::{Further, Tuning};
use crate::whole;

/// How good a prediction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// Nothing was measured: rates of the machine, or of the user's description.
    Heuristic,
    /// Measured at other sizes, or on each device separately.
    Fitted,
    /// Measured on this device at about this size.
    Measured,
}

/// Factor around the remembered sizes within which a prediction still counts as measured.
const MEASURED_WITHIN: u64 = 2;

/// Time of a batch on one device: `fixed + tasks × per_task`, in complete waves of tasks if the
/// device runs several at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Time that does not depend on the size (launch, synchronisation), ns.
    pub fixed_ns: f64,
    /// Time per task with all of the device's workers busy, transfers included, ns.
    pub per_task_ns: f64,
    /// Tasks that the device runs at once, each in `at_once × per_task_ns`: the workers of a CPU. 1
    /// for a GPU, whose lanes share each task.
    pub at_once: usize,
    /// Slow-down of a task while other devices work at the same batch; 1 if it is not known.
    pub beside: f64,
    /// Transfers to the device and back within it, ns; 0 if not known separately.
    pub transfer_ns: f64,
    /// Fewest tasks in a remembered observation.
    pub fewest: u64,
    /// Most tasks in a remembered observation.
    pub most: u64,
    /// Tasks of this size whose memory equals that of one observed task: 1 if those were of this
    /// size.
    pub scale: f64,
    /// The fixed time was stated, not observed.
    pub is_launch_stated: bool,
    /// All observed launches were taken back: the time is a lower bound.
    pub is_bound: bool,
    /// Observations ever made.
    pub observations: u64,
}

impl Cost {
    /// Predicts the time of a batch of `tasks` tasks, ns. A task is indivisible, so `n` tasks on
    /// `w` workers take ⌈n / w⌉ waves.
    pub fn predict_ns(&self, tasks: u64) -> f64 {
        let at_once = self.at_once.max(1) as u64;
        let whole = tasks.div_ceil(at_once).saturating_mul(at_once);
        self.fixed_ns + whole as f64 * self.per_task_ns
    }

    /// Converts to the cost on a device that takes at most `most` tasks in one launch: the launch
    /// cost becomes part of each task's time.
    fn in_launches_of(self, most: usize) -> Self {
        Self {
            fixed_ns: 0.0,
            per_task_ns: self.per_task_ns + self.fixed_ns / most.max(1) as f64,
            ..self
        }
    }

    /// Returns the number of tasks whose memory equals that of the largest observation.
    pub(crate) fn most_alike(&self) -> f64 {
        self.most as f64 * self.scale
    }

    /// Returns true if the fixed time is known separately from the time per task: it was stated, or
    /// observations of two sizes show it, one twice the other.
    pub(crate) fn is_fixed_known(&self) -> bool {
        self.is_launch_stated || sizes_differ(self.fewest, self.most)
    }

    /// Converts to tasks with `times` times the memory. The time per task grows with the memory;
    /// the fixed time does not, if it is known. If the launches were taken back before they ended,
    /// all of their time may grow.
    fn of_another_size(mut self, times: f64) -> Self {
        if self.is_bound {
            self.per_task_ns = self.predict_ns(self.most) / self.most as f64;
            self.fixed_ns = 0.0;
        }
        Self {
            per_task_ns: self.per_task_ns * times,
            transfer_ns: self.transfer_ns * times,
            scale: self.scale / times,
            observations: 1,
            ..self
        }
    }

    /// Corrects the cost of a GPU by that of the CPU. Launches of one size do not show the fixed
    /// time. So a task is assumed to take at most [`Tuning::most_off`] times as long as on one
    /// worker, or as long as the transfer of its data. The remaining time is the launch's.
    pub(super) fn beside(self, cpu: &Self, tuning: &Tuning) -> Self {
        if self.is_fixed_known() {
            return self;
        }
        let worker_ns = cpu.per_task_ns * cpu.at_once as f64;
        let slowest_ns = (tuning.most_off * worker_ns).max(self.transfer_ns);
        let per_task_ns = self.per_task_ns.min(slowest_ns);
        Self {
            fixed_ns: self.fixed_ns + self.most as f64 * (self.per_task_ns - per_task_ns),
            per_task_ns,
            ..self
        }
    }

    /// Sets the launch cost. The time that launches of one size took beyond it belongs to their
    /// tasks and transfers.
    fn with_launch(self, launch_ns: f64) -> Self {
        let tasks = self.most_alike();
        if self.is_fixed_known() || tasks == 0.0 {
            return self;
        }
        let took = self.fixed_ns + tasks * self.per_task_ns;
        let fixed_ns = launch_ns.min(took - tasks * self.transfer_ns);
        Self {
            fixed_ns,
            per_task_ns: ((took - fixed_ns) / tasks).max(self.transfer_ns),
            is_launch_stated: true,
            ..self
        }
    }

    /// Returns the evidence of a prediction. Measured if batches of about that size are remembered
    /// (from half the fewest tasks to twice the most); fitted elsewhere, and for tasks of another
    /// size; heuristic without observations.
    pub fn evidence(&self, tasks: u64) -> Evidence {
        if self.observations == 0 {
            return Evidence::Heuristic;
        }
        if self.scale != 1.0 {
            return Evidence::Fitted;
        }
        let least = self.fewest.div_ceil(MEASURED_WITHIN);
        let most = self.most.saturating_mul(MEASURED_WITHIN);
        match (least..=most).contains(&tasks) {
            true => Evidence::Measured,
            false => Evidence::Fitted,
        }
    }
}

/// Returns true if launches of these sizes show the fixed time: one has twice the tasks of the
/// other.
pub(super) fn sizes_differ(fewest: u64, most: u64) -> bool {
    most >= fewest.saturating_mul(2)
}

/// How long a device or a check had no share of an operation's batches.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Absence {
    /// Time spent running the operation since its last share, ns.
    pub since_ns: f64,
    /// Consecutive trials.
    pub tries: u32,
}

/// What is known about one operation at one task size.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OperationCosts {
    /// On the CPU's workers.
    pub cpu: Option<Cost>,
    /// On each GPU, in the order of the lookup.
    pub gpus: Vec<GpuCosts>,
    /// How long the CPU had no share.
    pub cpu_absence: Absence,
    /// How long ago a batch last measured how far the devices hinder each other.
    pub hindrance_absence: Absence,
    /// Where in a batch the work is expected, if a batch has shown it.
    pub shape: Option<Arc<Shape>>,
    /// Slow-down of splits compared with the prediction from their devices' costs.
    pub split_excess: f64,
    /// Times of the last batches that an objective chose.
    pub ways: Ways,
    /// Fixed cost of a call of a function that takes several tasks, ns per worker, if calls of two
    /// sizes showed it; it is included in the CPU's fixed time.
    pub call_ns: Option<f64>,
    /// Power of the CPU above idle while all workers are busy, W; none if it was not measured.
    pub cpu_watts: Option<f64>,
}

/// What is known about one operation at one task size on one GPU.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GpuCosts {
    /// Its cost there.
    pub cost: Option<Cost>,
    /// Most tasks in one launch that fitted the device's memory, after it refused more.
    pub fits: Option<u64>,
    /// Least cost of a launch, ns: as reported, or, if this operation was not measured, as other
    /// operations showed.
    pub launch_ns: Option<f64>,
    /// Cost of a further piece of a batch, ns, if pieces of two sizes showed it.
    pub piece_ns: Option<f64>,
    /// Fraction of a piece's work that each further piece adds if the device runs several in a row:
    /// 1/3 if upload, compute and download take equally long and overlap, 1 if nothing overlaps.
    /// None if it is not known.
    pub bottleneck: Option<f64>,
    /// How long the device had no share.
    pub absence: Absence,
    /// Power above idle while it works, including the CPU that feeds it, W; none if it was not
    /// measured.
    pub watts: Option<f64>,
}

impl GpuCosts {
    /// Returns the most tasks of a launch that its memory is known to hold.
    pub(crate) fn most_tasks(&self) -> usize {
        self.fits.map_or(usize::MAX, |fits| fits as usize)
    }

    /// Returns the cost of a further piece of a batch, if anything is known of the device.
    pub(crate) fn further(&self) -> Option<Further> {
        let cost = self.cost?;
        // A trial with two pieces finds an unknown cost.
        let launch_ns = if cost.is_fixed_known() {
            cost.fixed_ns
        } else {
            0.0
        };
        Some(Further {
            launch_ns: self.piece_ns.unwrap_or(launch_ns),
            is_measured: self.piece_ns.is_some(),
            bottleneck: self.bottleneck,
        })
    }
}

impl OperationCosts {
    /// Converts to several launches on a GPU that takes less than the batch in one launch.
    pub fn in_launches_of(mut self, most: impl Iterator<Item = usize>, tasks: usize) -> Self {
        for (gpu, most) in self.gpus.iter_mut().zip(most) {
            let fits = most.min(gpu.most_tasks());
            if fits < tasks {
                gpu.cost = gpu.cost.map(|cost| cost.in_launches_of(fits));
            }
        }
        self
    }

    /// Converts to tasks with `times` times the memory.
    pub(super) fn of_another_size(self, times: f64) -> Self {
        let scaled = |cost: Cost| cost.of_another_size(times);
        let fewer = |fits: u64| whole(fits as f64 / times).max(1) as u64;
        let gpus = self.gpus.iter().map(|gpu| GpuCosts {
            cost: gpu.cost.map(scaled),
            fits: gpu.fits.map(fewer),
            ..*gpu
        });
        Self {
            cpu: self.cpu.map(scaled),
            gpus: gpus.collect(),
            // The shape was not observed at this size either.
            shape: None,
            ..self
        }
    }

    /// Returns true if something is known of every device.
    pub(super) fn knows_all(&self) -> bool {
        self.cpu.is_some() && self.gpus.iter().all(|gpu| gpu.cost.is_some())
    }

    /// Fills in the costs of unknown devices from another size.
    pub(super) fn filled(mut self, others: &Self) -> Self {
        self.cpu = self.cpu.or(others.cpu);
        for (gpu, other) in self.gpus.iter_mut().zip(&others.gpus) {
            gpu.cost = gpu.cost.or(other.cost);
        }
        self
    }

    /// Fills in what is stated for everything that was not measured.
    pub fn or(mut self, stated: &Self) -> Self {
        for (gpu, stated) in self.gpus.iter_mut().zip(&stated.gpus) {
            if let Some(stated) = stated.cost.filter(|stated| stated.fixed_ns > 0.0) {
                gpu.cost = gpu.cost.map(|seen| seen.with_launch(stated.fixed_ns));
            }
        }
        self.filled(stated)
    }

    /// Sets the reported launch cost of each GPU, ns; `None` if the device reports none.
    pub fn with_reported_launches(
        mut self,
        launches: impl IntoIterator<Item = Option<f64>>,
    ) -> Self {
        for (gpu, launch_ns) in self.gpus.iter_mut().zip(launches) {
            if let Some(launch_ns) = launch_ns {
                gpu.launch_ns = Some(launch_ns);
                gpu.cost = gpu.cost.map(|cost| cost.with_launch(launch_ns));
            }
        }
        self
    }

    /// Returns what is known about the GPU at this index.
    pub fn gpu(&self, index: usize) -> GpuCosts {
        self.gpus.get(index).copied().unwrap_or_default()
    }
}
