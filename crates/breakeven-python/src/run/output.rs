//! Outputs of tasks, and how they are joined into one value.

use std::fmt;
use std::ops::Range;

use breakeven::execute::TaskError as Failed;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::Options;
use super::source::{Source, kind_of, slice};
use crate::errors::{DeviceError, TaskError};

/// The output of one task.
pub(super) enum Output {
    /// The CPU function's output for it.
    Own(Py<PyAny>),
    /// The GPU function's output for it.
    Gpu(Py<PyAny>),
    /// A list or an array with the outputs of this task and of all following [`Output::Next`].
    Part(Py<PyAny>),
    /// In the value before it.
    Next,
    /// The CPU function's error at it.
    Failed(Box<Failed<Raised>>),
}

impl Output {
    /// Whether two outputs are equal within a tolerance, as `breakeven._run._agree` says.
    pub(super) fn agrees(&self, other: &Self, options: &Options) -> bool {
        let (Some(a), Some(b)) = (self.value(), other.value()) else {
            return false;
        };
        let (relative, absolute) = options.tolerance;
        Python::attach(|py| {
            let agree = options.agree.call1(py, (a, b, relative, absolute));
            // Values that cannot be compared are not equal.
            agree.and_then(|agree| agree.extract(py)).unwrap_or(false)
        })
    }

    pub(super) fn value(&self) -> Option<&Py<PyAny>> {
        match self {
            Self::Own(value) | Self::Gpu(value) | Self::Part(value) => Some(value),
            Self::Next | Self::Failed(_) => None,
        }
    }
}

/// The CPU function's exception, and its items.
#[derive(Debug)]
pub(super) struct Raised {
    pub(super) error: PyErr,
    pub(super) items: Range<usize>,
}

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

/// The error of `by`, the argument `cpu` or `gpu`, that did not return one output per task.
fn wrong(by: &str, returned: &str, tasks: usize) -> PyErr {
    let s = if tasks == 1 { "" } else { "s" };
    let message = format!(
        "{by} returned {returned} for {tasks} task{s}; it must return a list or an array with one \
         output per task, in their order"
    );
    match by {
        "cpu" => PyValueError::new_err(message),
        _ => DeviceError::new_err(("wrong_result", message)),
    }
}

/// Splits the joint output of a function for several tasks: one value, or one per task (`apart`).
pub(super) fn split(
    outputs: Bound<'_, PyAny>,
    by: &str,
    range: Range<usize>,
    source: &Source,
    apart: bool,
) -> PyResult<Vec<Output>> {
    let items = source.items(range.clone()).len();
    check_several(&outputs, by, items)?;
    let found = outputs.len();
    let found = found.map_err(|_| wrong(by, &kind_of(&outputs), items))?;
    if found != items {
        return Err(wrong(by, &format!("{found} outputs"), items));
    }
    if apart {
        let part = |task: usize| {
            let start = (task - range.start) * source.block;
            let end = (start + source.block).min(items);
            Ok(Output::Part(slice(&outputs, start..end)?.unbind()))
        };
        return range.clone().map(part).collect();
    }
    let mut parts: Vec<Output> = range.map(|_| Output::Next).collect();
    if let Some(first) = parts.first_mut() {
        *first = Output::Part(outputs.unbind());
    }
    Ok(parts)
}

/// Refuses what is no ordered container: a single value, a mapping, a set, a text, or an unawaited
/// coroutine.
fn check_several(outputs: &Bound<'_, PyAny>, by: &str, tasks: usize) -> PyResult<()> {
    let has = |name| outputs.hasattr(name);
    let has_shape = has("shape")?;
    if has_shape && outputs.len().is_ok() {
        return Ok(());
    }
    if has("cr_frame")? {
        // Otherwise Python warns that it was never awaited.
        outputs.call_method0("close")?;
    }
    let is_other = has_shape || has("keys")? || has("isdisjoint")? || has("capitalize")?;
    match !is_other && (has("__len__")? || has("__iter__")?) {
        true => Ok(()),
        false => Err(wrong(by, &kind_of(outputs), tasks)),
    }
}

/// The outputs of several single tasks, one each, as a GPU's function returned them.
pub(super) fn single(outputs: Bound<'_, PyAny>, tasks: usize) -> PyResult<Vec<Output>> {
    check_several(&outputs, "gpu", tasks)?;
    // Python's own numbers, like those of a list.
    let is_flat = outputs
        .getattr("ndim")
        .and_then(|ndim| ndim.extract::<usize>());
    let outputs = match is_flat {
        Ok(1) if outputs.hasattr("tolist")? => outputs.call_method0("tolist")?,
        _ => outputs,
    };
    let each = outputs.try_iter()?;
    let each = each.map(|output| Ok(Output::Gpu(output?.unbind())));
    let all = each.collect::<PyResult<Vec<_>>>()?;
    match all.len() == tasks {
        true => Ok(all),
        false => Err(wrong("gpu", &format!("{} outputs", all.len()), tasks)),
    }
}

/// All outputs as a list, or, if they were returned jointly, in that type: `joined` joins pieces,
/// `one_type` unifies the outputs of two functions.
pub(super) fn join<'py>(
    py: Python<'py>,
    outputs: Vec<Output>,
    joined: Option<&Py<PyAny>>,
    one_type: Option<&Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut all = Vec::with_capacity(outputs.len());
    let mut by_gpu = Vec::with_capacity(outputs.len());
    let mut parts = Vec::new();
    for output in outputs {
        let (value, is_gpu) = match output {
            Output::Own(value) => (value, false),
            Output::Gpu(value) => (value, true),
            Output::Failed(error) => {
                let error = task_error(py, all.len(), *error);
                (error.into_value(py).into_any(), false)
            }
            Output::Part(outputs) => {
                parts.push(outputs);
                continue;
            }
            Output::Next => continue,
        };
        all.push(value);
        by_gpu.push(is_gpu);
    }
    match (joined, &parts[..]) {
        (_, []) => {}
        (None, [one]) => return Ok(one.bind(py).clone()),
        (None, _) => {
            let usual = py.import("breakeven._run")?.getattr("_join")?;
            return usual.call1((PyList::new(py, parts)?,));
        }
        (Some(joined), _) => return joined.bind(py).call1((PyList::new(py, parts)?,)),
    }
    let list = PyList::new(py, all)?.into_any();
    match one_type {
        Some(one_type) => one_type.bind(py).call1((list, by_gpu)),
        None => Ok(list),
    }
}

/// The exception of one task, or of several tasks done in one call, with the function's exception
/// as the cause.
pub(super) fn task_error(py: Python<'_>, index: usize, error: Failed<Raised>) -> PyErr {
    let message = error.to_string();
    let Failed::Failed(Raised { error, items }) = error else {
        return TaskError::new_err((index, message));
    };
    if !error.is_instance_of::<PyException>(py) {
        return error;
    }
    // One of several tasks that were sent to a process together.
    let place = error.value(py).getattr("__breakeven_place__");
    let (first, end) = match place.and_then(|place| place.extract::<usize>()) {
        Ok(place) => (items.start + place, items.start + place + 1),
        Err(_) => (items.start, items.end),
    };
    let made = TaskError::new_err((first, message, end));
    made.set_cause(py, Some(error));
    made
}
