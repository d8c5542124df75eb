//! The lock that the recorder uses everywhere.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// After a panic the data is still consistent: nothing is left half changed.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
