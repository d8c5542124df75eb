//! A running batch, as a future of no particular runtime.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use super::batch::Batch;
use super::control::{CancelToken, Verify};
use super::drive::Unpark;
use super::executor::CpuExecutor;
use super::result::{ExecuteError, ExecutionResult};
use super::work::{each_dropped, message, quietly_dropped};
use crate::device::GpuExecutor;
use crate::error::Error;
use crate::locked;

type Outcome<T, E> = Result<ExecutionResult<T>, ExecuteError<E>>;

/// A batch that was given to the workers: a future of its result. Dropping it cancels the batch;
/// running tasks end within a millisecond, or two tasks if they take longer.
#[must_use = "a batch that nobody waits for is cancelled"]
pub struct Executing<T, E> {
    state: Arc<Mutex<State<T, E>>>,
    cancel: CancelToken,
}

struct State<T, E> {
    outcome: Option<Outcome<T, E>>,
    waker: Option<Waker>,
}

impl<T: Send + 'static, E: Send + 'static> Executing<T, E> {
    /// Starts the batch on a worker; the batch must check the token.
    pub(super) fn start(
        cpu: &dyn CpuExecutor,
        batch: impl FnOnce(&CancelToken) -> Outcome<T, E> + Send + 'static,
    ) -> Self {
        let cancel = CancelToken::new();
        let state = Arc::new(Mutex::new(State {
            outcome: None,
            waker: None,
        }));
        let (token, promised) = (cancel.clone(), Arc::clone(&state));
        cpu.spawn(Box::new(move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| batch(&token)));
            let outcome = outcome.unwrap_or_else(|panic| {
                let message = format!("the batch panicked: {}", message(panic));
                Err(Error::invalid(message).into())
            });
            let mut state = locked(&promised);
            state.outcome = Some(outcome);
            let waker = state.waker.take();
            drop(state);
            waker.into_iter().for_each(Waker::wake);
            // If the future is gone, this drops what the user's tasks returned.
            let state = Arc::into_inner(promised);
            match state.and_then(|state| locked(&state).outcome.take()) {
                Some(Ok(result)) => _ = each_dropped(result.outputs),
                other => quietly_dropped(other),
            }
        }));
        Self { state, cancel }
    }
}

impl<C: CpuExecutor, G, V> Batch<'_, C, G, V> {
    /// As [`execute`](Batch::execute), without waiting: the workers run the batch, and the future
    /// of its result is returned. It owns its inputs.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use breakeven::execute::{RayonCpu, StrategyManager};
    /// # async fn in_a_runtime_of_yours() -> Result<(), Box<dyn std::error::Error>> {
    /// # let manager = StrategyManager::cpu_only(Arc::new(RayonCpu::current()));
    /// let squares = manager.operation("square").execute_async(vec![1_u64, 2, 3], |task| {
    ///     task.checked_mul(*task).ok_or(std::fmt::Error)
    /// });
    /// assert_eq!(squares.await?.outputs, [1, 4, 9]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Several may be in flight, and each has its own outcome: an error reaches only its own
    /// future.
    ///
    /// # Errors
    ///
    /// As `execute`; [`ExecuteError::Invalid`] if [`progress`](Batch::progress) is set, which
    /// borrows.
    #[doc(alias = "launch_async")]
    pub fn execute_async<A, I, T, E, F>(self, tasks: A, process_fn: F) -> Executing<T, E>
    where
        A: AsRef<[I]> + Send + 'static,
        I: Sync,
        T: Send + 'static,
        E: Send + 'static,
        F: Fn(&I) -> Result<T, E> + Send + Sync + 'static,
        C: 'static,
        G: GpuExecutor<I, T> + 'static,
        V: Verify<T> + Send + 'static,
    {
        let name = self.operation.unwrap_or_else(|| std::any::type_name::<F>());
        self.spawned(name.to_owned(), move |batch| {
            batch.execute(tasks, process_fn)
        })
    }

    /// Starts the batch, under that name, on a worker.
    pub(super) fn spawned<T, E>(
        self,
        name: String,
        run: impl FnOnce(Batch<'_, C, G, V>) -> Outcome<T, E> + Send + 'static,
    ) -> Executing<T, E>
    where
        T: Send + 'static,
        E: Send + 'static,
        C: 'static,
        G: Send + Sync + 'static,
        V: Send + 'static,
    {
        let (options, verify) = (self.options, self.verify);
        let cancel = self.cancel[0].cloned();
        let has_progress = self.progress.is_some();
        let manager = self.manager.clone();
        let cpu = Arc::clone(&manager.cpu);
        Executing::start(&*cpu, move |dropped| {
            if has_progress {
                let error = "progress borrows, and a future does not: wait for the batch";
                return Err(Error::invalid(error).into());
            }
            run(Batch {
                manager: &manager,
                operation: Some(&name),
                options,
                cancel: [cancel.as_ref(), Some(dropped)],
                progress: None,
                verify,
            })
        })
    }
}

impl<T, E> Executing<T, E> {
    /// Waits for the batch on this thread, which must not be one of the pool's.
    ///
    /// # Errors
    ///
    /// Those of the batch.
    #[doc(alias = "synchronize")]
    pub fn wait(mut self) -> Outcome<T, E> {
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            match Pin::new(&mut self).poll(&mut context) {
                Poll::Ready(outcome) => return outcome,
                Poll::Pending => std::thread::park(),
            }
        }
    }
}

impl<T, E> Future for Executing<T, E> {
    type Output = Outcome<T, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = locked(&self.state);
        match state.outcome.take() {
            Some(outcome) => Poll::Ready(outcome),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T, E> Drop for Executing<T, E> {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl<T, E> std::fmt::Debug for Executing<T, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is_done = locked(&self.state).outcome.is_some();
        f.debug_struct("Executing")
            .field("is_done", &is_done)
            .finish_non_exhaustive()
    }
}
