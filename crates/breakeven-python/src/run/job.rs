//! A running batch: it has its own thread, so that the waiting thread can handle Ctrl-C, draw a
//! progress bar or serve an event loop.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use breakeven::execute::CancelToken;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use super::result::Ended;
use crate::locked;

/// State shared by the thread that runs a batch and those that wait for it.
pub(super) struct Shared {
    pub(super) cancel: CancelToken,
    /// Tasks with outputs.
    pub(super) done: AtomicUsize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    outcome: Option<Ended>,
    has_ended: bool,
    /// Threads wait, or did: waking nobody is a system call.
    is_awaited: bool,
}

impl Shared {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            cancel: CancelToken::new(),
            done: AtomicUsize::new(0),
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// The batch has ended; without an outcome if it was lost to a panic.
    pub(super) fn end(&self, outcome: Option<Ended>) {
        let mut state = locked(&self.state);
        if state.has_ended {
            return;
        }
        state.outcome = outcome;
        state.has_ended = true;
        if state.is_awaited {
            self.changed.notify_all();
        }
    }
}

/// A batch that was started.
#[pyclass(frozen, module = "breakeven")]
pub(crate) struct Job {
    pub(super) shared: Arc<Shared>,
    /// Tasks of the batch.
    #[pyo3(get)]
    pub(super) tasks: usize,
}

#[pymethods]
impl Job {
    /// Waits until the batch has ended, at most `timeout` seconds; returns whether it has.
    fn wait(&self, py: Python<'_>, timeout: f64) -> bool {
        let timeout = Duration::try_from_secs_f64(timeout).unwrap_or(Duration::ZERO);
        py.detach(|| {
            let mut state = locked(&self.shared.state);
            state.is_awaited = true;
            let waits = |state: &mut State| !state.has_ended;
            let waited = self
                .shared
                .changed
                .wait_timeout_while(state, timeout, waits);
            waited.unwrap_or_else(PoisonError::into_inner).0.has_ended
        })
    }

    /// Items with outputs.
    #[getter]
    fn done(&self) -> usize {
        self.shared.done.load(Ordering::Relaxed).min(self.tasks)
    }

    /// Ends the batch within two tasks' time, or a millisecond.
    fn cancel(&self) {
        self.shared.cancel.cancel();
    }

    /// The result of a batch that has ended, once; raises the error.
    fn result(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let ended = locked(&self.shared.state).outcome.take();
        let ended = ended.ok_or_else(|| {
            PyRuntimeError::new_err(
                "the batch ended in a defect of breakeven, which stderr has: please report it",
            )
        })?;
        ended.into_python(py)
    }
}
