//! Recommends by the rule where a workload runs, with reasons: for programs that run the work
//! themselves.

use std::fmt;
use std::io::{self, Write};

use breakeven_profile::unit;

use crate::WorkloadProfile;
use crate::error::Error;
use crate::hardware::{HardwareCapabilities, SystemLoad, as_planned};
use crate::plan::{ExecutionStrategy, Machine, ProfilingHeuristics, Stage, rule};

/// Recommends where a workload should run, by the [`rule`] of `plan`. It measures
/// nothing and learns nothing.
///
/// ```
/// use breakeven::plan::{ExecutionStrategy, Machine};
/// use breakeven::{WorkloadProfile, WorkloadProfiler};
///
/// let machine = Machine::from_toml("cores = 16\n[[gpu]]\nname = \"V100\"")?;
/// let profiler = WorkloadProfiler::for_machine(machine);
/// let workload = WorkloadProfile::from_task_count(1_000);
/// let recommended = profiler.recommend_strategy(&workload)?;
/// assert_eq!(recommended.strategy, ExecutionStrategy::GpuOnly);
/// assert_eq!(recommended.batch_size, 256);
/// println!("{recommended}");
/// # Ok::<(), breakeven::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadProfiler {
    machine: Machine,
    heuristics: ProfilingHeuristics,
}

/// Where a workload should run.
#[derive(Debug, Clone, PartialEq)]
pub struct StrategyRecommendation {
    /// The strategy; never Auto.
    pub strategy: ExecutionStrategy,
    /// Tasks per batch; 0 for no tasks.
    pub batch_size: usize,
    /// A sentence for each stage that was checked, with its numbers, and for each later one that
    /// agrees.
    pub reasoning: Vec<String>,
    /// Tasks for the GPU.
    pub estimated_gpu_tasks: usize,
    /// Tasks for the CPU; both sum to the workload's.
    pub estimated_cpu_tasks: usize,
    /// The stage that decided.
    pub stage: Stage,
}

impl WorkloadProfiler {
    /// Creates it for this machine as it is now, with the default heuristics. Takes as long as
    /// [`HardwareCapabilities::detect`].
    pub fn new() -> Self {
        let hardware = HardwareCapabilities::detect();
        Self::for_machine(as_planned(&hardware, Some(&SystemLoad::sample())))
    }

    /// Creates it for a given machine, with the default heuristics.
    pub fn for_machine(machine: Machine) -> Self {
        Self {
            machine,
            heuristics: ProfilingHeuristics::default(),
        }
    }

    /// Creates it for this machine as it is now, with given heuristics.
    pub fn with_heuristics(heuristics: ProfilingHeuristics) -> Self {
        Self::new().by(heuristics)
    }

    /// Sets the heuristics.
    #[must_use]
    pub fn by(mut self, heuristics: ProfilingHeuristics) -> Self {
        self.heuristics = heuristics;
        self
    }

    /// Returns where the workload should run, and why.
    ///
    /// # Errors
    ///
    /// As [`WorkloadProfile::check`] and [`ProfilingHeuristics::check`].
    pub fn recommend_strategy(
        &self,
        workload: &WorkloadProfile,
    ) -> Result<StrategyRecommendation, Error> {
        workload.check()?;
        self.heuristics.check()?;
        let ruling = rule(workload, &self.machine, &self.heuristics);
        let (gpu, cpu) = ruling.strategy.shares(workload.task_count);
        Ok(StrategyRecommendation {
            strategy: ruling.strategy,
            batch_size: self.calculate_batch_size(workload, ruling.strategy),
            reasoning: ruling.reasons(),
            estimated_gpu_tasks: gpu,
            estimated_cpu_tasks: cpu,
            stage: ruling.stage,
        })
    }

    /// Returns the tasks per batch under that strategy: [`ProfilingHeuristics::batch_size`].
    pub fn calculate_batch_size(
        &self,
        workload: &WorkloadProfile,
        strategy: ExecutionStrategy,
    ) -> usize {
        self.heuristics.batch_size(strategy, workload.task_count)
    }

    /// Recommends for given hardware at its present load.
    ///
    /// # Errors
    ///
    /// As [`recommend_strategy`](Self::recommend_strategy).
    pub fn create_report(
        &self,
        workload: &WorkloadProfile,
        hardware: &HardwareCapabilities,
    ) -> Result<StrategyRecommendation, Error> {
        let machine = as_planned(hardware, Some(&SystemLoad::sample()));
        let there = Self::for_machine(machine).by(self.heuristics);
        there.recommend_strategy(workload)
    }
}

impl Default for WorkloadProfiler {
    fn default() -> Self {
        Self::new()
    }
}

impl StrategyRecommendation {
    /// Prints what [`Display`](fmt::Display) shows to standard output. Ignores a closed output.
    pub fn print_report(&self) {
        let _ = writeln!(io::stdout(), "{self}");
    }
}

/// Formats the answer in a line, and a line for each reason.
impl fmt::Display for StrategyRecommendation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |tasks: usize| unit::count(tasks as f64);
        write!(
            f,
            "{}, {} tasks per batch: {} tasks for the GPU, {} for the CPU",
            self.strategy,
            count(self.batch_size),
            count(self.estimated_gpu_tasks),
            count(self.estimated_cpu_tasks)
        )?;
        let mut reasons = self.reasoning.iter();
        reasons.try_for_each(|reason| write!(f, "\n  {reason}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn profiler() -> WorkloadProfiler {
        let machine = Machine::from_toml(
            "cores = 16\nmemory = \"64 GiB\"\n[[gpu]]\nname = \"V100\"\nmemory = \"32 GiB\"\n\
             memory_used = \"28 GiB\"",
        );
        WorkloadProfiler::for_machine(machine.expect("a machine"))
    }

    #[test]
    fn a_recommendation_says_why() {
        let workload = WorkloadProfile::from_task_count(1_000);
        let report = profiler().recommend_strategy(&workload).expect("a report");
        insta::assert_snapshot!(report, @r"
        hybrid:60/40, 166 tasks per batch: 600 tasks for the GPU, 400 for the CPU
          stage 1: there is a GPU
          stage 2: 1 000 tasks are not fewer than 10, a workload of 102 400 000 is not below 100 000
          stage 3: 100 % of the work is parallel
          stage 4: 87.5 % of the GPU's memory is in use, above 80 %: hybrid:60/40
        ");
    }

    #[test]
    fn the_heuristics_count() {
        let workload = WorkloadProfile::from_task_count(1_000);
        let profiler = profiler();
        let size = profiler.calculate_batch_size(&workload, ExecutionStrategy::GpuOnly);
        assert_eq!(size, 256);
        let other = ProfilingHeuristics::default()
            .with_memory_threshold(0.9)
            .with_gpu_batch_size(64);
        let profiler = profiler.by(other);
        let recommended = profiler.recommend_strategy(&workload);
        let recommended = recommended.expect("a recommendation");
        assert_eq!(recommended.strategy, ExecutionStrategy::GpuOnly);
        assert_eq!(recommended.batch_size, 64);
        assert_eq!(recommended.stage, Stage::Large);
    }

    #[test]
    fn what_nothing_can_be_decided_from_is_an_error() {
        let workload = WorkloadProfile::from_task_count(9);
        let wrong = workload.with_complexity(f64::NAN);
        let error = profiler()
            .recommend_strategy(&wrong)
            .expect_err("it is wrong");
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let wrong = ProfilingHeuristics::default().with_memory_threshold(80.0);
        assert!(profiler().by(wrong).recommend_strategy(&workload).is_err());
    }
}
