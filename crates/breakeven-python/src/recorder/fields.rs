//! The fields of a call besides its time.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use breakeven_profile::recorder::{AsyncCall, Guard, Site, Value};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyString};

use crate::locked;

/// Most distinct attribute names in the life of a process.
const MAX_NAMES: usize = 4_096;

/// Keywords that are not attributes.
const NO_ATTRIBUTES: [&str; 6] = ["sync", "bytes", "items", "flops", "size", "device"];

/// Fields set at the beginning of a call.
#[derive(Debug, Clone, Default)]
pub(super) struct Fields {
    pub(super) bytes: Option<u64>,
    pub(super) items: Option<u64>,
    pub(super) flops: Option<u64>,
    pub(super) attributes: Vec<(&'static str, Value<'static>)>,
}

/// Sets the fields on `$call`, a `Guard` or an `AsyncCall`.
macro_rules! set_field {
    ($fields:expr, $call:expr) => {{
        let (fields, call) = ($fields, $call);
        if let Some(bytes) = fields.bytes {
            call.bytes(bytes);
        }
        if let Some(items) = fields.items {
            call.items(items);
        }
        if let Some(flops) = fields.flops {
            call.flops(flops);
        }
        for (name, value) in &fields.attributes {
            call.attribute(name, value.clone());
        }
    }};
}

impl Fields {
    /// A call of `site` with its fields set.
    pub(super) fn enter(&self, site: &'static Site) -> Guard {
        let mut guard = Guard::enter(site);
        set_field!(self, &guard);
        // Setting counts takes no time.
        if !self.attributes.is_empty() {
            guard.start();
        }
        guard
    }

    /// The same for a call that runs in steps.
    pub(super) fn enter_parts(&self, site: &'static Site) -> AsyncCall {
        let mut call = AsyncCall::enter(site);
        set_field!(self, &mut call);
        call
    }

    pub(super) fn set_attributes(&mut self, attributes: &Bound<'_, PyDict>) -> PyResult<()> {
        for (name, value) in attributes {
            let name = name.cast::<PyString>()?.to_cow()?.into_owned();
            if NO_ATTRIBUTES.contains(&&*name) {
                continue;
            }
            let value = value_of(&name, &value)?;
            if let Some(name) = kept(&name) {
                self.attributes.push((name, value));
            }
        }
        Ok(())
    }
}

/// A count of 0 or more, of any numeric type.
pub(super) fn count<'py>(name: impl IntoPyObject<'py>, value: &Bound<'py, PyAny>) -> PyResult<u64> {
    value.extract().or_else(|_| {
        let check = value.py().import("breakeven._check")?;
        check.call_method1("count", (name, value))?.extract()
    })
}

/// A bool, a number or a text of Python's.
pub(super) fn value_of(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value<'static>> {
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(value.is_true().into());
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::Text(Cow::Owned(text.to_cow()?.into_owned())));
    }
    if let Ok(whole) = value.extract::<i64>() {
        return Ok(whole.into());
    }
    if value.is_instance_of::<PyInt>() {
        let text = value.str()?.to_cow()?.into_owned();
        return Ok(Value::Text(Cow::Owned(text)));
    }
    match value.extract::<f64>() {
        Ok(number) => Ok(number.into()),
        Err(_) => Err(PyTypeError::new_err(format!(
            "{name}: an attribute is a bool, a number or a text, not {}",
            value.get_type().name()?
        ))),
    }
}

/// The name for the life of the process; `None` if there are too many.
pub(super) fn kept(name: &str) -> Option<&'static str> {
    static NAMES: LazyLock<Mutex<HashMap<String, &'static str>>> = LazyLock::new(Mutex::default);
    let mut names = locked(&NAMES);
    if let Some(name) = names.get(name) {
        return Some(name);
    }
    let kept: &'static str = (names.len() < MAX_NAMES).then(|| name.to_owned().leak())?;
    names.insert(name.to_owned(), kept);
    Some(kept)
}
