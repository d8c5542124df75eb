//! The atomics and locks of the queue, by one name: its tests put loom's in
//! their place.

pub(super) use std::sync::Mutex;
pub(super) use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
