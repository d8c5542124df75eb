//! How a batch would go, in virtual time: a discrete-event simulation that
//! drives the schedule of the real executor.
//!
//! It has a pool of workers, GPUs, and tasks of known cost, on a host whose cores workers,
//! drivers and software GPUs share. The bench `simulator` runs the same batches for real.

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
    /// Costs of the tasks before each, as multiples of the mean: a span's is a difference.
    pub(super) costs_before: Vec<f64>,
    /// CPU workers.
    pub workers: usize,
    /// Time of a mean task on one worker that works alone, ns.
    pub cpu_task_ns: f64,
    /// Part of the CPU's work that workers can do at once (Amdahl's law), 0 to 1.
    /// A GPU does the rest on one lane.
    pub parallelization: f64,
    /// Load on the CPU.
    pub cpu_load: Option<Load>,
    /// The GPUs.
    pub gpus: Vec<ScenarioGpu>,
    /// How many times as long a span or a launch takes that begins while the other kind of
    /// device is at work: memory and power may be one.
    pub hindrance: f64,
    /// What its threads cost.
    pub host: Host,
    /// How far times vary.
    pub noise: Noise,
    /// It is the program's first batch: first launches compile.
    pub compiles: bool,
    /// Memory of a task, bytes: tasks of like memory are one size to the cost model.
    pub memory_per_task: usize,
    /// What the CPU draws; while some of the workers wait, their part of it less.
    pub cpu_power: Fact<Power>,
    /// What Auto minimises.
    pub objective: Objective,
    /// What the devices cost: the GPUs are `simulated0` and so on.
    pub prices: Option<Prices>,
    /// What the choice and the schedule are tuned by.
    pub tuning: &'static Tuning,
    /// Batches so far.
    pub(super) batches: Cell<u64>,
}

/// A simulated GPU in virtual time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScenarioGpu {
    /// What a launch costs, ns.
    pub launch_ns: f64,
    /// It tells what a launch costs, before one was made.
    pub tells_launch: bool,
    /// Time of a mean task, transfers included, ns.
    pub task_ns: f64,
    /// What submitting a launch takes its driver, ns of a core.
    pub submit_ns: f64,
    /// What collecting a launch's outputs takes it, ns of a core.
    pub collect_ns: f64,
    /// What the driver's copies of a task's inputs and outputs take a core, ns.
    pub host_ns: [f64; 2],
    /// What a program's first launch takes longer, ns of a core.
    pub compile_ns: f64,
    /// Threads of a software GPU, which compute on the host's cores; 0 for hardware.
    pub threads: usize,
    /// The device is slower at first.
    pub warm_up: Option<WarmUp>,
    /// Parts of a task's time that its upload and its download take, each on an engine of its
    /// own; 0 where everything goes through one queue.
    pub copies: [f64; 2],
    /// Most tasks of a launch that it has memory for: larger ones it refuses at once.
    pub most_tasks: usize,
    /// Load on it.
    pub load: Option<Load>,
    /// What it draws.
    pub power: Fact<Power>,
}

/// Until some time a device is slower: its clock rises from idle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WarmUp {
    /// When it ends, ns.
    pub until_ns: f64,
    /// How many times slower the device is until then.
    pub times: f64,
}

/// How a simulated batch went.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// From the beginning to the last output, ns.
    pub makespan_ns: f64,
    /// Tasks that the GPUs did.
    pub gpu_tasks: usize,
    /// Launches.
    pub launches: usize,
    /// Spans of the workers.
    pub cpu_spans: usize,
    /// Time that the workers worked, over their number, ns.
    pub cpu_busy_ns: f64,
    /// Time that each GPU worked, ns.
    pub gpu_busy_ns: Vec<f64>,
    /// What was decided.
    pub decision: Box<Decision>,
}

/// How many times slower than a worker a GPU's single lane is.
const LANE_SLOWDOWN: f64 = 4.0;

impl Default for ScenarioGpu {
    fn default() -> Self {
        Self {
            launch_ns: 20_000.0,
            tells_launch: false,
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
    /// An NVIDIA H200 by CUDA, of the table in `docs/performance.md`: 22 to 29 µs for a launch
    /// with its wait, uploads at 8.0 GB/s and downloads at 3.2 GB/s, in which its driver copies
    /// on a core. A task takes `task_ns` on the device and moves so many bytes up and down.
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

    /// Mesa's software GPU, as the bench `simulator` measures it: what a launch costs is
    /// nearly all of a batch of one task.
    pub fn lavapipe(launch_ns: f64, threads: usize) -> Self {
        Self {
            launch_ns,
            threads,
            ..Self::default()
        }
    }

    /// When a launch is done that is made now, whose tasks take `work` at rate 1; its engines
    /// are free from then on.
    pub(super) fn ends(&self, now: Ns, work: f64, free: &mut [Ns; 3]) -> Ns {
        let [upload, download] = self.copies;
        let phases = [
            (0.0, upload),
            (self.launch_ns, 1.0 - upload - download),
            (0.0, download),
        ];
        let engines = free.iter_mut().zip(phases);
        // A stalled device takes for ever only for what there is to do.
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
    /// So many tasks of these costs (relative to each other) on that many workers, and a
    /// GPU.
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

    /// The same on a host whose threads cost nothing and never wait, without noise: what
    /// follows from the schedule alone.
    #[must_use]
    pub fn ideal(mut self) -> Self {
        self.host = Host::IDEAL;
        self.noise = Noise::NONE;
        for gpu in &mut self.gpus {
            (gpu.submit_ns, gpu.collect_ns, gpu.host_ns) = (0.0, 0.0, [0.0; 2]);
        }
        self
    }

    /// Draws of noise, others in each batch.
    pub(super) fn factors(&self) -> Factors {
        let batch = self.batches.get();
        self.batches.set(batch + 1);
        Factors::new(self.noise, batch)
    }

    /// The same devices with tasks of other costs.
    #[must_use]
    pub fn with_task_costs(&self, costs: impl IntoIterator<Item = f64>) -> Self {
        Self {
            costs_before: Self::new(costs, self.workers).costs_before,
            ..self.clone()
        }
    }

    /// Tasks in the batch.
    pub fn tasks(&self) -> usize {
        self.costs_before.len() - 1
    }

    /// Cost of the tasks of a span.
    pub(super) fn cost(&self, span: &Span) -> f64 {
        self.costs_before[span.range().end] - self.costs_before[span.range().start]
    }

    /// The names of the GPUs.
    pub(super) fn names(&self) -> Vec<String> {
        let indices = 0..self.gpus.len();
        indices.map(|index| format!("simulated{index}")).collect()
    }

    /// Time of a mean task on one worker while `active` work, ns: each waits for
    /// the sequential parts of the others.
    pub(super) fn shared_task_ns(&self, active: usize) -> f64 {
        let others = (1.0 - self.parallelization) * active.max(1) as f64;
        self.cpu_task_ns * (others + self.parallelization)
    }

    /// Time of a mean task on a GPU, its sequential part on one lane, ns.
    pub(super) fn lane_task_ns(&self, gpu: &ScenarioGpu) -> f64 {
        let sequential = (1.0 - self.parallelization) * LANE_SLOWDOWN * self.cpu_task_ns;
        gpu.task_ns * self.parallelization + sequential
    }

    /// What the batch costs in truth, as somebody states it who has not measured it:
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

    /// The least time that any split could take, ns: with one launch on each GPU, the
    /// best order of indivisible tasks, and every change of rates foreseen.
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
            // One task is on one device as a whole.
            let fits_cpu = worked(time, self.cpu_load) / self.shared_task_ns(1) >= largest;
            if fits_cpu || fastest >= largest {
                cpu + gpu
            } else {
                0.0
            }
        };
        let (mut low, mut high) = (0.0, 1.0);
        while done(high) < all {
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

/// Work that is done in `time` at rate 1 that falls from some time on.
fn worked(time: Ns, load: Option<Load>) -> f64 {
    match load {
        Some(Load { from_ns, times }) if time > from_ns => from_ns + (time - from_ns) / times,
        _ => time,
    }
}

/// When work begun at `start` that takes `work` at rate 1 is done.
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
