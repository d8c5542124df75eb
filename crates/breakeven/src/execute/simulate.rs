//! How a batch would go, in virtual time: a discrete-event simulation that
//! drives the schedule of the real executor.
//!
//! It has a pool of workers, one GPU, and tasks of known cost. What it leaves
//! out: the time that taking a span takes (well below a microsecond), noise,
//! and that both devices may hinder each other. The bench `execute` runs some of
//! its points for real beside it.

use super::schedule::{Ns, Schedule};
use super::spans::Span;
use super::terms::Given;
use crate::error::Error;
use crate::hardware::Fact;
use crate::plan::{
    Basis, Costs, Decision, ExecutionStrategy, GpuSpec, Machine, Probe, ProfilingHeuristics,
    decide_for,
};
use crate::workload::WorkloadProfile;

mod events;

use events::Run;

/// The name of the simulated GPU.
const GPU: &str = "simulated";

/// A batch and the devices it could run on.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Cost of each task, as a multiple of the mean.
    task_costs: Prefix,
    /// CPU workers.
    pub workers: usize,
    /// Time of a mean task on one worker that works alone, ns.
    pub cpu_task_ns: f64,
    /// Part of the CPU's work that workers can do at once (Amdahl's law), 0 to 1.
    /// The GPU does the rest on one lane.
    pub parallelization: f64,
    /// What a launch costs, ns.
    pub launch_ns: f64,
    /// The device tells what a launch costs, before one was made.
    pub tells_launch: bool,
    /// Time of a mean task on the GPU, transfers included, ns.
    pub gpu_task_ns: f64,
    /// From when on the CPU is slower, ns, and how many times.
    pub cpu_load: Option<(f64, f64)>,
    /// From when on the GPU is slower, ns, and how many times.
    pub gpu_load: Option<(f64, f64)>,
}

/// Sums of costs, so that a span's is a difference.
#[derive(Debug, Clone)]
struct Prefix(Vec<f64>);

impl Prefix {
    fn of(&self, span: &Span) -> f64 {
        let range = span.range();
        self.0[range.end] - self.0[range.start]
    }
}

/// How a simulated batch went.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// From the beginning to the last output, ns.
    pub makespan_ns: f64,
    /// Tasks that the GPU did.
    pub gpu_tasks: usize,
    /// Launches.
    pub launches: usize,
    /// Spans of the workers.
    pub cpu_spans: usize,
    /// What was decided.
    pub decision: Decision,
}

/// How many times slower than a worker a GPU's single lane is.
const LANE_SLOWDOWN: f64 = 4.0;

impl Scenario {
    /// So many tasks of these costs (relative to each other) on that many workers.
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
            task_costs: Prefix(sums),
            workers: workers.max(1),
            cpu_task_ns: 10_000.0,
            parallelization: 1.0,
            launch_ns: 20_000.0,
            tells_launch: false,
            gpu_task_ns: 10_000.0,
            cpu_load: None,
            gpu_load: None,
        }
    }

    /// The same devices with tasks of other costs.
    #[must_use]
    pub fn with_task_costs(&self, costs: impl IntoIterator<Item = f64>) -> Self {
        Self {
            task_costs: Self::new(costs, self.workers).task_costs,
            ..self.clone()
        }
    }

    /// Tasks in the batch.
    pub fn tasks(&self) -> usize {
        self.task_costs.0.len() - 1
    }

    /// Time of a mean task on one worker while `active` work, ns: each waits for
    /// the sequential parts of the others.
    fn shared_task_ns(&self, active: usize) -> f64 {
        let others = (1.0 - self.parallelization) * active.max(1) as f64;
        self.cpu_task_ns * (others + self.parallelization)
    }

    /// Time of a mean task on the GPU, its sequential part on one lane, ns.
    pub fn lane_task_ns(&self) -> f64 {
        let sequential = (1.0 - self.parallelization) * LANE_SLOWDOWN * self.cpu_task_ns;
        self.gpu_task_ns * self.parallelization + sequential
    }

    /// Runs the batch under a strategy, by what `costs` knows, and tells them
    /// what it took.
    ///
    /// # Errors
    ///
    /// As [`decide`](crate::plan::decide).
    pub fn run(&self, strategy: ExecutionStrategy, costs: &Costs) -> Result<Simulated, Error> {
        let workload = WorkloadProfile::from_task_count(self.tasks())
            .with_parallelization(self.parallelization);
        let machine = Machine {
            cores: self.workers,
            memory_bytes: Fact::Unknown,
            gpus: vec![GpuSpec::named(GPU)],
        };
        let memory = workload.memory_per_task;
        let known = costs.lookup("simulated", memory, Some(GPU), self.workers);
        let heuristics = ProfilingHeuristics::default();
        let decision = decide_for(
            strategy,
            Basis::Asked,
            &workload,
            &machine,
            &heuristics,
            &known,
        )?;
        let given = Given {
            tasks: self.tasks(),
            workers: self.workers,
            decision: &decision,
            costs: &known,
            launch_ns: self.tells_launch.then_some(self.launch_ns),
            fits: usize::MAX,
            is_watched: false,
            on_probation: false,
        };
        let mut run = Run::new(self, Schedule::new(given.terms()));
        run.run();
        run.teach(costs, memory, decision.probe == Probe::None);
        Ok(Simulated {
            makespan_ns: run.makespan,
            gpu_tasks: run.launches.iter().map(|(tasks, _)| tasks).sum(),
            launches: run.launches.len(),
            cpu_spans: run.cpu_spans,
            decision,
        })
    }

    /// Runs the batch by a decision that the cost model has no part in: the
    /// seven-stage rule's, for instance, with the split kept as it is.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_fixed(&self, strategy: ExecutionStrategy) -> Result<f64, Error> {
        Ok(self.run(strategy, &Costs::new())?.makespan_ns)
    }

    /// The least time that any split could take, ns: with one launch, the best
    /// order of indivisible tasks, and every change of rates foreseen.
    pub fn ideal_ns(&self) -> f64 {
        let all = *self.task_costs.0.last().unwrap_or(&0.0);
        let largest = self
            .task_costs
            .0
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .fold(0.0, f64::max);
        // The work that each side can have done by a time grows with the time.
        let done = |time: Ns| {
            let cpu = self.workers as f64 * worked(time, self.cpu_load)
                / self.shared_task_ns(self.workers);
            let gpu = worked((time - self.launch_ns).max(0.0), self.gpu_load) / self.lane_task_ns();
            // One task is on one side as a whole.
            let fits_cpu = worked(time, self.cpu_load) / self.shared_task_ns(1) >= largest;
            let fits_gpu = gpu >= largest;
            if fits_cpu || fits_gpu { cpu + gpu } else { 0.0 }
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
fn worked(time: Ns, load: Option<(f64, f64)>) -> f64 {
    match load {
        Some((from, times)) if time > from => from + (time - from) / times,
        _ => time,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_launch_costs_is_told_from_its_tasks_before_long() {
        // Three rounds of eight workers take 150 µs, the GPU 62 µs for all, of
        // which 50 are the launch: seen with one task, it seems slow.
        let mut scenario = Scenario::new(vec![1.0; 20], 8);
        scenario.cpu_task_ns = 50_000.0;
        scenario.gpu_task_ns = 600.0;
        scenario.launch_ns = 50_000.0;
        let costs = Costs::new();
        let took = || {
            let run = scenario.run(ExecutionStrategy::Auto, &costs);
            run.expect("a strategy").makespan_ns
        };
        let first = took();
        let later = (0..20).map(|_| took()).fold(f64::INFINITY, f64::min);
        assert!(first > 100_000.0 && later < 70_000.0, "{first} {later}");
    }
}
