//! What running an operation costs on a device, as far as it was measured.

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
    /// Measured at other sizes, or on each device apart.
    Fitted,
    /// Measured on this device at about this size.
    Measured,
}

/// How far beside the remembered sizes a prediction still counts as measured.
const MEASURED_WITHIN: u64 = 2;

/// Time of a batch on one device: `fixed + tasks × per_task`, in whole waves of tasks
/// where the device does several at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Whatever the size: launch, synchronisation, ns.
    pub fixed_ns: f64,
    /// Per task, with all of the device's workers at it, transfers included, ns.
    pub per_task_ns: f64,
    /// Tasks that the device does at once, each in `at_once × per_task_ns`: the workers of
    /// a CPU. 1 for a GPU, whose lanes share a task as well.
    pub at_once: usize,
    /// How many times as long a task takes while other devices work at the same batch;
    /// 1 where that is not known.
    pub beside: f64,
    /// Of it, moving data to the device and back, ns; 0 where it is not known apart.
    pub transfer_ns: f64,
    /// Fewest tasks in an observation that is remembered.
    pub fewest: u64,
    /// Most tasks in an observation that is remembered.
    pub most: u64,
    /// Tasks that have the memory of one that was observed: 1 where those were of this size.
    pub scale: f64,
    /// What is fixed was told, and is no observation.
    pub is_launch_told: bool,
    /// All launches that were observed were taken back: it takes that at the least.
    pub is_bound: bool,
    /// Observations that were ever made.
    pub observations: u64,
}

impl Cost {
    /// Time of a batch of so many tasks, ns: a task is indivisible, so `n` tasks on `w`
    /// workers take ⌈n / w⌉ waves.
    pub fn predict_ns(&self, tasks: u64) -> f64 {
        let at_once = self.at_once.max(1) as u64;
        let whole = tasks.div_ceil(at_once).saturating_mul(at_once);
        self.fixed_ns + whole as f64 * self.per_task_ns
    }

    /// The same of a device that takes at most so many tasks in one launch: what a launch
    /// costs is a part of each task's time.
    fn in_launches_of(self, most: usize) -> Self {
        Self {
            fixed_ns: 0.0,
            per_task_ns: self.per_task_ns + self.fixed_ns / most.max(1) as f64,
            ..self
        }
    }

    /// Tasks with the memory of the most in an observation.
    pub(crate) fn most_alike(&self) -> f64 {
        self.most as f64 * self.scale
    }

    /// True where the fixed time is told from the tasks': by somebody, or by observations of
    /// two sizes, one twice the other.
    pub(crate) fn tells_fixed(&self) -> bool {
        self.is_launch_told || tell_fixed(self.fewest, self.most)
    }

    /// What is to be expected of tasks of so many times the memory: what grows with the
    /// tasks grows with it, and what is fixed does not, where it is known what that is. Of a
    /// time that was never waited for all may grow.
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

    /// The same of a GPU beside that CPU. Launches of one size do not tell what is fixed: a task
    /// is taken to last no more than [`Tuning::most_off`] times as long there as on one
    /// worker, or than its data took to move, and what they took beyond is the launch's.
    pub(super) fn beside(self, cpu: &Self, tuning: &Tuning) -> Self {
        if self.tells_fixed() {
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

    /// The same where a launch is told to cost so much: what launches of one size took beyond
    /// that was their tasks', and so was moving their data.
    fn told(self, launch_ns: f64) -> Self {
        let tasks = self.most_alike();
        if self.tells_fixed() || tasks == 0.0 {
            return self;
        }
        let took = self.fixed_ns + tasks * self.per_task_ns;
        let fixed_ns = launch_ns.min(took - tasks * self.transfer_ns);
        Self {
            fixed_ns,
            per_task_ns: ((took - fixed_ns) / tasks).max(self.transfer_ns),
            is_launch_told: true,
            ..self
        }
    }

    /// How good that prediction is: measured where batches of about that size
    /// are remembered (from half the fewest tasks to twice the most), fitted
    /// elsewhere, and for tasks of another size; heuristic without any observation.
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

/// True where launches of so many tasks tell what is fixed: one has twice the other's.
pub(super) fn tell_fixed(fewest: u64, most: u64) -> bool {
    most >= fewest.saturating_mul(2)
}

/// How long something had no part of an operation's batches.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Absence {
    /// Time spent running the operation since it last had one, ns.
    pub since_ns: f64,
    /// How often in a row it was only tried.
    pub tries: u32,
}

/// What is known of one operation at one size of task.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OperationCosts {
    /// On the CPU's workers.
    pub cpu: Option<Cost>,
    /// On each GPU, in the order in which they were asked for.
    pub gpus: Vec<GpuCosts>,
    /// How long the CPU had no part of it.
    pub cpu_absence: Absence,
    /// How long no batch showed how far the devices hinder each other.
    pub hindrance_absence: Absence,
    /// Where in a batch the work is to be expected, once a batch has told.
    pub shape: Option<Arc<Shape>>,
    /// How many times as long as its devices' costs say a split took.
    pub split_excess: f64,
    /// What the last batches took that an objective chose.
    pub ways: Ways,
    /// What a call of a function that takes several tasks costs a worker whatever the call holds,
    /// ns, where calls of two sizes told; it is a part of the CPU's fixed time.
    pub call_ns: Option<f64>,
    /// What the CPU draws beyond its idle power while all workers are at it, W; none where
    /// that was not measured.
    pub cpu_watts: Option<f64>,
}

/// What is known of one operation at one size of task on one GPU.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GpuCosts {
    /// What it costs there.
    pub cost: Option<Cost>,
    /// Most tasks in one launch that the device's memory took, after it refused more.
    pub fits: Option<u64>,
    /// What a launch costs at the least, ns: as was told, or, where this one was not measured
    /// itself, as other operations showed.
    pub launch_ns: Option<f64>,
    /// What a further piece of a batch costs, ns, where pieces of two sizes told.
    pub piece_ns: Option<f64>,
    /// Part of a piece's work that each further piece adds where the device does several in a
    /// row: 1/3 where upload, compute and download take equally long and overlap, 1 where
    /// nothing does. None where that is not known.
    pub bottleneck: Option<f64>,
    /// How long the device had no part of it.
    pub absence: Absence,
    /// What it draws beyond its idle power while it is at it, with the CPU that feeds it, W;
    /// none where that was not measured.
    pub watts: Option<f64>,
}

impl GpuCosts {
    /// Most tasks of a launch that its memory was seen to take.
    pub(crate) fn most_tasks(&self) -> usize {
        self.fits.map_or(usize::MAX, |fits| fits as usize)
    }

    /// What a further piece of a batch adds, where anything is known of the device.
    pub(crate) fn further(&self) -> Option<Further> {
        let cost = self.cost?;
        // What nothing tells is found out by a try of two pieces.
        let launch_ns = if cost.tells_fixed() {
            cost.fixed_ns
        } else {
            0.0
        };
        Some(Further {
            launch_ns: self.piece_ns.unwrap_or(launch_ns),
            is_told: self.piece_ns.is_some(),
            bottleneck: self.bottleneck,
        })
    }
}

impl OperationCosts {
    /// A GPU that takes fewer than all tasks in one launch, or whose memory was seen to, does
    /// them in several.
    pub fn in_launches_of(mut self, most: impl Iterator<Item = usize>, tasks: usize) -> Self {
        for (gpu, most) in self.gpus.iter_mut().zip(most) {
            let fits = most.min(gpu.most_tasks());
            if fits < tasks {
                gpu.cost = gpu.cost.map(|cost| cost.in_launches_of(fits));
            }
        }
        self
    }

    /// What is to be expected of tasks of so many times the memory.
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
            // Neither was where the work lies.
            shape: None,
            ..self
        }
    }

    /// True where something is known of every device.
    pub(super) fn knows_all(&self) -> bool {
        self.cpu.is_some() && self.gpus.iter().all(|gpu| gpu.cost.is_some())
    }

    /// The same, with what others tell of devices of which nothing is known.
    pub(super) fn filled(mut self, others: &Self) -> Self {
        self.cpu = self.cpu.or(others.cpu);
        for (gpu, other) in self.gpus.iter_mut().zip(&others.gpus) {
            gpu.cost = gpu.cost.or(other.cost);
        }
        self
    }

    /// The same, with what is stated where nothing was measured.
    pub fn or(mut self, stated: &Self) -> Self {
        for (gpu, stated) in self.gpus.iter_mut().zip(&stated.gpus) {
            if let Some(stated) = stated.cost.filter(|stated| stated.fixed_ns > 0.0) {
                gpu.cost = gpu.cost.map(|seen| seen.told(stated.fixed_ns));
            }
        }
        self.filled(stated)
    }

    /// The same with what a launch costs on each GPU, ns, where somebody tells.
    pub fn told(mut self, launches: impl IntoIterator<Item = Option<f64>>) -> Self {
        for (gpu, launch_ns) in self.gpus.iter_mut().zip(launches) {
            if let Some(launch_ns) = launch_ns {
                gpu.launch_ns = Some(launch_ns);
                gpu.cost = gpu.cost.map(|cost| cost.told(launch_ns));
            }
        }
        self
    }

    /// What is known of the GPU at that place of the list.
    pub fn gpu(&self, index: usize) -> GpuCosts {
        self.gpus.get(index).copied().unwrap_or_default()
    }
}
