//! A Python function as a GPU: it does a batch per call, and its exceptions are the device's
//! errors, of kinds that the schedule can react to.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use breakeven::execute::{CancelToken, Device, GpuExecutor};
use breakeven::plan::GpuSpec;
use breakeven::{DeviceError, DeviceErrorKind};
use pyo3::exceptions::{
    PyAttributeError, PyException, PyImportError, PyIndexError, PyMemoryError, PyNameError,
    PyNotImplementedError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;

use super::UserFunction;
use super::output::{Output, single, split};
use super::source::Source;
use super::workers;
use crate::locked;

/// Most exceptions that are kept per batch.
const MOST_ERRORS: usize = 16;

/// The GPU's function, and the device that it drives.
#[derive(Clone)]
pub(super) struct PyGpu {
    pub(super) function: Arc<UserFunction>,
    pub(super) source: Arc<Source>,
    pub(super) spec: GpuSpec,
    /// The function may be given up while it runs: it has its own thread.
    pub(super) on_thread: bool,
    /// Most tasks per call.
    pub(super) most: usize,
    /// Outputs are compared one by one.
    pub(super) checks: bool,
    /// Outputs are separate per task, not shared.
    pub(super) is_list: bool,
    /// The exceptions.
    pub(super) raised: Arc<Mutex<Vec<PyErr>>>,
    /// Ends the batch.
    pub(super) cancel: CancelToken,
}

impl PyGpu {
    /// The exceptions so far.
    pub(super) fn take_raised(&self) -> Vec<PyErr> {
        std::mem::take(&mut locked(&self.raised))
    }

    /// Does these tasks, on the calling thread.
    fn call(&self, tasks: &[usize]) -> Result<Vec<Output>, DeviceError> {
        let mut all = Vec::with_capacity(tasks.len());
        for tasks in tasks.chunks(self.most) {
            let range = tasks[0]..tasks[0] + tasks.len();
            let outputs = Python::attach(|py| {
                let part = self.source.part(py, range.clone())?;
                let outputs = self.function.call(py, part)?;
                match self.is_list {
                    true => single(outputs),
                    false => split(outputs, range, &self.source, self.checks),
                }
            });
            all.extend(outputs.map_err(|error| self.note(error))?);
        }
        Ok(all)
    }

    /// Keeps the function's exception, and returns the device's error. `KeyboardInterrupt` and its
    /// like are for the caller.
    fn note(&self, error: PyErr) -> DeviceError {
        let device = device_error(&error);
        if Python::attach(|py| !error.is_instance_of::<PyException>(py)) {
            self.cancel.cancel();
        }
        let mut raised = locked(&self.raised);
        if raised.len() < MOST_ERRORS {
            raised.push(error);
        }
        device
    }
}

impl GpuExecutor<usize, Output> for PyGpu {
    type Flight = Flight;

    fn start(&self, tasks: &[usize]) -> Result<Flight, DeviceError> {
        if !self.on_thread {
            return self.call(tasks).map(Flight::done);
        }
        let flight = Flight::default();
        let shared = Arc::clone(&flight.0);
        let (gpu, tasks) = (self.clone(), tasks.to_vec());
        let spawned = workers::run(move || {
            let outcome = gpu.call(&tasks);
            let mut state = locked(&shared);
            state.outcome = Some(outcome);
            let waker = state.waker.take();
            drop(state);
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        match spawned {
            Ok(()) => Ok(flight),
            Err(error) => {
                let message = format!("no thread for the GPU's function: {error}");
                Err(DeviceError::new(DeviceErrorKind::Launch, message))
            }
        }
    }

    fn device(&self) -> Option<&dyn Device> {
        Some(&self.spec)
    }

    fn depth(&self) -> usize {
        1
    }
}

/// A running call of the GPU's function.
#[derive(Default)]
pub(super) struct Flight(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    outcome: Option<Result<Vec<Output>, DeviceError>>,
    waker: Option<Waker>,
}

impl Flight {
    fn done(outputs: Vec<Output>) -> Self {
        Self(Arc::new(Mutex::new(State {
            outcome: Some(Ok(outputs)),
            waker: None,
        })))
    }
}

impl Future for Flight {
    type Output = Result<Vec<Output>, DeviceError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = locked(&self.0);
        match state.outcome.take() {
            Some(outcome) => Poll::Ready(outcome),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// The device error of an exception: by its type, then by the text of CUDA's, HIP's and XLA's own
/// errors, which come as plain `RuntimeError`s.
pub(crate) fn device_error(error: &PyErr) -> DeviceError {
    Python::attach(|py| {
        let name = error.get_type(py).qualname().map(|name| name.to_string());
        let name = name.unwrap_or_default();
        let text = error.value(py).to_string();
        let stated: Option<String> = error
            .value(py)
            .getattr("kind")
            .ok()
            .and_then(|kind| kind.extract().ok());
        let stated = stated.and_then(|kind| named(&kind));
        let kind = stated.unwrap_or_else(|| kind_of(py, error, &name, &text));
        let message = match (text.is_empty(), stated.is_some()) {
            (true, _) => name,
            (false, true) => text,
            (false, false) => format!("{name}: {text}"),
        };
        DeviceError::new(kind, message)
    })
}

fn kind_of(py: Python<'_>, error: &PyErr, name: &str, text: &str) -> DeviceErrorKind {
    let says = |words: &[&str]| {
        let text = text.to_ascii_lowercase();
        words.iter().any(|word| text.contains(word))
    };
    if name.ends_with("OutOfMemoryError")
        || error.is_instance_of::<PyMemoryError>(py)
        || says(&["out of memory", "resource_exhausted", "out_of_memory"])
    {
        return DeviceErrorKind::OutOfMemory;
    }
    if says(&[
        "illegal memory access",
        "device-side assert",
        "unspecified launch failure",
        "device lost",
        "hardware exception",
        "misaligned address",
    ]) {
        return DeviceErrorKind::DeviceLost;
    }
    if says(&[
        "no cuda-capable device",
        "no cuda gpus are available",
        "no hip gpus",
    ]) {
        return DeviceErrorKind::Unavailable { until: None };
    }
    if error.is_instance_of::<PyValueError>(py) || error.is_instance_of::<PyIndexError>(py) {
        return DeviceErrorKind::Refused;
    }
    // A mistake in the program recurs with every batch.
    if error.is_instance_of::<PyImportError>(py)
        || error.is_instance_of::<PyNotImplementedError>(py)
        || error.is_instance_of::<PyNameError>(py)
        || error.is_instance_of::<PyAttributeError>(py)
        || error.is_instance_of::<PyTypeError>(py)
    {
        return DeviceErrorKind::Unsupported;
    }
    DeviceErrorKind::Other
}

/// The kind of that name.
fn named(kind: &str) -> Option<DeviceErrorKind> {
    let mut all = DeviceErrorKind::ALL.into_iter();
    all.find(|each| each.name() == kind)
}
