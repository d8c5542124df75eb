//! A recorded coroutine or generator, step by step.

use std::sync::Mutex;

use breakeven_profile::recorder::AsyncCall;
use pyo3::exceptions::PyStopIteration;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::locked;

/// Forwards everything to the wrapped object. The call lasts from its first step to its end; the
/// time between two waits is its own time, on any thread.
#[pyclass(frozen, module = "breakeven")]
#[derive(Debug)]
pub(crate) struct Coroutine {
    inner: Py<PyAny>,
    /// `None` while a step runs, and after the end.
    call: Mutex<Option<AsyncCall>>,
}

impl Coroutine {
    pub(super) fn new(inner: Py<PyAny>, call: AsyncCall) -> Self {
        Self {
            inner,
            call: Mutex::new(Some(call)),
        }
    }

    /// Runs one step. Nothing is locked meanwhile, because Python code runs.
    fn run<'py, T>(
        &self,
        py: Python<'py>,
        part: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<T>,
    ) -> PyResult<T> {
        let inner = self.inner.bind(py);
        let slot = || locked(&self.call);
        let taken = slot().take();
        let Some(mut call) = taken else {
            return part(inner);
        };
        let result = call.part(|| part(inner));
        match &result {
            Ok(_) => *slot() = Some(call),
            Err(error) if error.is_instance_of::<PyStopIteration>(py) => call.finish(),
            // Raised or cancelled: dropping the call records that.
            Err(_) => {}
        }
        result
    }
}

#[pymethods]
impl Coroutine {
    fn __await__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.send(py, py.None().bind(py))
    }

    fn send<'py>(&self, py: Python<'py>, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.run(py, |inner| {
            inner.call_method1(intern!(py, "send"), (value,))
        })
    }

    #[pyo3(signature = (*raised))]
    fn throw<'py>(
        &self,
        py: Python<'py>,
        raised: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.run(py, |inner| {
            inner.call_method1(intern!(py, "throw"), raised.clone())
        })
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, |inner| inner.call_method0(intern!(py, "close")))?;
        // It was abandoned before its end.
        locked(&self.call).take();
        Ok(())
    }
}
