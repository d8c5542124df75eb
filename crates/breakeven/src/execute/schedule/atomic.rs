//! A float that threads share.

use std::sync::atomic::{AtomicU64, Ordering};

/// A float in an atomic word; NaN where it is not known.
#[derive(Debug)]
pub(super) struct AtomicF64(AtomicU64);

impl AtomicF64 {
    pub(super) fn new(value: Option<f64>) -> Self {
        Self(AtomicU64::new(value.unwrap_or(f64::NAN).to_bits()))
    }

    pub(super) fn get(&self) -> Option<f64> {
        let value = f64::from_bits(self.0.load(Ordering::Relaxed));
        (!value.is_nan()).then_some(value)
    }

    pub(super) fn set(&self, value: Option<f64>) {
        self.0
            .store(value.unwrap_or(f64::NAN).to_bits(), Ordering::Relaxed);
    }
}
