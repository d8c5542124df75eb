//! The items of a batch in Python: a list, an array, a table, or any object that is indexed by
//! numbers or iterable.

use std::ops::Range;

use numpy::PyUntypedArray;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyListMethods, PySlice, PyTuple};

use super::Options;
use crate::errors::InvalidError;

/// Most tasks of a batch: above it, items are grouped into blocks, so that the state per task stays
/// small compared with the items.
const MOST_TASKS: usize = 1 << 20;

/// Messages to each process: enough that they end together, and few enough to cost little.
const MESSAGES_A_PROCESS: usize = 16;

/// Items that are checked to find the size of one.
const SAMPLE: usize = 16;

/// Items to work on. Slices of them are views, if the container gives views.
pub(super) struct Source {
    items: Py<PyAny>,
    kind: Kind,
    /// Number of items.
    pub(super) len: usize,
    /// Items of a task.
    pub(super) block: usize,
}

enum Kind {
    /// Indexed by numbers and slices.
    Array,
    /// Rows, only by slices, of this object.
    Table(Py<PyAny>),
    /// Indexed by numbers alone.
    Numbered,
}

impl Source {
    /// These items, each a task.
    pub(super) fn new(items: &Bound<'_, PyAny>, batched: bool) -> PyResult<Self> {
        let (items, kind) = match Kind::of(items)? {
            Some(kind) => (items.clone(), kind),
            None => {
                let list = PyList::empty(items.py());
                let each = items.try_iter();
                let each = each.map_err(|_| refused(items, "give a list or an array"))?;
                for item in each {
                    list.append(item?)?;
                }
                (list.into_any(), Kind::Array)
            }
        };
        if matches!(kind, Kind::Table(_)) && !batched {
            return Err(refused(
                &items,
                "rows come in blocks, as tables: give batched=True and a function of a table, or \
                 the rows as a list",
            ));
        }
        let len = items.len();
        let len = len.map_err(|_| refused(&items, "give a list or an array"))?;
        if !batched && len > u32::MAX as usize {
            return Err(InvalidError::new_err(format!(
                "{len} tasks in one batch: {} is the most; give parts of them",
                u32::MAX
            )));
        }
        Ok(Self {
            len,
            items: items.unbind(),
            kind,
            block: 1,
        })
    }

    /// Groups the items into tasks for a function that takes several, called by that many workers.
    pub(super) fn in_blocks(&mut self, options: &Options, workers: usize, has_gpu: bool) {
        let parts = if options.processes {
            workers.saturating_mul(MESSAGES_A_PROCESS)
        } else {
            workers
        };
        let block = match options.batch_size {
            Some(size) => size,
            None if has_gpu && !options.processes => options.min_batch.unwrap_or(1),
            None => (self.len.div_ceil(parts)).max(options.min_batch.unwrap_or(1)),
        };
        self.block = block.max(self.len.div_ceil(MOST_TASKS)).max(1);
    }

    /// Number of tasks.
    pub(super) fn tasks(&self) -> usize {
        self.len.div_ceil(self.block)
    }

    /// The items of those tasks.
    pub(super) fn items(&self, tasks: Range<usize>) -> Range<usize> {
        tasks.start * self.block..(tasks.end * self.block).min(self.len)
    }

    /// One item.
    pub(super) fn item<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        self.items.bind(py).get_item(index)
    }

    /// The items of those tasks; all of them as the original object.
    pub(super) fn part<'py>(
        &self,
        py: Python<'py>,
        tasks: Range<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (items, range) = (self.items.bind(py), self.items(tasks));
        if let Kind::Numbered = self.kind {
            let items = range.map(|index| items.get_item(index));
            let items: PyResult<Vec<_>> = items.collect();
            return Ok(PyList::new(py, items?)?.into_any());
        }
        if range == (0..self.len) {
            return Ok(items.clone());
        }
        match &self.kind {
            Kind::Table(rows) => slice(rows.bind(py), range),
            Kind::Array | Kind::Numbered => slice(items, range),
        }
    }

    /// Bytes of a task, if the container says so, or arrays in it do.
    pub(super) fn item_bytes(&self, py: Python<'_>, is_batched: bool) -> Option<usize> {
        let items = self.items.bind(py);
        // Single numbers stand for work of any size, such as the index of a file.
        let is_of_numbers = |ndim: Bound<'_, PyAny>| ndim.extract::<usize>().is_ok_and(|n| n < 2);
        if !is_batched && items.getattr("ndim").is_ok_and(is_of_numbers) {
            return None;
        }
        if let Some(bytes) = bytes_of(items) {
            return Some(bytes.div_ceil(self.len.max(1)).saturating_mul(self.block));
        }
        let is_list = items.is_instance_of::<PyList>() || items.is_instance_of::<PyTuple>();
        if !is_list || self.len == 0 {
            return None;
        }
        let step = self.len.div_ceil(SAMPLE);
        let sizes = (0..self.len).step_by(step);
        let sizes: Option<Vec<usize>> = sizes
            .map(|index| bytes_of(&self.item(py, index).ok()?))
            .collect();
        let sizes = sizes?;
        let sum = sizes
            .iter()
            .fold(0_usize, |sum, size| sum.saturating_add(*size));
        Some(sum.div_ceil(sizes.len()).saturating_mul(self.block))
    }
}

/// The items, in the form that their container gives.
pub(super) fn slice<'py>(
    items: &Bound<'py, PyAny>,
    range: Range<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let (start, end) = (isize::try_from(range.start)?, isize::try_from(range.end)?);
    items.get_item(PySlice::new(items.py(), start, end, 1))
}

/// Bytes of an array, a tensor, a table or a buffer; None for any other object, whose size says
/// nothing about the work.
fn bytes_of(items: &Bound<'_, PyAny>) -> Option<usize> {
    if let Ok(bytes) = items.cast::<PyBytes>() {
        return Some(bytes.as_bytes().len());
    }
    if let Ok(bytes) = items.getattr("nbytes") {
        return bytes.extract().ok();
    }
    let one: usize = items.call_method0("element_size").ok()?.extract().ok()?;
    let count: usize = items.call_method0("nelement").ok()?.extract().ok()?;
    Some(one.saturating_mul(count))
}

fn refused(items: &Bound<'_, PyAny>, instead: &str) -> PyErr {
    let kind = kind_of(items);
    PyTypeError::new_err(format!("tasks: {kind} is not a list of tasks; {instead}"))
}

/// The type of a value, for messages.
pub(super) fn kind_of(value: &Bound<'_, PyAny>) -> String {
    let name = value.get_type().name();
    name.map_or_else(|_| "this".to_owned(), |name| format!("a {name}"))
}

impl Kind {
    /// How to slice the object; None if it must become a list. Mappings are refused, and texts,
    /// whose letters are hardly meant as tasks.
    fn of(items: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        // The usual ones, without the exceptions of attributes that they lack.
        if items.is_instance_of::<PyList>()
            || items.is_instance_of::<PyTuple>()
            || items.cast::<PyUntypedArray>().is_ok()
        {
            return Ok(Some(Self::Array));
        }
        if items.hasattr("iloc")? {
            return Ok(Some(Self::Table(items.getattr("iloc")?.unbind())));
        }
        // Tables of Arrow and Polars; their arrays and series have no columns.
        if items.hasattr("schema")? && items.hasattr("shape")? {
            return Ok(Some(Self::Table(items.clone().unbind())));
        }
        let has_shape = items.hasattr("shape")?;
        for (name, instead) in [("keys", "list(tasks.items())"), ("encode", "[tasks]")] {
            if !has_shape && items.hasattr(name)? {
                let instead = format!("give a list or an array, such as {instead}");
                return Err(refused(items, &instead));
            }
        }
        if !items.hasattr("__getitem__")? || !items.hasattr("__len__")? {
            return Ok(None);
        }
        // Containers with slow access to the middle (`collections.deque`) become a list.
        if items.hasattr("appendleft")? {
            return Ok(None);
        }
        let is_array = has_shape
            || items.hasattr("nbytes")?
            || items.hasattr("__array__")?
            || has_slices(items)?;
        Ok(Some(if is_array {
            Self::Array
        } else {
            Self::Numbered
        }))
    }
}

/// Types whose slices are known to have the same type: ranges, buffers, Arrow's.
fn has_slices(items: &Bound<'_, PyAny>) -> PyResult<bool> {
    let module: String = items.get_type().getattr("__module__")?.extract()?;
    Ok(matches!(module.as_str(), "builtins" | "array") || module.starts_with("pyarrow"))
}
