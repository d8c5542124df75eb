//! Outputs of tasks, as Python gave them, and how they become one value.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice};

/// The output of one task.
pub(super) enum Output {
    /// What a function gave for it.
    Own(Py<PyAny>),
    /// One of the outputs that a function gave for several tasks.
    Shared {
        outputs: Arc<Py<PyAny>>,
        /// Which of them, counted in tasks.
        place: usize,
    },
}

impl Output {
    /// Whether two outputs are equal within a tolerance, as `breakeven._run.agree` says.
    pub(super) fn agrees(&self, other: &Self, tolerance: &Tolerance) -> bool {
        Python::attach(|py| {
            let agree = || -> PyResult<bool> {
                let (a, b) = (
                    self.value(py, tolerance.block)?,
                    other.value(py, tolerance.block)?,
                );
                let rule = tolerance.rule.bind(py);
                rule.call1((a, b, tolerance.relative, tolerance.absolute))?
                    .extract()
            };
            // What cannot be compared is not equal.
            agree().unwrap_or(false)
        })
    }

    /// It, with `block` items of a task.
    pub(super) fn value<'py>(&self, py: Python<'py>, block: usize) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Own(value) => Ok(value.bind(py).clone()),
            Self::Shared { outputs, place } => {
                let outputs = outputs.bind(py);
                let start = place * block;
                let end = (start + block).min(outputs.len()?);
                outputs.get_item(PySlice::new(
                    py,
                    isize::try_from(start)?,
                    isize::try_from(end)?,
                    1,
                ))
            }
        }
    }
}

/// How outputs of a GPU are held against the CPU's.
pub(super) struct Tolerance {
    pub(super) rule: Py<PyAny>,
    pub(super) relative: f64,
    pub(super) absolute: f64,
    /// Items of a task.
    pub(super) block: usize,
}

/// The outputs of `tasks` tasks that a function gave together, `items` of them, one by one.
pub(super) fn split(
    outputs: Bound<'_, PyAny>,
    tasks: usize,
    items: usize,
) -> PyResult<Vec<Output>> {
    let found = outputs.len().map_err(|_| {
        PyTypeError::new_err(format!(
            "a function of a whole batch must return a list or an array with one output per item, \
             not {}",
            kind_of(&outputs)
        ))
    })?;
    if found != items {
        return Err(PyValueError::new_err(format!(
            "{found} outputs of {items} items; a function of a whole batch must return one output \
             for each, in their order"
        )));
    }
    let outputs = Arc::new(outputs.unbind());
    let place = |place| Output::Shared {
        outputs: Arc::clone(&outputs),
        place,
    };
    Ok((0..tasks).map(place).collect())
}

fn kind_of(value: &Bound<'_, PyAny>) -> String {
    let name = value.get_type().name();
    name.map_or_else(|_| "that".to_owned(), |name| format!("a {name}"))
}

/// All outputs as a list, or, where they were given together, as what they were given as:
/// arrays are joined to one array, and a single one is given on as it is.
pub(super) fn join<'py>(
    py: Python<'py>,
    outputs: Vec<Output>,
    joined: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut parts: Vec<Arc<Py<PyAny>>> = Vec::new();
    let mut own = Vec::new();
    for output in outputs {
        match output {
            Output::Own(value) => own.push(value),
            Output::Shared { outputs, place } => {
                if place == 0 {
                    parts.push(outputs);
                }
            }
        }
    }
    if parts.is_empty() {
        return Ok(PyList::new(py, own)?.into_any());
    }
    if let [part] = &parts[..] {
        return Ok(part.bind(py).clone());
    }
    let parts = parts.iter().map(|part| part.bind(py));
    joined.call1((PyList::new(py, parts)?,))
}
