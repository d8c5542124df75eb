//! From a `DeviceId` back to the device: what the GPU path opens.

use super::gpu::{GpuInfo, unavailable};
use super::{Backend, DeviceId, adapters, cuda};
use crate::error::DeviceError;

/// A device as its backend wants it to be opened.
pub(crate) enum Handle {
    /// wgpu's adapter (Vulkan, Metal, Direct3D 12), and the instance that it came from.
    /// The adapter lives without it; CubeCL's `WgpuSetup` asks for it.
    Wgpu {
        instance: wgpu::Instance,
        adapter: wgpu::Adapter,
    },
    /// The device's ordinal in CUDA's list (`cuDeviceGet`), which stays the same while
    /// the process runs.
    Cuda { ordinal: usize },
}

/// Finds the device of this id again. Asks its backend anew: a device can have
/// gone since it was listed. Blocks for as long as the driver does, on the
/// caller's thread, and a panic of the driver's code is the caller's too.
pub(crate) fn open(id: &DeviceId) -> Result<(Handle, GpuInfo), DeviceError> {
    match id.backend() {
        None => Err(unavailable(format!("`{id}` is not a GPU"))),
        Some(Backend::Cuda) => {
            cuda::find(id).map(|(info, ordinal)| (Handle::Cuda { ordinal }, info))
        }
        Some(backend) => {
            let (instance, adapter, info) = adapters::open(id, backend)?;
            Ok((Handle::Wgpu { instance, adapter }, info))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_is_refused_with_a_reason() {
        let error = open(&DeviceId::cpu()).err().expect("the CPU is no GPU");
        assert_eq!(error.message, "`cpu` is not a GPU");
    }
}
