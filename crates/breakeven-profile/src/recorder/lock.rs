//! The lock that the recorder takes everywhere.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a panic left behind is whole: nothing that is locked is left half changed.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
