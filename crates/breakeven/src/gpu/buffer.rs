//! Memory on a device.

use std::marker::PhantomData;

use cubecl::client::ComputeClient;
use cubecl::prelude::{ArrayArg, Runtime, TensorBinding};
use cubecl::server::Handle;

use super::output_bytes;
use crate::error::{DeviceError, DeviceErrorKind};
use crate::hardware::DeviceId;
use crate::kernels::{Element, Kernel};

/// A buffer on a device; freed for reuse when the last clone is dropped.
#[derive(Debug, Clone)]
pub struct Buffer {
    handle: Handle,
    bytes: usize,
}

/// What one problem holds on a device; its output's elements are `E`.
#[derive(Debug, Clone)]
pub struct Buffers<E> {
    /// The device that they are on.
    pub(super) device: DeviceId,
    /// In the order of [`Kernel::device_inputs`].
    pub(super) inputs: Vec<Buffer>,
    /// Room for the output.
    pub(super) output: Buffer,
    pub(super) element: PhantomData<E>,
}

impl<E: Element> Buffers<E> {
    /// Fails unless these are buffers of this device with the sizes of this
    /// problem: kernels do not look again.
    pub(super) fn check(
        &self,
        device: &DeviceId,
        problem: &dyn Kernel<Element = E>,
    ) -> Result<(), DeviceError> {
        let mismatch = |what: String| Err(DeviceError::new(DeviceErrorKind::Launch, what));
        if self.device != *device {
            return mismatch(format!(
                "the buffers are on {}, not on {device}",
                self.device
            ));
        }
        let output = output_bytes(problem);
        let expected: Vec<usize> = problem
            .device_inputs()
            .iter()
            .map(|input| input.len())
            .collect();
        let found: Vec<usize> = self.inputs.iter().map(Buffer::bytes).collect();
        if found != expected || self.output.bytes() != output {
            return mismatch(format!(
                "the buffers ({found:?} bytes in, {} out) are another problem's; this one has {expected:?} in, {output} out",
                self.output.bytes()
            ));
        }
        Ok(())
    }
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
            runtime: PhantomData,
        }
    }
}
