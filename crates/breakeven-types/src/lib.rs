#![doc = include_str!("../README.md")]

pub mod error;
mod fact;

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

pub use error::{DeviceError, DeviceErrorKind, Error, ErrorKind};
pub use fact::Fact;

/// How a GPU sits in the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GpuKind {
    /// A card with memory of its own.
    Discrete,
    /// Integrated in the processor; shares the machine's memory.
    Integrated,
    /// A virtual machine's share of a GPU.
    Virtual,
    /// The driver does not say.
    Other,
    /// The CPU, behind a GPU's interface (llvmpipe, SwiftShader, WARP): listed,
    /// and never counted as available.
    Software,
}

impl fmt::Display for GpuKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            GpuKind::Discrete => "discrete",
            GpuKind::Integrated => "integrated",
            GpuKind::Virtual => "virtual",
            GpuKind::Other => "other",
            GpuKind::Software => "software",
        })
    }
}

/// Locks a mutex, ignoring poison: for values that are valid at any moment, even if a thread
/// panicked while it held the lock.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A float as a count: what is negative or no number is 0.
#[expect(clippy::cast_sign_loss, reason = "a float cast saturates")]
pub fn whole(value: f64) -> usize {
    value as usize
}
