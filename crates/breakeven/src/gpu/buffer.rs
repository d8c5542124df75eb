//! Memory on a device.

use cubecl::client::ComputeClient;
use cubecl::prelude::{ArrayArg, Runtime, TensorBinding};
use cubecl::server::Handle;

/// A buffer on a device; freed for reuse when the last clone is dropped.
#[derive(Debug, Clone)]
pub struct Buffer {
    handle: Handle,
    bytes: usize,
}

/// What one problem holds on a device.
#[derive(Debug, Clone)]
pub struct Buffers {
    /// In the order of [`Kernel::device_inputs`](crate::kernels::Kernel::device_inputs).
    pub inputs: Vec<Buffer>,
    /// Room for the output.
    pub output: Buffer,
}

impl Buffer {
    pub(crate) fn from_bytes<R: Runtime>(client: &ComputeClient<R>, bytes: &[u8]) -> Self {
        Self {
            handle: client.create_from_slice(bytes),
            bytes: bytes.len(),
        }
    }

    pub(crate) fn empty<R: Runtime>(client: &ComputeClient<R>, bytes: usize) -> Self {
        Self {
            handle: client.empty(bytes),
            bytes,
        }
    }

    /// Its size, bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// The buffer as an array of `len` 32-bit elements.
    ///
    /// # Safety
    ///
    /// The launch that takes it must not look past `len` elements, and must be
    /// on the device that the buffer is on.
    pub(crate) unsafe fn array<R: Runtime>(&self, len: usize) -> ArrayArg<R> {
        debug_assert!(len * 4 <= self.bytes, "an array longer than its buffer");
        // SAFETY: the buffer holds `len` elements; the rest is the caller's.
        unsafe { ArrayArg::from_raw_parts(self.handle.clone(), len) }
    }

    /// The buffer as a row-major tensor of f32.
    pub(crate) fn tensor<R: Runtime>(&self, shape: [usize; 3]) -> TensorBinding<R> {
        let [_, rows, columns] = shape;
        TensorBinding {
            handle: self.handle.clone().binding(),
            strides: [rows * columns, columns, 1].into(),
            shape: shape.into(),
            runtime: std::marker::PhantomData,
        }
    }
}
