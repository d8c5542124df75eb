//! Converts errors to Python exceptions: classes of `breakeven._errors`, with the library's
//! messages.

use breakeven_profile::file::FileError as Cause;
use pyo3::import_exception;
use pyo3::prelude::*;

import_exception!(breakeven._errors, FileError);
import_exception!(breakeven._errors, ProfileError);
import_exception!(breakeven._errors, RecordingError);
import_exception!(breakeven._errors, CompareError);

/// A file that cannot be read or written, or has invalid content.
pub(crate) fn file_error(cause: Cause) -> PyErr {
    let message = cause.to_string();
    match cause.kind() {
        breakeven_profile::file::FileErrorKind::Io => FileError::new_err(message),
        _ => ProfileError::new_err(message),
    }
}

/// An exception whose class takes more arguments than a message.
fn made<'py>(
    py: Python<'py>,
    class: &str,
    arguments: impl pyo3::call::PyCallArgs<'py>,
) -> PyResult<PyErr> {
    let class = py.import("breakeven._errors")?.getattr(class)?;
    Ok(PyErr::from_value(class.call1(arguments)?))
}

/// The request is invalid.
pub(crate) fn invalid(py: Python<'_>, message: &str) -> PyResult<PyErr> {
    made(py, "InvalidError", (message,))
}

/// A task failed, or one of those from `index` to `end`.
pub(crate) fn task(py: Python<'_>, index: usize, end: usize, message: &str) -> PyResult<PyErr> {
    made(py, "TaskError", (index, message, end))
}

/// A device failed.
pub(crate) fn device(py: Python<'_>, kind: &str, message: &str) -> PyResult<PyErr> {
    made(py, "DeviceError", (kind, message))
}

/// A batch was stopped.
pub(crate) fn stopped(
    py: Python<'_>,
    by_deadline: bool,
    done: usize,
    tasks: usize,
) -> PyResult<PyErr> {
    let class = match by_deadline {
        true => "DeadlineExceeded",
        false => "Cancelled",
    };
    made(py, class, (done, tasks))
}
