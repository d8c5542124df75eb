//! The thresholds of the rule, and the sizes of batches.

use serde::{Deserialize, Serialize};

use super::{ExecutionStrategy, toml_file};
use crate::error::Error;

/// The thresholds of the [`rule`](super::rule), and the sizes of batches.
///
/// ```
/// use breakeven::plan::{ExecutionStrategy, ProfilingHeuristics};
///
/// let heuristics = ProfilingHeuristics::default()
///     .with_small_threshold(50_000)
///     .with_memory_threshold(0.9);
/// heuristics.check()?;
/// let read = ProfilingHeuristics::from_toml(
///     "small_workload_threshold = 50_000\ngpu_memory_pressure_threshold = 0.9",
/// )?;
/// assert_eq!(read, heuristics);
/// assert_eq!(read.last_answer, ExecutionStrategy::CpuOnly);
/// # Ok::<(), breakeven::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProfilingHeuristics {
    /// Workload size below which the CPU does it (stage 2); 100 000.
    pub small_workload_threshold: u64,
    /// Workload size above which the GPU does it (stage 6); 10 000 000.
    pub large_workload_threshold: u64,
    /// Part of the GPU's memory that may be in use, 0 to 1; above it the work is
    /// split (stage 4). 0.8.
    pub gpu_memory_pressure_threshold: f64,
    /// Fewer tasks than this are the CPU's (stage 2); 10.
    pub min_tasks_for_gpu: usize,
    /// Tasks per batch on the CPU, 1 or more; 32.
    pub optimal_cpu_batch_size: usize,
    /// Tasks per batch on the GPU, 1 or more; 256.
    pub optimal_gpu_batch_size: usize,
    /// Complexity above which the GPU does it (stage 7); 50. Infinite: there is
    /// no stage 7.
    pub complexity_threshold_for_gpu: f64,
    /// The strategy when no stage decides; never Auto. CpuOnly.
    pub last_answer: ExecutionStrategy,
}

impl Default for ProfilingHeuristics {
    fn default() -> Self {
        Self {
            small_workload_threshold: 100_000,
            large_workload_threshold: 10_000_000,
            gpu_memory_pressure_threshold: 0.8,
            min_tasks_for_gpu: 10,
            optimal_cpu_batch_size: 32,
            optimal_gpu_batch_size: 256,
            complexity_threshold_for_gpu: 50.0,
            last_answer: ExecutionStrategy::CpuOnly,
        }
    }
}

impl ProfilingHeuristics {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The preset that splits 70/30 when no stage decides, and has no stage 7.
    pub fn hybrid_first() -> Self {
        Self::default()
            .with_complexity_threshold(f64::INFINITY)
            .with_last_answer(ExecutionStrategy::split(70))
    }

    /// The same with that workload size below which the CPU does it.
    #[must_use]
    pub const fn with_small_threshold(mut self, size: u64) -> Self {
        self.small_workload_threshold = size;
        self
    }

    /// The same with that workload size above which the GPU does it.
    #[must_use]
    pub const fn with_large_threshold(mut self, size: u64) -> Self {
        self.large_workload_threshold = size;
        self
    }

    /// The same with that part of the GPU's memory that may be in use, 0 to 1.
    #[must_use]
    pub const fn with_memory_threshold(mut self, part: f64) -> Self {
        self.gpu_memory_pressure_threshold = part;
        self
    }

    /// The same with that many tasks from which a GPU is thought of.
    #[must_use]
    pub const fn with_min_tasks(mut self, tasks: usize) -> Self {
        self.min_tasks_for_gpu = tasks;
        self
    }

    /// The same with that many tasks per batch on the CPU.
    #[must_use]
    pub const fn with_cpu_batch_size(mut self, tasks: usize) -> Self {
        self.optimal_cpu_batch_size = tasks;
        self
    }

    /// The same with that many tasks per batch on the GPU.
    #[must_use]
    pub const fn with_gpu_batch_size(mut self, tasks: usize) -> Self {
        self.optimal_gpu_batch_size = tasks;
        self
    }

    /// The same with that complexity above which the GPU does it; infinite for
    /// no stage 7.
    #[must_use]
    pub const fn with_complexity_threshold(mut self, complexity: f64) -> Self {
        self.complexity_threshold_for_gpu = complexity;
        self
    }

    /// The same with that strategy when no stage decides.
    #[must_use]
    pub const fn with_last_answer(mut self, strategy: ExecutionStrategy) -> Self {
        self.last_answer = strategy;
        self
    }

    /// Fails for thresholds that no decision can be made with.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid), with the threshold's
    /// name and what it may be.
    pub fn check(&self) -> Result<(), Error> {
        self.wrong()
            .map_or(Ok(()), |(_, message)| Err(Error::invalid(message)))
    }

    /// What is wrong, and the thresholds that it is with.
    fn wrong(&self) -> Option<(&'static [&'static str], String)> {
        let (small, large) = (self.small_workload_threshold, self.large_workload_threshold);
        if small > large {
            let wrong = format!(
                "small_workload_threshold is {small}, above large_workload_threshold, {large}: a workload between would be both; exchange them"
            );
            let keys = &["small_workload_threshold", "large_workload_threshold"];
            return Some((keys, wrong));
        }
        let part = self.gpu_memory_pressure_threshold;
        if !(0.0..=1.0).contains(&part) {
            let wrong = format!("gpu_memory_pressure_threshold is {part}; give a part from 0 to 1");
            return Some((&["gpu_memory_pressure_threshold"], wrong));
        }
        let sizes: [(&[_], usize); 2] = [
            (&["optimal_cpu_batch_size"], self.optimal_cpu_batch_size),
            (&["optimal_gpu_batch_size"], self.optimal_gpu_batch_size),
        ];
        if let Some((keys, _)) = sizes.into_iter().find(|(_, size)| *size == 0) {
            return Some((keys, format!("{} is 0; give 1 task or more", keys[0])));
        }
        let complexity = self.complexity_threshold_for_gpu;
        if complexity.is_nan() || complexity < 0.0 {
            let wrong = format!(
                "complexity_threshold_for_gpu is {complexity}; give a number, 0 or more, or infinity for no stage 7"
            );
            return Some((&["complexity_threshold_for_gpu"], wrong));
        }
        let wrong = match self.last_answer {
            ExecutionStrategy::Auto => {
                "auto is not a decision; give cpu-only, gpu-only or hybrid:GPU/CPU".to_owned()
            }
            strategy => strategy.check().err()?.to_string(),
        };
        Some((&["last_answer"], format!("last_answer: {wrong}")))
    }

    /// Reads heuristics from TOML. The keys are the fields' names; each is
    /// optional, and what is left out is as in [`Default`]. `last_answer` is
    /// written as a strategy is printed, and `inf` switches stage 7 off:
    ///
    /// ```
    /// # use breakeven::plan::ProfilingHeuristics;
    /// let heuristics = ProfilingHeuristics::from_toml(r#"
    ///     complexity_threshold_for_gpu = inf
    ///     last_answer = "hybrid:70/30"
    /// "#)?;
    /// assert_eq!(heuristics, ProfilingHeuristics::hybrid_first());
    /// # Ok::<(), breakeven::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::File`](crate::ErrorKind::File) with line and column, for what
    /// is no TOML, has other keys, or would not pass [`check`](Self::check).
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        let heuristics: Self = toml_file::read(text)?;
        match heuristics.wrong() {
            Some((keys, message)) => Err(toml_file::error_at_key(text, keys, &message)),
            None => Ok(heuristics),
        }
    }

    /// Tasks per batch: the CPU's or the GPU's size, for a split the mean of both
    /// weighted by their shares, rounded; never more than there are tasks, so 0
    /// for none. For Auto, which is no decision yet, the CPU's.
    pub fn batch_size(&self, strategy: ExecutionStrategy, tasks: usize) -> usize {
        let size = match strategy {
            ExecutionStrategy::Auto | ExecutionStrategy::CpuOnly => self.optimal_cpu_batch_size,
            ExecutionStrategy::GpuOnly => self.optimal_gpu_batch_size,
            ExecutionStrategy::Hybrid {
                gpu_allocation,
                cpu_allocation,
            } => {
                let part = |size: usize, percent: u8| size as u128 * u128::from(percent);
                let sum = part(self.optimal_gpu_batch_size, gpu_allocation)
                    + part(self.optimal_cpu_batch_size, cpu_allocation);
                usize::try_from((sum + 50) / 100).unwrap_or(usize::MAX)
            }
        };
        size.min(tasks)
    }
}

#[cfg(test)]
#[path = "heuristics_tests.rs"]
mod tests;
