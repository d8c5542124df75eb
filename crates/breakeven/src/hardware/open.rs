//! From a `DeviceId` back to the device: what the GPU path opens.

use super::gpu::{AbsentBackend, GpuInfo};
use super::{Backend, DeviceId, adapters, cuda};
use crate::error::{DeviceError, DeviceErrorKind};

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

impl From<AbsentBackend> for DeviceError {
    fn from(absent: AbsentBackend) -> Self {
        unavailable(absent.to_string())
    }
}

fn unavailable(why: String) -> DeviceError {
    DeviceError::new(DeviceErrorKind::Unavailable { until: None }, why)
}

/// The device of this id and its place in the list of its backend.
pub(super) fn find(
    id: &DeviceId,
    backend: Backend,
    devices: Vec<(GpuInfo, usize)>,
) -> Result<(GpuInfo, usize), DeviceError> {
    let ids: Vec<_> = devices
        .iter()
        .map(|(gpu, _)| format!("`{}`", gpu.id))
        .collect();
    let found = devices.into_iter().find(|(gpu, _)| gpu.id == *id);
    found.ok_or_else(|| {
        let present = match ids.is_empty() {
            true => "none".to_owned(),
            false => ids.join(", "),
        };
        unavailable(format!(
            "there is no device `{id}`; {backend} has {present}"
        ))
    })
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
        Some(backend) => adapters::open(id, backend),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_and_strangers_are_refused_with_a_reason() {
        let error = open(&DeviceId::cpu()).err().expect("the CPU is no GPU");
        assert_eq!(error.message, "`cpu` is not a GPU");
        let id = DeviceId::gpu(Backend::Vulkan, "no-such-card", 3);
        let error = find(&id, Backend::Vulkan, Vec::new()).expect_err("nothing is listed");
        assert_eq!(
            error.message,
            "there is no device `vulkan:no-such-card#3`; vulkan has none"
        );
    }
}
