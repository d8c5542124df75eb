//! The result of a batch, for Python.

use std::sync::Arc;
use std::time::Duration;

use breakeven::execute::{ExecuteError, ExecutionResult, Stop};
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyType};

use super::Options;
use super::output::{Output, Raised, join, task_error};
use super::source::Source;
use super::ways::Held;
use crate::errors::{Cancelled, DeadlineExceeded, DeviceError, InvalidError};

/// The outputs of a batch, and how they were computed; or why there are none.
pub(super) type Outcome = Result<(Vec<Output>, ExecutionResult<()>), ExecuteError<Raised>>;

/// A finished batch.
pub(super) struct Ended {
    pub(super) outcome: Outcome,
    /// The exceptions of the GPU's function.
    pub(super) raised: Vec<PyErr>,
    /// The CPU's function.
    pub(super) function: Py<PyAny>,
    pub(super) options: Arc<Options>,
    pub(super) source: Arc<Source>,
    pub(super) how: How,
}

/// How the CPU's function was called.
#[derive(Clone, Copy, Default)]
pub(super) struct How {
    /// Workers that could take part.
    pub(super) workers: usize,
    /// The measurement of its use of the GIL, if requested.
    pub(super) held: Option<Held>,
    /// Time of one call of all items, and of a split over all workers.
    pub(super) ways: Option<(Duration, Option<Duration>)>,
    /// All workers took part because the interpreter has no GIL, or has it off.
    pub(super) without_lock: bool,
}

/// All outputs of a batch, and how they were computed.
#[pyclass(frozen, subclass, module = "breakeven", name = "ExecutionResult")]
pub(crate) struct PyExecutionResult {
    /// One per task, in order: a list, or the return value of a function of a complete batch.
    #[pyo3(get)]
    outputs: Py<PyAny>,
    /// Exceptions of the GPU's function, the first sixteen, not late calls and failed checks.
    #[pyo3(get)]
    errors: Py<PyList>,
    how: How,
    result: ExecutionResult<()>,
}

impl Ended {
    /// The result, or the exception for the error.
    pub(super) fn into_python(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        // Ctrl-C and `sys.exit` are not device errors.
        let exits = |error: &&PyErr| !error.is_instance_of::<PyException>(py);
        if let Some(error) = self.raised.iter().find(exits) {
            return Err(error.clone_ref(py));
        }
        let (outputs, result) = match self.outcome {
            Ok(ended) => ended,
            Err(error) => return Err(failed(py, error, self.raised, &self.source)),
        };
        let (options, source) = (&self.options, &self.source);
        let outputs = match options.batched && source.len == 0 {
            // An array without items instead of a list, if the function returns one.
            true => (source.part(py, 0..0))
                .and_then(|part| self.function.bind(py).call1((part,)))
                .unwrap_or_else(|_| PyList::empty(py).into_any()),
            false => join(
                py,
                outputs,
                options.join.as_ref(),
                options.one_type.as_ref(),
            )?,
        };
        // Unlike `value`, this keeps the traceback.
        let raised = self.raised.into_iter().map(|error| error.into_value(py));
        let raised: Vec<_> = raised.collect();
        let made = PyExecutionResult {
            outputs: outputs.unbind(),
            errors: PyList::new(py, raised)?.unbind(),
            how: self.how,
            result,
        };
        Ok(Py::new(py, made)?.into_any())
    }
}

impl PyExecutionResult {
    /// The result of an operator's batch.
    pub(crate) fn of_operator(
        py: Python<'_>,
        output: Bound<'_, PyAny>,
        result: ExecutionResult<()>,
    ) -> Self {
        Self {
            outputs: output.unbind(),
            errors: PyList::empty(py).unbind(),
            how: How {
                workers: rayon::current_num_threads(),
                ..How::default()
            },
            result,
        }
    }
}

#[pymethods]
impl PyExecutionResult {
    /// `ExecutionResult[T]`, for annotations.
    #[classmethod]
    fn __class_getitem__(class: &Bound<'_, PyType>, _of: &Bound<'_, PyAny>) -> Py<PyType> {
        class.clone().unbind()
    }

    /// Fraction of the time in which the CPU's function held the GIL, 0 to 1; None if it was not
    /// measured.
    #[getter]
    fn gil_held(&self) -> Option<f64> {
        self.how.held.map(|held| held.part)
    }

    /// CPU workers that could take part.
    #[getter]
    fn workers(&self) -> usize {
        self.how.workers
    }

    /// The operation's name.
    #[getter]
    fn operation(&self) -> &str {
        &self.result.operation
    }

    /// Tasks of the batch.
    #[getter]
    fn tasks(&self) -> usize {
        self.result.tasks
    }

    /// Where tasks ran: `cpu-only`, `gpu-only` or `hybrid:60/40`, the GPU's share first.
    #[getter]
    fn strategy_used(&self) -> String {
        self.result.strategy_used.to_string()
    }

    /// From the call to the last output, seconds.
    #[getter]
    fn execution_time(&self) -> f64 {
        self.result.execution_time.as_secs_f64()
    }

    /// True if the CPU did tasks at which the GPU failed.
    #[getter]
    fn fallback_occurred(&self) -> bool {
        self.result.fallback_occurred
    }

    /// Tasks that the CPU did.
    #[getter]
    fn cpu_tasks(&self) -> usize {
        self.result.cpu.tasks
    }

    /// Tasks that the GPU did.
    #[getter]
    fn gpu_tasks(&self) -> usize {
        self.result.gpu.tasks
    }

    /// The complete record of the execution without its outputs; times are `{"secs", "nanos"}`.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let data = serde_json::to_string(&self.result)
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let data = py.import("json")?.call_method1("loads", (data,))?;
        data.del_item("outputs")?;
        Ok(data)
    }

    fn __repr__(&self) -> String {
        let (result, seconds) = (&self.result, self.execution_time());
        format!(
            "<ExecutionResult of {}: {} tasks in {seconds:.6} s, {}>",
            result.operation, result.tasks, result.strategy_used
        )
    }

    /// The explanation, in a notebook.
    #[pyo3(name = "_repr_html_")]
    fn repr_html(&self, py: Python<'_>) -> PyResult<String> {
        let text = py
            .import("html")?
            .call_method1("escape", (self.explain(),))?;
        Ok(format!("<pre>{text}</pre>"))
    }

    /// What ran where, why, predicted and actual time, as text.
    fn explain(&self) -> String {
        let mut text = self.result.explain().to_string();
        if let Some(python) = self.how.explain() {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text += &format!("python: {python}\n");
        }
        text
    }
}

impl How {
    fn explain(self) -> Option<String> {
        let workers = match self.workers {
            1 => "1 thread".to_owned(),
            more => format!("{more} threads"),
        };
        if let Some(Held { part, watched }) = self.held {
            let (percent, ms) = (part * 100.0, watched.as_millis());
            let all = match self.workers {
                1 => "; with workers=\"processes\" it would run on all cores",
                _ => "",
            };
            return Some(format!(
                "the CPU's function held the interpreter's lock {percent:.0} % of the {ms} ms that \
                 it was watched: {workers}{all}"
            ));
        }
        if let Some((one, parts)) = self.ways {
            let parts = parts.map_or("not yet measured".to_owned(), |parts| {
                format!("{parts:.2?}")
            });
            return Some(format!(
                "a batch of about this size takes {one:.2?} as one call, in parts on all threads \
                 {parts}: {workers}"
            ));
        }
        let text = format!("the interpreter's lock was off when the batch began: {workers}");
        self.without_lock.then_some(text)
    }
}

/// The error of a batch.
fn failed(
    py: Python<'_>,
    error: ExecuteError<Raised>,
    raised: Vec<PyErr>,
    source: &Source,
) -> PyErr {
    let items = |tasks: usize| (tasks * source.block).min(source.len);
    match error {
        ExecuteError::Task { index, error } => task_error(py, items(index), error),
        ExecuteError::Device {
            error,
            fallen,
            tasks,
        } => {
            let message = format!(
                "{}; the fallback policy does not let the CPU do {} of {} tasks",
                error.message,
                items(fallen),
                items(tasks)
            );
            let made = DeviceError::new_err((error.kind.name(), message));
            if let Some(cause) = raised.into_iter().next_back() {
                made.set_cause(py, Some(cause));
            }
            made
        }
        ExecuteError::Stopped { why, done, tasks } => {
            let (done, tasks) = (items(done), items(tasks));
            match why {
                Stop::Deadline => DeadlineExceeded::new_err((done, tasks)),
                _ => Cancelled::new_err((done, tasks)),
            }
        }
        other => InvalidError::new_err(other.to_string()),
    }
}
