//! Converts errors to Python exceptions: classes of `breakeven._errors`, with the library's
//! messages.

use breakeven::{Error, ErrorKind};
use breakeven_profile::file::FileError as Cause;
use pyo3::import_exception;
use pyo3::prelude::*;

import_exception!(breakeven._errors, Cancelled);
import_exception!(breakeven._errors, DeadlineExceeded);
import_exception!(breakeven._errors, DeviceError);
import_exception!(breakeven._errors, FileError);
import_exception!(breakeven._errors, InvalidError);
import_exception!(breakeven._errors, ProfileError);
import_exception!(breakeven._errors, RecordingError);
import_exception!(breakeven._errors, CompareError);
import_exception!(breakeven._errors, TaskError);

/// An error of the engine.
pub(crate) fn raised(error: impl Into<Error>) -> PyErr {
    let error = error.into();
    let message = error.to_string();
    match error.kind() {
        ErrorKind::Device(kind) => DeviceError::new_err((kind.name(), message)),
        _ => InvalidError::new_err(message),
    }
}

/// A file that cannot be read or written, or has invalid content.
pub(crate) fn file_error(cause: Cause) -> PyErr {
    let message = cause.to_string();
    match cause.kind() {
        breakeven_profile::file::FileErrorKind::Io => FileError::new_err(message),
        _ => ProfileError::new_err(message),
    }
}
