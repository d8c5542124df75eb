//! A discrete-event simulation of a batch in virtual time that drives the schedule of the real
//! executor.
//!
//! It has a pool of workers, GPUs, and tasks of known cost, on a host whose cores are shared by
//! workers, drivers and software GPUs. The bench `simulator` runs the same batches for real.

use std::cell::Cell;

use super::host::{Host, Load};
use super::noise::{Factors, Noise};
use crate::Fact;
use crate::WorkloadProfile;
use crate::plan::{Decision, GpuCosts, Objective, OperationCosts, Power, Prices, Tuning, estimate};
use crate::schedule::{Ns, Span};

/// A batch and the devices it could run on.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Prefix sums of the tasks' costs, as multiples of the mean: a span's cost is a difference.
    pub(super) costs_before: Vec<f64>,
    /// CPU workers.
    pub workers: usize,
    /// Mean time of a task on one worker that works alone, ns.
    pub cpu_task_ns: f64,
    /// Fraction of the CPU's work that is parallel (Amdahl's law), 0 to 1. A GPU runs the
    /// sequential fraction on one lane.
    pub parallelization: f64,
    /// Load on the CPU.
    pub cpu_load: Option<Load>,
    /// The GPUs.
    pub gpus: Vec<ScenarioGpu>,
    /// Slow-down of a span or a launch that begins while the other kind of device is at work:
    /// memory and power may be shared.
    pub hindrance: f64,
    /// Costs of the host's threads.
    pub host: Host,
    /// How far times vary.
    pub noise: Noise,
    /// Whether it is the program's first batch: first launches compile.
    pub compiles: bool,
    /// Memory of a task, bytes: the cost model treats tasks of similar memory as one size.
    pub memory_per_task: usize,
    /// Power of the CPU; it is proportionally less while some of the workers wait.
    pub cpu_power: Fact<Power>,
    /// What Auto minimises.
    pub objective: Objective,
    /// Prices of the devices: the GPUs are `simulated0` and so on.
    pub prices: Option<Prices>,
    /// The constants of the choice and the schedule.
    pub tuning: &'static Tuning,
    /// Batches so far.
    pub(super) batches: Cell<u64>,
}

/// A simulated GPU in virtual time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScenarioGpu {
    /// Cost of a launch, ns.
    pub launch_ns: f64,
    /// Whether it reports its launch cost before the first launch.
    pub reports_launch: bool,
    /// Mean time of a task, transfers included, ns.
    pub task_ns: f64,
    /// Core time of its driver to submit a launch, ns.
    pub submit_ns: f64,
    /// Core time of its driver to collect a launch's outputs, ns.
    pub collect_ns: f64,
    /// Core time of the driver's copies of a task's inputs and outputs, ns.
    pub host_ns: [f64; 2],
    /// Additional core time of a program's first launch, ns.
    pub compile_ns: f64,
    /// Threads of a software GPU, which compute on the host's cores; 0 for hardware.
    pub threads: usize,
    /// The device is slower at first.
    pub warm_up: Option<WarmUp>,
    /// Fractions of a task's time that are its upload and its download, each on an engine of its
    /// own; 0 if everything goes through one queue.
    pub copies: [f64; 2],
    /// Most tasks of a launch that fit its memory: it refuses larger ones at once.
    pub most_tasks: usize,
    /// Load on the GPU.
    pub load: Option<Load>,
    /// Its power.
    pub power: Fact<Power>,
}

/// A device that is slower until some time: its clock rises from idle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WarmUp {
    /// When it ends, ns.
    pub until_ns: f64,
    /// How many times slower the device is until then.
    pub times: f64,
}

/// The result of a simulated batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// From the beginning to the last output, ns.
    pub makespan_ns: f64,
    /// Tasks that the GPUs ran.
    pub gpu_tasks: usize,
    /// Launches.
    pub launches: usize,
    /// Spans of the workers.
    pub cpu_spans: usize,
    /// Busy time of the workers, averaged over them, ns.
    pub cpu_busy_ns: f64,
    /// Busy time of each GPU, ns.
    pub gpu_busy_ns: Vec<f64>,
    /// The decision.
    pub decision: Box<Decision>,
}

/// How many times slower than a worker a GPU's single lane is.
const LANE_SLOWDOWN: f64 = 4.0;

impl Default for ScenarioGpu {
    fn default() -> Self {
        Self {
            launch_ns: 20_000.0,
            reports_launch: false,
            task_ns: 10_000.0,
            submit_ns: 5_000.0,
            collect_ns: 2_000.0,
            host_ns: [0.0; 2],
            compile_ns: 0.0,
            threads: 0,
            warm_up: None,
            copies: [0.0; 2],
            most_tasks: usize::MAX,
            load: None,
            power: Fact::Unknown,
        }
    }
}

impl ScenarioGpu {
    /// An NVIDIA H200 by CUDA, from the table in `docs/performance.md`: 22 to 29 µs for a launch
    /// with its wait, uploads at 8.0 GB/s and downloads at 3.2 GB/s, during which its driver copies
    /// on a core. A task takes `task_ns` on the device and moves `bytes` up and down.
    pub fn h200_cuda(task_ns: f64, bytes: [u64; 2]) -> Self {
        let [up, down] = bytes.map(|bytes| bytes as f64);
        Self {
            launch_ns: 10_000.0,
            task_ns,
            submit_ns: 8_000.0,
            collect_ns: 5_000.0,
            host_ns: [up / 8.0, down / 3.2],
            ..Self::default()
        }
    }

    /// A discrete card behind PCIe 3.0 with sixteen lanes, whose copies go through pinned
    /// memory at 12 of its 15.75 GB/s, each way on an engine of its own, while a core fills
    /// that memory at 8 GB/s. Assumed, not measured.
    pub fn pcie_discrete(task_ns: f64, bytes: [u64; 2]) -> Self {
        let [up, down] = bytes.map(|bytes| bytes as f64);
        let all = task_ns + (up + down) / 12.0;
        Self {
            launch_ns: 15_000.0,
            task_ns: all,
            copies: [up / 12.0 / all, down / 12.0 / all],
            host_ns: [up / 8.0, down / 8.0],
            ..Self::default()
        }
    }

    /// A GPU that shares the CPU's memory: nothing is copied. Assumed, not measured.
    pub fn integrated(task_ns: f64) -> Self {
        Self {
            launch_ns: 30_000.0,
            task_ns,
            ..Self::default()
        }
    }

    /// Mesa's software GPU, as the bench `simulator` measures it: the launch cost is nearly all of
    /// a batch of one task.
    pub fn lavapipe(launch_ns: f64, threads: usize) -> Self {
        Self {
            launch_ns,
            threads,
            ..Self::default()
        }
    }

    /// Returns when a launch ends that is made now and whose tasks take `work` at rate 1; its
    /// engines are free from then on.
    pub(super) fn ends(&self, now: Ns, work: f64, free: &mut [Ns; 3]) -> Ns {
        let [upload, download] = self.copies;
        let phases = [
            (0.0, upload),
            (self.launch_ns, 1.0 - upload - download),
            (0.0, download),
        ];
        let engines = free.iter_mut().zip(phases);
        // A stalled device takes for ever only if it has work.
        let engines = engines.filter(|(_, (_, part))| *part > 0.0);
        engines.fold(now, |ready, (free, (launch, part))| {
            let begin = ready.max(*free) + launch;
            let work = part * work;
            *free = match self.warm_up {
                Some(WarmUp { until_ns, times }) if begin < until_ns => {
                    let warm = (until_ns - begin) / times;
                    match work <= warm {
                        true => begin + work * times,
                        false => ends(until_ns, work - warm, self.load),
                    }
                }
                _ => ends(begin, work, self.load),
            };
            *free
        })
    }
}

impl Scenario {
    /// Creates a batch of tasks with these costs (relative to each other) on `workers` workers and
    /// a GPU.
    pub fn new(costs: impl IntoIterator<Item = f64>, workers: usize) -> Self {
        let mut sums = vec![0.0];
        for cost in costs {
            let sum = sums.last().copied().unwrap_or(0.0);
            sums.push(sum + cost.max(0.0));
        }
        let mean = sums.last().copied().unwrap_or(0.0) / (sums.len() - 1).max(1) as f64;
        if mean > 0.0 {
            sums.iter_mut().for_each(|sum| *sum /= mean);
        }
        Self {
            costs_before: sums,
            workers: workers.max(1),
            cpu_task_ns: 10_000.0,
            parallelization: 1.0,
            cpu_load: None,
            gpus: vec![ScenarioGpu::default()],
            hindrance: 1.0,
            host: Host::default(),
            noise: Noise::default(),
            compiles: false,
            memory_per_task: WorkloadProfile::from_task_count(1).memory_per_task,
            cpu_power: Fact::Unknown,
            objective: Objective::Time,
            prices: None,
            tuning: Tuning::USUAL,
            batches: Cell::new(0),
        }
    }

    /// Removes the noise and the costs of the host's threads: the result then follows from the
    /// schedule alone.
    #[must_use]
    pub fn ideal(mut self) -> Self {
        self.host = Host::IDEAL;
        self.noise = Noise::NONE;
        for gpu in &mut self.gpus {
            (gpu.submit_ns, gpu.collect_ns, gpu.host_ns) = (0.0, 0.0, [0.0; 2]);
        }
        self
    }

    /// Creates factors of noise, different in each batch.
    pub(super) fn factors(&self) -> Factors {
        let batch = self.batches.get();
        self.batches.set(batch + 1);
        Factors::new(self.noise, batch)
    }

    /// Replaces the costs of the tasks; the devices stay the same.
    #[must_use]
    pub fn with_task_costs(&self, costs: impl IntoIterator<Item = f64>) -> Self {
        Self {
            costs_before: Self::new(costs, self.workers).costs_before,
            ..self.clone()
        }
    }

    /// Returns the number of tasks in the batch.
    pub fn tasks(&self) -> usize {
        self.costs_before.len() - 1
    }

    /// Returns the cost of the tasks of a span.
    pub(super) fn cost(&self, span: &Span) -> f64 {
        self.costs_before[span.range().end] - self.costs_before[span.range().start]
    }

    /// Returns the names of the GPUs.
    pub(super) fn names(&self) -> Vec<String> {
        let indices = 0..self.gpus.len();
        indices.map(|index| format!("simulated{index}")).collect()
    }

    /// Returns the mean time of a task on one worker while `active` work, ns: each waits for the
    /// sequential fractions of the other workers' tasks.
    pub(super) fn shared_task_ns(&self, active: usize) -> f64 {
        let others = (1.0 - self.parallelization) * active.max(1) as f64;
        self.cpu_task_ns * (others + self.parallelization)
    }

    /// Returns the mean time of a task on a GPU, its sequential fraction on one lane, ns.
    pub(super) fn lane_task_ns(&self, gpu: &ScenarioGpu) -> f64 {
        let sequential = (1.0 - self.parallelization) * LANE_SLOWDOWN * self.cpu_task_ns;
        gpu.task_ns * self.parallelization + sequential
    }

    /// Returns the true costs of the batch, as if stated rather than measured:
    /// [`Evidence::Heuristic`](crate::plan::Evidence).
    pub fn stated_costs(&self) -> OperationCosts {
        let each = self.shared_task_ns(self.workers) / self.workers as f64;
        let gpus = self.gpus.iter().map(|gpu| GpuCosts {
            cost: Some(estimate(gpu.launch_ns, self.lane_task_ns(gpu), 0.0, 1)),
            ..GpuCosts::default()
        });
        OperationCosts {
            cpu: Some(estimate(0.0, each, 0.0, self.workers)),
            gpus: gpus.collect(),
            ..OperationCosts::default()
        }
    }

    /// Returns the least time of any split, ns: with one launch on each GPU, the best order of
    /// indivisible tasks, and every change of rates foreseen.
    pub fn ideal_ns(&self) -> f64 {
        let all = *self.costs_before.last().unwrap_or(&0.0);
        let pairs = self.costs_before.windows(2);
        let largest = pairs.map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
        // The work that each side can have done by a time grows with the time.
        let done = |time: Ns| {
            let cpu = self.workers as f64 * worked(time, self.cpu_load)
                / self.shared_task_ns(self.workers);
            let gpus = self.gpus.iter().map(|gpu| {
                worked((time - gpu.launch_ns).max(0.0), gpu.load) / self.lane_task_ns(gpu)
            });
            let (gpu, fastest) = gpus.fold((0.0, 0.0), |(sum, most), gpu| {
                (sum + gpu, f64::max(most, gpu))
            });
            // A task runs on one device only.
            let fits_cpu = worked(time, self.cpu_load) / self.shared_task_ns(1) >= largest;
            if fits_cpu || fastest >= largest {
                cpu + gpu
            } else {
                0.0
            }
        };
        let (mut low, mut high) = (0.0, 1.0);
        while done(high) < all && high < f64::MAX {
            high *= 2.0;
        }
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if done(middle) < all {
                low = middle
            } else {
                high = middle
            }
        }
        high
    }
}

/// Returns the work that is done in `time` at rate 1, which falls from some time on.
fn worked(time: Ns, load: Option<Load>) -> f64 {
    match load {
        Some(Load { from_ns, times }) if time > from_ns => from_ns + (time - from_ns) / times,
        _ => time,
    }
}

/// Returns when work that begins at `start` and takes `work` at rate 1 is done.
pub(super) fn ends(start: Ns, work: f64, load: Option<Load>) -> Ns {
    let Some(Load { from_ns, times }) = load else {
        return start + work;
    };
    if start >= from_ns {
        return start + work * times;
    }
    let before = from_ns - start;
    if work <= before {
        start + work
    } else {
        from_ns + (work - before) * times
    }
}
