//! The tasks of a batch as Python has them: a list, a tuple, or anything that is indexed
//! along its first dimension, such as an array.

use std::ops::Range;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyListMethods, PySlice, PyTuple, PyTupleMethods};

/// Most tasks of a batch: more items than this are taken in blocks, so that what is kept
/// of each task stays small beside the items.
const MOST_TASKS: usize = 1 << 20;

/// Items to work on. A part of them is a view, where what holds them gives views.
pub(super) struct Source {
    items: Py<PyAny>,
    kind: Kind,
    /// How many items there are.
    pub(super) len: usize,
    /// Items of a task.
    pub(super) block: usize,
}

#[derive(Clone, Copy)]
enum Kind {
    List,
    Tuple,
    /// Indexed by numbers and slices.
    Indexed,
}

impl Source {
    /// Those items; a task is one of them unless a function takes several (`batched`) and
    /// there are very many.
    pub(super) fn new(items: &Bound<'_, PyAny>, batched: bool) -> PyResult<Self> {
        let (items, kind) = if items.is_instance_of::<PyList>() {
            (items.clone(), Kind::List)
        } else if items.is_instance_of::<PyTuple>() {
            (items.clone(), Kind::Tuple)
        } else if is_indexed(items)? {
            (items.clone(), Kind::Indexed)
        } else {
            let list = PyList::empty(items.py());
            for item in items.try_iter()? {
                list.append(item?)?;
            }
            (list.into_any(), Kind::List)
        };
        let len = items.len()?;
        let block = if batched {
            len.div_ceil(MOST_TASKS).max(1)
        } else {
            1
        };
        let items = items.unbind();
        Ok(Self {
            items,
            kind,
            len,
            block,
        })
    }

    /// How many tasks there are.
    pub(super) fn tasks(&self) -> usize {
        self.len.div_ceil(self.block)
    }

    /// The items of those tasks.
    pub(super) fn items(&self, tasks: Range<usize>) -> Range<usize> {
        tasks.start * self.block..(tasks.end * self.block).min(self.len)
    }

    /// One item.
    pub(super) fn item<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        let items = self.items.bind(py);
        match self.kind {
            Kind::List => items.cast::<PyList>()?.get_item(index),
            Kind::Tuple => items.cast::<PyTuple>()?.get_item(index),
            Kind::Indexed => items.get_item(index),
        }
    }

    /// The items of those tasks, all of them as they were given.
    pub(super) fn part<'py>(
        &self,
        py: Python<'py>,
        tasks: Range<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (items, range) = (self.items.bind(py), self.items(tasks));
        if range == (0..self.len) {
            return Ok(items.clone());
        }
        match self.kind {
            Kind::List => {
                let list = items.cast::<PyList>()?;
                Ok(list.get_slice(range.start, range.end).into_any())
            }
            Kind::Tuple => {
                let tuple = items.cast::<PyTuple>()?;
                Ok(tuple.get_slice(range.start, range.end).into_any())
            }
            Kind::Indexed => {
                let end = |end: usize| isize::try_from(end).unwrap_or(isize::MAX);
                items.get_item(PySlice::new(py, end(range.start), end(range.end), 1))
            }
        }
    }

    /// Bytes of an item, where the items are an array that says so.
    pub(super) fn item_bytes(&self, py: Python<'_>) -> Option<usize> {
        let bytes = self.items.bind(py).getattr("nbytes").ok()?;
        let bytes: usize = bytes.extract().ok()?;
        Some(bytes.div_ceil(self.len.max(1)) * self.block)
    }
}

/// True for what has a length and is indexed by numbers from 0 and by slices. A mapping is
/// not, nor is a text, whose parts are hardly anybody's tasks.
fn is_indexed(items: &Bound<'_, PyAny>) -> PyResult<bool> {
    for (name, instead) in [("keys", "list(tasks.items())"), ("encode", "[tasks]")] {
        if items.hasattr(name)? && !items.hasattr("shape")? {
            let kind = items.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "tasks: a {kind} is not a list of tasks; give a list or an array, such as {instead}"
            )));
        }
    }
    if items.hasattr("iloc")? {
        return Err(PyTypeError::new_err(
            "tasks: a pandas object; give its values as an array: tasks.to_numpy()",
        ));
    }
    Ok(items.hasattr("__getitem__")? && items.hasattr("__len__")?)
}
