//! What is known of a batch before it runs: how many tasks, how large, how
//! hard, how parallel.

use crate::error::Error;

/// Memory that a task takes beside its own data, bytes.
const TASK_OVERHEAD_BYTES: usize = 4096;

/// Workload size below which [`WorkloadProfile::is_small_workload`] calls it small.
const SMALL_WORKLOAD: u64 = 100_000;

/// A batch of like tasks.
///
/// ```
/// use breakeven::WorkloadProfile;
///
/// let batch = WorkloadProfile::from_task_count(1_000).with_complexity(20.0);
/// assert_eq!(batch.estimated_memory_bytes(), 1_000 * 10 * 1024);
/// assert_eq!(batch.workload_size(), 1_000 * 10 * 1024 * 20 / 10);
/// assert!(batch.benefits_from_gpu());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorkloadProfile {
    /// Tasks in the batch.
    pub task_count: usize,
    /// Memory that one task takes, bytes.
    pub memory_per_task: usize,
    /// How much there is to compute per byte, from 0; 100 is the default and
    /// the unit is the user's: only its relation to
    /// [`ProfilingHeuristics::complexity_threshold_for_gpu`](crate::plan::ProfilingHeuristics)
    /// counts.
    pub complexity: f64,
    /// The part of the work that can be done at once, 0 to 1; 0 is sequential.
    pub parallelization: f64,
}

impl WorkloadProfile {
    /// So many tasks of 10 KiB each, of complexity 100, all of them parallel.
    pub const fn from_task_count(task_count: usize) -> Self {
        Self {
            task_count,
            memory_per_task: 10 * 1024,
            complexity: 100.0,
            parallelization: 1.0,
        }
    }

    /// So many tasks whose data takes `task_bytes` each: a task's memory is
    /// (`task_bytes` + 4096) × (1 + complexity / 100).
    pub fn from_task_size(task_count: usize, task_bytes: usize, complexity: f64) -> Self {
        let bytes = task_bytes.saturating_add(TASK_OVERHEAD_BYTES) as f64;
        Self {
            memory_per_task: saturating(bytes * (1.0 + complexity / 100.0)),
            complexity,
            ..Self::from_task_count(task_count)
        }
    }

    /// The same with that much memory per task, bytes.
    #[must_use]
    pub const fn with_memory_per_task(mut self, bytes: usize) -> Self {
        self.memory_per_task = bytes;
        self
    }

    /// The same with that complexity.
    #[must_use]
    pub const fn with_complexity(mut self, complexity: f64) -> Self {
        self.complexity = complexity;
        self
    }

    /// The same with that part of the work parallel, 0 to 1.
    #[must_use]
    pub const fn with_parallelization(mut self, parallelization: f64) -> Self {
        self.parallelization = parallelization;
        self
    }

    /// Memory of all tasks, bytes; saturates.
    pub fn estimated_memory_bytes(&self) -> u64 {
        (self.task_count as u64).saturating_mul(self.memory_per_task as u64)
    }

    /// Tasks × memory per task × max(complexity, 1) / 10, rounded down; saturates.
    pub fn workload_size(&self) -> u64 {
        // `max` takes a complexity that is no number for 1.
        let complexity = self.complexity.max(1.0);
        if complexity.fract() == 0.0 && complexity < 2f64.powi(63) {
            let product = u128::from(saturating(complexity) as u64)
                * (self.task_count as u128).saturating_mul(self.memory_per_task as u128);
            return u64::try_from(product / 10).unwrap_or(u64::MAX);
        }
        let tasks = self.task_count as f64 * self.memory_per_task as f64;
        saturating(tasks * complexity / 10.0) as u64
    }

    /// True where the size is below `threshold`.
    pub fn is_small(&self, threshold: u64) -> bool {
        self.workload_size() < threshold
    }

    /// True where the size is above `threshold`.
    pub fn is_large(&self, threshold: u64) -> bool {
        self.workload_size() > threshold
    }

    /// True where the size is below 100 000.
    pub fn is_small_workload(&self) -> bool {
        self.is_small(SMALL_WORKLOAD)
    }

    /// True where a GPU is worth a thought: parallel, ten tasks or more, not small.
    pub fn benefits_from_gpu(&self) -> bool {
        self.task_count >= 10 && self.parallelization > 0.0 && !self.is_small_workload()
    }

    /// Fails for what no decision can be made from.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for a complexity that is
    /// negative or no number, and for a parallelization outside 0 to 1.
    pub fn check(&self) -> Result<(), Error> {
        if !(self.complexity >= 0.0 && self.complexity.is_finite()) {
            return Err(Error::invalid(format!(
                "a complexity of {}: give a number, 0 or more",
                self.complexity
            )));
        }
        if !(0.0..=1.0).contains(&self.parallelization) {
            return Err(Error::invalid(format!(
                "a parallelization of {}: give a part between 0 (sequential) and 1",
                self.parallelization
            )));
        }
        Ok(())
    }
}

/// A float as a count: what is negative or no number is 0, what is too large the largest.
#[expect(clippy::cast_sign_loss, reason = "a float cast saturates")]
fn saturating(value: f64) -> usize {
    value as usize
}
