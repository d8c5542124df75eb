//! Outputs of tasks, and how they are joined into one value.

use std::ops::Range;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::source::{Source, slice};

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
}

impl Output {
    /// Whether two outputs are equal within a tolerance, as `breakeven._run.agree` says.
    pub(super) fn agrees(&self, other: &Self, tolerance: &Tolerance) -> bool {
        let (Some(a), Some(b)) = (self.value(), other.value()) else {
            return false;
        };
        Python::attach(|py| {
            let (relative, absolute) = (tolerance.relative, tolerance.absolute);
            let agree = tolerance.rule.call1(py, (a, b, relative, absolute));
            // Values that cannot be compared are not equal.
            agree.and_then(|agree| agree.extract(py)).unwrap_or(false)
        })
    }

    pub(super) fn value(&self) -> Option<&Py<PyAny>> {
        match self {
            Self::Own(value) | Self::Gpu(value) | Self::Part(value) => Some(value),
            Self::Next => None,
        }
    }
}

/// Compares outputs of a GPU with the CPU's.
pub(super) struct Tolerance {
    pub(super) rule: Py<PyAny>,
    pub(super) relative: f64,
    pub(super) absolute: f64,
}

/// Splits the joint output of a function for several tasks: one value, or one per task (`apart`).
pub(super) fn split(
    outputs: Bound<'_, PyAny>,
    range: Range<usize>,
    source: &Source,
    apart: bool,
) -> PyResult<Vec<Output>> {
    let expected = "a function of a whole batch must return a list or an array with one output \
                    per item";
    if !is_several(&outputs)? {
        let message = format!("{expected}, not {}", kind_of(&outputs));
        return Err(PyTypeError::new_err(message));
    }
    let found = outputs
        .len()
        .map_err(|_| PyTypeError::new_err(format!("{expected}, not {}", kind_of(&outputs))))?;
    let items = source.items(range.clone()).len();
    if found != items {
        let message = format!("{found} outputs of {items} items; {expected}, in their order");
        return Err(PyValueError::new_err(message));
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

/// True for an ordered container: not a mapping, a set, a text, or an unawaited coroutine.
fn is_several(outputs: &Bound<'_, PyAny>) -> PyResult<bool> {
    if outputs.hasattr("shape")? {
        return Ok(true);
    }
    if outputs.hasattr("cr_frame")? {
        // Otherwise Python warns that it was never awaited.
        outputs.call_method0("close")?;
    }
    let is_other = outputs.hasattr("keys")?
        || outputs.hasattr("isdisjoint")?
        || outputs.hasattr("capitalize")?;
    Ok(!is_other && (outputs.hasattr("__len__")? || outputs.hasattr("__iter__")?))
}

/// The outputs of several single tasks, one each, as a GPU's function returned them.
pub(super) fn single(outputs: Bound<'_, PyAny>) -> PyResult<Vec<Output>> {
    if !is_several(&outputs)? {
        return Err(PyTypeError::new_err(format!(
            "gpu must return a list or an array with one output per task, not {}",
            kind_of(&outputs)
        )));
    }
    // Python's own numbers, like those of a list.
    let is_flat = outputs
        .getattr("ndim")
        .and_then(|ndim| ndim.extract::<usize>());
    let outputs = match is_flat {
        Ok(1) if outputs.hasattr("tolist")? => outputs.call_method0("tolist")?,
        _ => outputs,
    };
    let outputs = outputs.try_iter()?;
    outputs
        .map(|output| Ok(Output::Gpu(output?.unbind())))
        .collect()
}

fn kind_of(value: &Bound<'_, PyAny>) -> String {
    let name = value.get_type().name();
    name.map_or_else(|_| "that".to_owned(), |name| format!("a {name}"))
}

/// All outputs as a list, or, if they were returned jointly, in that type: `joined` joins pieces,
/// `one_type` unifies the outputs of two functions.
pub(super) fn join<'py>(
    py: Python<'py>,
    outputs: Vec<Output>,
    joined: Option<&Bound<'py, PyAny>>,
    one_type: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (mut all, mut by_gpu, mut parts) = (Vec::new(), Vec::new(), Vec::new());
    for output in outputs {
        match output {
            Output::Own(value) => {
                by_gpu.push(false);
                all.push(value);
            }
            Output::Gpu(value) => {
                by_gpu.push(true);
                all.push(value);
            }
            Output::Part(outputs) => parts.push(outputs),
            Output::Next => {}
        }
    }
    match (joined, &parts[..]) {
        (_, []) => {}
        (None, [one]) => return Ok(one.bind(py).clone()),
        (None, _) => {
            let usual = py.import("breakeven._run")?.getattr("_join")?;
            return usual.call1((PyList::new(py, parts)?,));
        }
        (Some(joined), _) => return joined.call1((PyList::new(py, parts)?,)),
    }
    let list = PyList::new(py, all)?.into_any();
    match one_type {
        Some(one_type) => one_type.call1((list, by_gpu)),
        None => Ok(list),
    }
}
