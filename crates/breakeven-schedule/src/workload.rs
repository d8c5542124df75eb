//! Describes a batch before it runs: how many tasks, how large, how hard, how parallel.

use std::fmt;

use breakeven_profile::unit;
use serde::Serialize;

use crate::error::Error;
use crate::whole;

/// Memory that a task needs in addition to its own data, bytes.
const TASK_OVERHEAD_BYTES: usize = 4096;

/// Workload size below which [`WorkloadProfile::is_small_workload`] calls it small.
const SMALL_WORKLOAD: u64 = 100_000;

/// A batch of like tasks.
///
/// ```
/// use breakeven_schedule::WorkloadProfile;
///
/// let batch = WorkloadProfile::from_task_count(1_000).with_complexity(20.0);
/// assert_eq!(batch.estimated_memory_bytes(), 1_000 * 10 * 1024);
/// assert_eq!(batch.workload_size(), 1_000 * 10 * 1024 * 20 / 10);
/// assert!(batch.benefits_from_gpu());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WorkloadProfile {
    /// Tasks in the batch.
    #[serde(rename = "tasks")]
    pub task_count: usize,
    /// Memory of one task, bytes.
    #[serde(rename = "memory_per_task_bytes")]
    pub memory_per_task: usize,
    /// Amount of computation per byte, 0 or more; 100 is the default. The unit is the user's: only
    /// its relation to
    /// [`ProfilingHeuristics::complexity_threshold_for_gpu`](crate::plan::ProfilingHeuristics)
    /// counts.
    pub complexity: f64,
    /// Fraction of the work that can run in parallel, 0 to 1; 0 is sequential.
    pub parallelization: f64,
}

impl WorkloadProfile {
    /// Creates a batch of `task_count` tasks of 10 KiB each, of complexity 100, all parallel.
    pub const fn from_task_count(task_count: usize) -> Self {
        Self {
            task_count,
            memory_per_task: 10 * 1024,
            complexity: 100.0,
            parallelization: 1.0,
        }
    }

    /// Creates a batch from the data size of a task when its memory is not known. The memory is
    /// estimated as (`task_bytes` + 4096) × (1 + complexity / 100). If the memory is known, use
    /// [`with_memory_per_task`](Self::with_memory_per_task).
    pub fn from_task_size(task_count: usize, task_bytes: usize, complexity: f64) -> Self {
        let bytes = task_bytes.saturating_add(TASK_OVERHEAD_BYTES) as f64;
        Self {
            memory_per_task: whole(bytes * (1.0 + complexity / 100.0)),
            complexity,
            ..Self::from_task_count(task_count)
        }
    }

    /// Sets the memory per task, bytes.
    #[must_use]
    pub const fn with_memory_per_task(mut self, bytes: usize) -> Self {
        self.memory_per_task = bytes;
        self
    }

    /// Sets the complexity.
    #[must_use]
    pub const fn with_complexity(mut self, complexity: f64) -> Self {
        self.complexity = complexity;
        self
    }

    /// Sets the fraction of the work that is parallel, 0 to 1.
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
        // `max` turns a NaN complexity into 1.
        let complexity = self.complexity.max(1.0);
        if complexity.fract() == 0.0 && complexity < 2f64.powi(63) {
            let product = (self.task_count as u128)
                .saturating_mul(self.memory_per_task as u128)
                .saturating_mul(whole(complexity) as u128);
            return u64::try_from(product / 10).unwrap_or(u64::MAX);
        }
        let tasks = self.task_count as f64 * self.memory_per_task as f64;
        whole(tasks * complexity / 10.0) as u64
    }

    /// Returns true if the workload size is below `threshold`.
    pub fn is_small(&self, threshold: u64) -> bool {
        self.workload_size() < threshold
    }

    /// Returns true if the workload size is above `threshold`.
    pub fn is_large(&self, threshold: u64) -> bool {
        self.workload_size() > threshold
    }

    /// Returns true if the workload size is below 100 000.
    pub fn is_small_workload(&self) -> bool {
        self.is_small(SMALL_WORKLOAD)
    }

    /// Returns true if a GPU is worth considering: the batch is parallel, has at least ten tasks,
    /// and is not small.
    pub fn benefits_from_gpu(&self) -> bool {
        self.task_count >= 10 && self.parallelization > 0.0 && !self.is_small_workload()
    }

    /// Checks that a decision can be made from these values.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](breakeven_types::ErrorKind::Invalid) for a complexity that is
    /// negative or NaN, and for a parallelization outside 0 to 1.
    pub fn check(&self) -> Result<(), Error> {
        if !(self.complexity >= 0.0 && self.complexity.is_finite()) {
            return Err(Error::invalid(format!(
                "a complexity of {}: give a number, 0 or more",
                self.complexity
            )));
        }
        if !(0.0..=1.0).contains(&self.parallelization) {
            return Err(Error::invalid(format!(
                "a parallelization of {}: give a fraction between 0 (sequential) and 1",
                self.parallelization
            )));
        }
        Ok(())
    }
}

/// `1 000 tasks of 10 KiB, complexity 100, 100.0 % parallel`.
impl fmt::Display for WorkloadProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks = unit::plural(self.task_count as u64, "task");
        let bytes = unit::bytes(self.memory_per_task as u64);
        let parallel = match self.parallelization {
            0.0 => "sequential".to_owned(),
            part => format!("{} parallel", unit::percent(part)),
        };
        let complexity = self.complexity;
        write!(f, "{tasks} of {bytes}, complexity {complexity}, {parallel}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_count_alone_has_the_usual_rest() {
        let batch = WorkloadProfile::from_task_count(7);
        assert_eq!(batch.memory_per_task, 10_240);
        assert_eq!(batch.complexity, 100.0);
        assert_eq!(batch.parallelization, 1.0);
        assert_eq!(batch.estimated_memory_bytes(), 71_680);
        assert_eq!(batch.check(), Ok(()));
    }

    #[test]
    fn memory_follows_from_a_tasks_size() {
        let bytes =
            |size, complexity| WorkloadProfile::from_task_size(1, size, complexity).memory_per_task;
        assert_eq!(bytes(1_000, 100.0), 2 * 5_096);
        assert_eq!(bytes(0, 0.0), 4_096);
        assert_eq!(bytes(usize::MAX, 1e300), usize::MAX);
    }

    #[test]
    fn sizes_are_exact_where_they_can_be_and_saturate() {
        let size = |tasks, bytes, complexity| {
            WorkloadProfile::from_task_count(tasks)
                .with_memory_per_task(bytes)
                .with_complexity(complexity)
                .workload_size()
        };
        assert_eq!(size(10, 100, 50.0), 5_000);
        // A complexity below 1 counts as 1, and the result is rounded down.
        assert_eq!(size(3, 33, 0.0), 9);
        assert_eq!(size(100, 100, 2.5), 2_500);
        // Past 2^53 a float could not distinguish these.
        assert_eq!(size(10, (1 << 53) + 1, 1.0), (1 << 53) + 1);
        assert_eq!(size(usize::MAX, usize::MAX, 1e300), u64::MAX);
        assert_eq!(size(usize::MAX, usize::MAX, 2.5), u64::MAX);
        assert_eq!(size(usize::MAX, usize::MAX, 9e18), u64::MAX);
        assert_eq!(size(0, usize::MAX, 1e300), 0);
        let large = WorkloadProfile::from_task_count(usize::MAX);
        assert_eq!(large.estimated_memory_bytes(), u64::MAX);
    }

    #[test]
    fn thresholds_are_exclusive() {
        let batch = WorkloadProfile::from_task_count(10)
            .with_memory_per_task(1_000)
            .with_complexity(10.0);
        assert_eq!(batch.workload_size(), 10_000);
        assert!(!batch.is_small(10_000) && batch.is_small(10_001));
        assert!(!batch.is_large(10_000) && batch.is_large(9_999));
        assert!(batch.is_small_workload());
        assert!(!batch.with_complexity(100.0).is_small_workload());
    }

    #[test]
    fn a_gpu_is_worth_a_thought_for_what_is_neither_few_small_nor_sequential() {
        let batch = WorkloadProfile::from_task_count(10);
        assert!(batch.benefits_from_gpu());
        assert!(!WorkloadProfile::from_task_count(9).benefits_from_gpu());
        assert!(!batch.with_parallelization(0.0).benefits_from_gpu());
        assert!(!batch.with_memory_per_task(1).benefits_from_gpu());
    }

    #[test]
    fn what_nothing_can_be_decided_from_says_so() {
        let batch = WorkloadProfile::from_task_count(1);
        let said = |batch: WorkloadProfile| {
            let error = batch.check().expect_err("it is wrong");
            assert_eq!(error.kind(), ErrorKind::Invalid);
            error.to_string()
        };
        for complexity in [f64::NAN, f64::INFINITY, -1.0] {
            let wrong = format!("a complexity of {complexity}: give a number, 0 or more");
            assert_eq!(said(batch.with_complexity(complexity)), wrong);
        }
        for part in [f64::NAN, -0.1, 1.1] {
            let wrong = format!("a parallelization of {part}: give a fraction");
            assert!(said(batch.with_parallelization(part)).starts_with(&wrong));
        }
    }

    #[test]
    fn a_batch_in_words() {
        let batch = WorkloadProfile::from_task_count(1_000).to_string();
        let expected = "1 000 tasks of 10 KiB, complexity 100, 100.0 % parallel";
        assert_eq!(batch, expected);
        let one = WorkloadProfile::from_task_count(1).with_parallelization(0.0);
        let expected = "1 task of 10 KiB, complexity 100, sequential";
        assert_eq!(one.to_string(), expected);
    }

    proptest! {
        /// Integer complexities are computed exactly, fractional ones in floating point: the two
        /// computations agree.
        #[test]
        fn a_size_is_the_product(
            tasks in 0..10_000_usize,
            bytes in 0..1_000_000_usize,
            complexity in 0.0..1_000.0,
        ) {
            let batch = WorkloadProfile::from_task_count(tasks).with_memory_per_task(bytes);
            for complexity in [complexity, f64::trunc(complexity)] {
                let size = batch.with_complexity(complexity).workload_size() as f64;
                let product = tasks as f64 * bytes as f64 * complexity.max(1.0) / 10.0;
                prop_assert!((size - product.floor()).abs() <= 1.0, "{size} {product}");
            }
        }

        #[test]
        fn more_work_is_never_smaller(
            tasks in any::<usize>(),
            bytes in any::<usize>(),
            complexity in 0.0..1e12,
            more in 0.0..1e12,
        ) {
            let size = |complexity| {
                WorkloadProfile::from_task_count(tasks)
                    .with_memory_per_task(bytes)
                    .with_complexity(complexity)
                    .workload_size()
            };
            let (size, larger) = (size(complexity), size(complexity + more));
            // The floating-point computation rounds: to one part in 2^50.
            prop_assert!(larger as f64 >= size as f64 * (1.0 - 1e-15));
        }
    }
}
