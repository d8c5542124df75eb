//! One batch, before it runs: what is asked for beside its tasks.

use std::time::{Duration, Instant};

use super::control::{CancelToken, Unchecked, Verify};
use super::engine::{EachTask, FailFast, Watch};
use super::executor::{CpuExecutor, GpuExecutor};
use super::manager::StrategyManager;
use super::result::{ExecuteError, ExecutionResult, TaskError};
use super::run::{Asked, run};
use crate::workload::WorkloadProfile;

/// A batch of an operation, from [`StrategyManager::operation`].
#[must_use = "a batch runs when it is executed"]
pub struct Batch<'m, C, G, V = Unchecked> {
    manager: &'m StrategyManager<C, G>,
    operation: Option<&'m str>,
    workload: Option<WorkloadProfile>,
    cancel: Option<&'m CancelToken>,
    deadline: Option<Duration>,
    progress: Option<&'m (dyn Fn(usize, usize) + Sync)>,
    verify: V,
}

impl<'m, C, G> Batch<'m, C, G, Unchecked> {
    pub(super) fn new(manager: &'m StrategyManager<C, G>, operation: Option<&'m str>) -> Self {
        Self {
            manager,
            operation,
            workload: None,
            cancel: None,
            deadline: None,
            progress: None,
            verify: Unchecked,
        }
    }

    /// Holds outputs of the GPU against the CPU's function: by a
    /// [`CrossCheck`](super::CrossCheck), or by a program's own
    /// [`Verify`](super::Verify).
    pub fn verify<W>(self, check: W) -> Batch<'m, C, G, W> {
        Batch {
            manager: self.manager,
            operation: self.operation,
            workload: self.workload,
            cancel: self.cancel,
            deadline: self.deadline,
            progress: self.progress,
            verify: check,
        }
    }
}

impl<'m, C: CpuExecutor, G, V> Batch<'m, C, G, V> {
    /// What is known of the tasks: complexity, memory, how parallel. Its count
    /// of tasks is replaced by that of the batch. Without it a task takes the
    /// memory of its type and is of complexity 100.
    pub fn workload(mut self, workload: WorkloadProfile) -> Self {
        self.workload = Some(workload);
        self
    }

    /// Stops when the token is used. Looked at before each span.
    pub fn cancel(mut self, token: &'m CancelToken) -> Self {
        self.cancel = Some(token);
        self
    }

    /// Stops when that much time has passed. Looked at before each span: a task
    /// that runs is not broken off.
    pub fn deadline(mut self, time: Duration) -> Self {
        self.deadline = Some(time);
        self
    }

    /// Calls `told(done, tasks)` after each span, from the thread that did it.
    pub fn progress(mut self, told: &'m (dyn Fn(usize, usize) + Sync)) -> Self {
        self.progress = Some(told);
        self
    }

    /// Runs every task: on the CPU by `process_fn`, on the GPU by the executor's
    /// own kernel. The outputs are in the order of the tasks. None of no tasks.
    ///
    /// # Errors
    ///
    /// [`ExecuteError::Task`] as soon as a task fails or panics, with its index
    /// (of several, the least that was seen); [`ExecuteError::Device`] where the
    /// policy does not let the CPU take over; [`ExecuteError::Stopped`];
    /// [`ExecuteError::Invalid`] for what cannot be done, before anything runs.
    pub fn execute<I, T, E, F>(
        self,
        tasks: impl AsRef<[I]>,
        process_fn: F,
    ) -> Result<ExecutionResult<T>, ExecuteError<E>>
    where
        I: Sync,
        T: Send,
        E: Send,
        F: Fn(&I) -> Result<T, E> + Sync,
        G: GpuExecutor<I, T>,
        V: Verify<T>,
    {
        let name = self.name::<F>();
        run::<I, T, E, F, FailFast, C, G, V>(self.asked(name), tasks.as_ref(), &process_fn, None)
    }

    /// As [`execute`](Self::execute), but every task has a result of its own: one
    /// that fails or panics costs no other, and what was done before a stop is kept.
    ///
    /// # Errors
    ///
    /// [`ExecuteError::Device`] and [`ExecuteError::Invalid`], as `execute`.
    pub fn execute_each<I, T, E, F>(
        self,
        tasks: impl AsRef<[I]>,
        process_fn: F,
    ) -> Result<ExecutionResult<Result<T, TaskError<E>>>, ExecuteError<E>>
    where
        I: Sync,
        T: Send,
        E: Send,
        F: Fn(&I) -> Result<T, E> + Sync,
        G: GpuExecutor<I, T>,
        V: Verify<T>,
    {
        let name = self.name::<F>();
        run::<I, T, E, F, EachTask, C, G, V>(
            self.asked(name),
            tasks.as_ref(),
            &process_fn,
            Some(&|why| Err(TaskError::NotRun(why))),
        )
    }

    fn name<F>(&self) -> &'m str {
        match self.operation {
            Some(name) => name,
            None => std::any::type_name::<F>(),
        }
    }

    fn asked(self, operation: &'m str) -> Asked<'m, C, G, V> {
        Asked {
            manager: self.manager,
            operation,
            workload: self.workload,
            watch: Watch {
                cancel: self.cancel,
                deadline: self
                    .deadline
                    .and_then(|time| Instant::now().checked_add(time)),
                progress: self.progress,
            },
            verify: self.verify,
        }
    }
}

impl<C, G, V> std::fmt::Debug for Batch<'_, C, G, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch")
            .field("operation", &self.operation)
            .field("workload", &self.workload)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
