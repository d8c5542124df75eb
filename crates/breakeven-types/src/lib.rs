#![doc = include_str!("../README.md")]

pub mod error;
mod fact;
mod gpu_kind;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use error::{DeviceError, DeviceErrorKind, Error, ErrorKind};
pub use fact::Fact;
pub use gpu_kind::GpuKind;

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
