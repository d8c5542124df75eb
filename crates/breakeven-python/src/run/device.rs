//! A Python function as a GPU: it does a batch per call, and its exceptions are the device's
//! errors, of kinds that the schedule can react to.

use std::future::{poll_fn, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use breakeven::execute::{CancelToken, Device, GpuExecutor};
use breakeven::plan::GpuSpec;
use breakeven::{DeviceError, DeviceErrorKind};
use pyo3::exceptions::{
    PyAttributeError, PyException, PyImportError, PyIndexError, PyMemoryError, PyNameError,
    PyNotImplementedError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;

use super::output::{Output, single, split};
use super::source::Source;
use super::workers;
use super::{Options, UserFunction};
use crate::locked;

/// Most exceptions that are kept per batch.
const MOST_ERRORS: usize = 16;

/// The GPU's function, and the device that it drives.
#[derive(Clone)]
pub(super) struct PyGpu {
    pub(super) function: Arc<UserFunction>,
    pub(super) source: Arc<Source>,
    pub(super) options: Arc<Options>,
    pub(super) spec: GpuSpec,
    /// The exceptions.
    pub(super) raised: Arc<Mutex<Vec<PyErr>>>,
    /// Ends the batch.
    pub(super) cancel: CancelToken,
}

impl PyGpu {
    /// Does these tasks, on the calling thread.
    fn call(&self, tasks: &[usize]) -> Called {
        let options = &*self.options;
        let most = match options.batch_size {
            Some(_) if options.batched => 1,
            _ => usize::MAX,
        };
        let mut all = Vec::with_capacity(tasks.len());
        for tasks in tasks.chunks(most) {
            let range = tasks[0]..tasks[0] + tasks.len();
            let outputs = Python::attach(|py| {
                let part = self.source.part(py, range.clone())?;
                let outputs = self.function.call(py, part)?;
                match options.batched || options.processes {
                    true => split(outputs, "gpu", range, &self.source, options.check > 0.0),
                    false => single(outputs, tasks.len()),
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
    type Flight = Pin<Box<dyn Future<Output = Called> + Send>>;

    fn start(&self, tasks: &[usize]) -> Result<Self::Flight, DeviceError> {
        if self.options.timeout.is_none() {
            let outputs = self.call(tasks)?;
            return Ok(Box::pin(ready(Ok(outputs))));
        }
        let shared = Arc::new(Mutex::new(Running::default()));
        let flight = Arc::clone(&shared);
        let (gpu, tasks) = (self.clone(), tasks.to_vec());
        let spawned = workers::run(move || {
            let outcome = gpu.call(&tasks);
            let mut running = locked(&shared);
            running.outcome = Some(outcome);
            let waker = running.waker.take();
            drop(running);
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        spawned.map_err(|error| {
            let message = format!("no thread for the GPU's function: {error}");
            DeviceError::new(DeviceErrorKind::Launch, message)
        })?;
        Ok(Box::pin(poll_fn(move |context| {
            let mut running = locked(&flight);
            running.waker = Some(context.waker().clone());
            running.outcome.take().map_or(Poll::Pending, Poll::Ready)
        })))
    }

    fn device(&self) -> Option<&dyn Device> {
        Some(&self.spec)
    }

    fn depth(&self) -> usize {
        1
    }
}

/// What a call of the GPU's function gave.
type Called = Result<Vec<Output>, DeviceError>;

/// A call of the GPU's function on a thread of its own.
#[derive(Default)]
struct Running {
    outcome: Option<Called>,
    waker: Option<Waker>,
}

/// The device error of an exception: by its type, then by the text of CUDA's, HIP's and XLA's own
/// errors, which come as plain `RuntimeError`s.
pub(crate) fn device_error(error: &PyErr) -> DeviceError {
    Python::attach(|py| {
        let name = error.get_type(py).qualname().map(|name| name.to_string());
        let name = name.unwrap_or_default();
        let text = error.value(py).to_string();
        let stated = error.value(py).getattr("kind");
        let stated = stated.and_then(|kind| kind.extract::<String>()).ok();
        let mut kinds = DeviceErrorKind::ALL.into_iter();
        let stated = stated.and_then(|stated| kinds.find(|kind| kind.name() == stated));
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
