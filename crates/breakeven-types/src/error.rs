//! The errors of breakeven's crates: [`Error`] for what a caller asked wrongly, and
//! [`DeviceError`] for what a device could not do.

use std::fmt;
use std::io;
use std::path::Path;
use std::time::Instant;

use breakeven_profile::file::FileError;
use serde::{Serialize, Serializer};

/// What kind of mistake an [`Error`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// Shapes or parameters that do not fit together.
    Shape,
    /// More memory than there is, or sizes past `usize`.
    TooLarge,
    /// A name that is not known.
    UnknownName,
    /// A value that no decision can be made from: percentages that do not sum
    /// to 100, a complexity that is no number.
    Invalid,
    /// A series from which no single model follows.
    Singular,
    /// A file that could not be read or written, or says what it may not.
    File,
    /// An objective counts something unknown: the energy of a device, or its price. The message
    /// names the device and the remedy.
    Unmeasured,
    /// A device failed; [`DeviceErrorKind`] says how.
    Device(DeviceErrorKind),
}

/// An error of this library: a kind for programs, one line for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
}

impl Error {
    /// Creates an error of that kind; the message says what is wrong, where, and what to do.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// Shapes or parameters that do not fit together.
    pub fn shape(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Shape, message)
    }

    /// A value that is no value for what it is.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// More memory than there is.
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::TooLarge, message)
    }

    /// What the operating system refused, of which file, and why.
    pub fn file(path: &Path, action: &str, reason: &io::Error) -> Self {
        let path = path.display();
        Self::new(ErrorKind::File, format!("{path}: {action}: {reason}"))
    }

    /// What kind of mistake it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl From<FileError> for Error {
    fn from(error: FileError) -> Self {
        Self::new(ErrorKind::File, error.to_string())
    }
}

impl From<DeviceError> for Error {
    fn from(error: DeviceError) -> Self {
        Self::new(ErrorKind::Device(error.kind), error.to_string())
    }
}

impl From<Error> for DeviceError {
    /// What is wrong with a call, to who asked a device to make it.
    fn from(error: Error) -> Self {
        let kind = match error.kind {
            ErrorKind::TooLarge => DeviceErrorKind::NeverFits,
            ErrorKind::Device(kind) => kind,
            _ => DeviceErrorKind::Refused,
        };
        let message = error.message.strip_prefix(&format!("{kind}: "));
        Self::new(kind, message.unwrap_or(&error.message))
    }
}

/// How a device failed. Each kind has one reaction: a smaller batch, the CPU, or no work for
/// the device for a while. Exhaustive, so that the compiler asks every crate that reacts for
/// its reaction to a new kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeviceErrorKind {
    /// No memory now; a smaller batch may fit.
    OutOfMemory,
    /// Larger than the device could ever hold.
    NeverFits,
    /// No such device, its driver does not start, or it is in quarantine after
    /// an error that would come again.
    Unavailable {
        /// When it will be tried again; none if nothing will change by itself.
        until: Option<Instant>,
    },
    /// The device's code refuses one of the tasks, such as an image of a wrong length; it accepts
    /// other tasks.
    Refused,
    /// The device lacks a feature that the work needs.
    Unsupported,
    /// The kernel does not compile for this device.
    Compile,
    /// The launch was refused.
    Launch,
    /// The device is gone; nothing on it survives.
    DeviceLost,
    /// The device did not answer in time.
    Timeout,
    /// The driver or its library panicked.
    Panic,
    /// The device's results are not those of the CPU.
    WrongResult,
    /// Anything else; the message says what.
    Other,
}

impl DeviceErrorKind {
    /// Each kind once.
    pub const ALL: [Self; 12] = [
        Self::OutOfMemory,
        Self::NeverFits,
        Self::Unavailable { until: None },
        Self::Refused,
        Self::Unsupported,
        Self::Compile,
        Self::Launch,
        Self::DeviceLost,
        Self::Timeout,
        Self::Panic,
        Self::WrongResult,
        Self::Other,
    ];

    /// Its name in programs, such as `out_of_memory`.
    pub fn name(self) -> &'static str {
        match self {
            Self::OutOfMemory => "out_of_memory",
            Self::NeverFits => "never_fits",
            Self::Unavailable { .. } => "unavailable",
            Self::Refused => "refused",
            Self::Unsupported => "unsupported",
            Self::Compile => "compile",
            Self::Launch => "launch",
            Self::DeviceLost => "device_lost",
            Self::Timeout => "timeout",
            Self::Panic => "panic",
            Self::WrongResult => "wrong_result",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for DeviceErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OutOfMemory => "out of memory",
            Self::NeverFits => "never fits",
            Self::Unavailable { .. } => "unavailable",
            Self::Refused => "refused input",
            Self::Unsupported => "unsupported",
            Self::Compile => "compile error",
            Self::Launch => "launch error",
            Self::DeviceLost => "device lost",
            Self::Timeout => "timeout",
            Self::Panic => "driver panic",
            Self::WrongResult => "wrong result",
            Self::Other => "device error",
        })
    }
}

/// As it is printed.
impl Serialize for DeviceErrorKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What a device could not do, in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize)]
#[error("{kind}: {message}")]
pub struct DeviceError {
    /// How it failed.
    pub kind: DeviceErrorKind,
    /// What happened, in one line.
    pub message: String,
}

impl DeviceError {
    /// An error of that kind; only the first line of `message` is kept.
    pub fn new(kind: DeviceErrorKind, message: impl AsRef<str>) -> Self {
        let mut lines = message.as_ref().lines();
        let line = lines.find(|line| !line.trim().is_empty());
        Self {
            kind,
            message: line.unwrap_or("no further detail").trim().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_are_there_once() {
        let names: std::collections::BTreeSet<_> =
            DeviceErrorKind::ALL.map(DeviceErrorKind::name).into();
        assert_eq!(names.len(), DeviceErrorKind::ALL.len());
    }
}
