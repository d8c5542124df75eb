//! The methods that run a batch of tasks, one for each kind of function.

use std::convert::Infallible;

use super::batch::Batch;
use super::check::Check;
use super::control::Verify;
use super::executor::CpuExecutor;
use super::result::{ExecuteError, ExecutionResult, TaskError};
use super::slots::Slots;
use super::tasks::{Batched, EachTask, FailFast, Function, Keep, Tasks};
use super::work::{Lane, dropped, each_dropped};
use crate::WorkloadProfile;
use crate::device::GpuExecutor;
use crate::error::Error;

impl<C: CpuExecutor, G, V> Batch<'_, C, G, V> {
    /// Runs every task: on the CPU by `process_fn`, on a GPU by the executor's own kernel. The
    /// outputs are in the order of the tasks; a batch without tasks has none.
    ///
    /// # Errors
    ///
    /// [`ExecuteError::Task`] as soon as a task fails or panics, with its index (of several, the
    /// lowest observed); [`ExecuteError::Device`] if the policy does not let the CPU take over;
    /// [`ExecuteError::Stopped`]; [`ExecuteError::Invalid`] for an impossible request, before
    /// anything runs.
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
        self.run_tasks::<I, T, E, F, FailFast>(tasks, process_fn, false)
    }

    /// As [`execute`](Self::execute), for a function that cannot fail.
    ///
    /// # Errors
    ///
    /// As `execute`; a panic in a task is that task's error.
    pub fn map<I, T, F>(
        mut self,
        tasks: impl AsRef<[I]>,
        function: F,
    ) -> Result<ExecutionResult<T>, ExecuteError<Infallible>>
    where
        I: Sync,
        T: Send,
        F: Fn(&I) -> T + Sync,
        G: GpuExecutor<I, T>,
        V: Verify<T>,
    {
        self.operation.get_or_insert(std::any::type_name::<F>());
        self.execute(tasks, move |task| Ok(function(task)))
    }

    /// As [`execute`](Self::execute), but every task has its own result: a task that fails or
    /// panics does not affect the remaining ones, and results before a stop are kept.
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
        self.run_tasks::<I, T, E, F, EachTask>(tasks, process_fn, true)
    }

    /// As [`execute`](Self::execute), for a function that runs several tasks a call and returns an
    /// output for each, such as one that is vectorised over a slice. Each call gets consecutive
    /// tasks. Without a GPU each worker gets one call. Beside a GPU a call begins with one task and
    /// gets more from call to call, until its fixed cost is at most a twentieth of its time. The
    /// fixed cost is remembered.
    ///
    /// # Errors
    ///
    /// As `execute`; the index is that of the first task of the call that failed.
    pub fn execute_batches<I, T, E, F>(
        self,
        tasks: impl AsRef<[I]>,
        process_batch: F,
    ) -> Result<ExecutionResult<T>, ExecuteError<E>>
    where
        I: Sync,
        T: Send,
        E: Send,
        F: Fn(&[I]) -> Result<Vec<T>, E> + Sync,
        G: GpuExecutor<I, T>,
        V: Verify<T>,
    {
        let function = Batched(process_batch);
        self.run_tasks::<I, T, E, Batched<F>, FailFast>(tasks, function, false)
    }

    /// As [`execute_batches`](Self::execute_batches), for a function that cannot fail.
    ///
    /// # Errors
    ///
    /// As `execute_batches`.
    pub fn map_batches<I, T, F>(
        mut self,
        tasks: impl AsRef<[I]>,
        function: F,
    ) -> Result<ExecutionResult<T>, ExecuteError<Infallible>>
    where
        I: Sync,
        T: Send,
        F: Fn(&[I]) -> Vec<T> + Sync,
        G: GpuExecutor<I, T>,
        V: Verify<T>,
    {
        self.operation.get_or_insert(std::any::type_name::<F>());
        self.execute_batches(tasks, move |piece| Ok(function(piece)))
    }

    /// Runs the tasks, and drops the inputs of the call.
    fn run_tasks<I, T, E, F, K>(
        &self,
        given: impl AsRef<[I]>,
        function: F,
        each: bool,
    ) -> Result<ExecutionResult<K::Kept>, ExecuteError<E>>
    where
        I: Sync,
        T: Send,
        E: Send,
        F: Function<I, T, E>,
        K: Keep<T, E>,
        G: GpuExecutor<I, T>,
        V: Verify<T>,
    {
        let run = || {
            let tasks = given.as_ref();
            let operation = self.operation.unwrap_or_else(|| std::any::type_name::<F>());
            let slots = Slots::new(tasks.len()).ok_or_else(|| {
                Error::too_large(format!(
                    "the outputs of {} tasks, {} bytes each, do not fit memory",
                    tasks.len(),
                    size_of::<K::Kept>()
                ))
            })?;
            let work = Tasks::<I, T, E, F, K>::new(tasks, &function, slots);
            let lanes = self.lanes(&work, &self.verify);
            let lanes: Vec<&dyn Lane> = lanes.iter().map(|lane| lane as &dyn Lane).collect();
            let usual = WorkloadProfile::from_task_size(tasks.len(), size_of::<I>(), 100.0);
            if F::IS_CALL {
                // The fixed cost of a call is worth knowing without a GPU too.
                self.manager.shared.model(self.manager.slots.is_empty());
            }
            let question = self.question(operation, self.profile(usual), &lanes)?;
            let check = Check::of(&self.verify)?;
            let ended = self.request(&question, &work, check, each)?.run();
            let parts = work.into_parts();
            ended?.result(operation, parts)
        };
        let outcome = run();
        match (dropped(given).or(dropped(function)), outcome) {
            (Some(said), Ok(result)) => {
                each_dropped(result.outputs);
                let error = format!("the tasks or their function panicked {said}");
                Err(Error::invalid(error).into())
            }
            (_, outcome) => outcome,
        }
    }
}
