#![doc = include_str!("../README.md")]

pub mod error;
mod fact;
mod gpu_kind;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use error::{DeviceError, DeviceErrorKind, Error, ErrorKind};
pub use fact::Fact;
pub use gpu_kind::GpuKind;

/// What a mutex holds, also where a thread panicked with it: for those that are left as they may
/// be seen at any moment.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A float as a count: what is negative or no number is 0.
#[expect(clippy::cast_sign_loss, reason = "a float cast saturates")]
pub fn whole(value: f64) -> usize {
    value as usize
}
