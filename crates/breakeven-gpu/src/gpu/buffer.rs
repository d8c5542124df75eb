//! Memory on a device.

use std::marker::PhantomData;
use std::sync::Arc;

use cubecl::prelude::{ArrayArg, Runtime, TensorBinding};
use cubecl::server::Handle;

use super::memory::{Allocation, Ledger};

/// A buffer on a device, of elements of 32 bits; freed for reuse when the last clone
/// is dropped.
#[derive(Debug, Clone)]
pub struct Buffer {
    handle: Handle,
    bytes: usize,
    entry: Arc<Allocation>,
}

impl Buffer {
    pub(super) fn new(handle: Handle, bytes: usize, ledger: &Arc<Ledger>) -> Self {
        Self {
            handle,
            bytes,
            entry: ledger.enter(bytes as u64),
        }
    }

    /// Its size, bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Returns `bytes` of it from `first` on, without a copy; none if a kernel's argument cannot
    /// begin there.
    pub(crate) fn part(&self, first: usize, bytes: usize, alignment: u64) -> Option<Self> {
        let (start, left) = (first as u64, (self.bytes - first - bytes) as u64);
        if (start, left) == (0, 0) {
            return Some(self.clone());
        }
        start.is_multiple_of(alignment).then(|| Self {
            handle: self.handle().offset_start(start).offset_end(left),
            bytes,
            entry: Arc::clone(&self.entry),
        })
    }

    /// Returns its first `bytes` bytes, without a copy.
    pub(crate) fn beginning(&self, bytes: usize) -> Self {
        let left = self.bytes.saturating_sub(bytes) as u64;
        Self {
            handle: self.handle().offset_end(left),
            bytes: bytes.min(self.bytes),
            entry: Arc::clone(&self.entry),
        }
    }

    /// Returns the complete buffer as a kernel's array, whose length is counted in elements of 32
    /// bits. The kernel must be launched on the device that has the buffer.
    pub fn array<R: Runtime>(&self) -> ArrayArg<R> {
        // SAFETY: the buffer holds as many elements.
        unsafe { ArrayArg::from_raw_parts(self.handle(), self.bytes / 4) }
    }

    /// The buffer as a row-major tensor of f32.
    pub fn tensor<R: Runtime>(&self, shape: [usize; 3]) -> TensorBinding<R> {
        let [_, rows, columns] = shape;
        TensorBinding {
            handle: self.handle().binding(),
            strides: [rows * columns, columns, 1].into(),
            shape: shape.into(),
            runtime: PhantomData,
        }
    }
}
