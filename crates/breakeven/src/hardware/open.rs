//! From a `DeviceId` back to the device: what the GPU path opens.

use thiserror::Error;

use super::gpu::{AbsentBackend, GpuInfo};
use super::{Backend, DeviceId, adapters, cuda};

/// A device as its backend wants it to be opened.
pub(crate) enum Handle {
    /// wgpu's adapter (Vulkan, Metal, Direct3D 12), and the instance it is of.
    Wgpu {
        /// What `adapter` came from. The adapter lives without it; CubeCL's
        /// `WgpuSetup` asks for it.
        instance: wgpu::Instance,
        /// The device.
        adapter: wgpu::Adapter,
    },
    /// The device's ordinal in CUDA's list, which stays the same while the
    /// process runs.
    Cuda {
        /// As for `cuDeviceGet`.
        ordinal: usize,
    },
}

/// Why a device cannot be opened.
#[derive(Debug, Error)]
pub(crate) enum OpenError {
    /// The id is the CPU's.
    #[error("`{0}` is not a GPU")]
    NotAGpu(DeviceId),
    /// Its backend is not there.
    #[error("{0}")]
    Absent(AbsentBackend),
    /// Its backend is there, and the device is not.
    #[error("there is no device `{id}`; {backend} has {}", listed(.present))]
    NotFound {
        /// What was asked for.
        id: DeviceId,
        /// The backend of the id.
        backend: Backend,
        /// What that backend has.
        present: Vec<DeviceId>,
    },
}

impl From<AbsentBackend> for OpenError {
    fn from(absent: AbsentBackend) -> Self {
        OpenError::Absent(absent)
    }
}

fn listed(ids: &[DeviceId]) -> String {
    let quoted: Vec<_> = ids.iter().map(|id| format!("`{id}`")).collect();
    match quoted.as_slice() {
        [] => "none".to_owned(),
        quoted => quoted.join(", "),
    }
}

impl OpenError {
    /// The device of this id and its place in the backend's list.
    pub(super) fn find(
        id: &DeviceId,
        devices: Vec<(GpuInfo, usize)>,
    ) -> Result<(GpuInfo, usize), OpenError> {
        if let Some(found) = devices.iter().find(|(gpu, _)| gpu.id == *id) {
            return Ok(found.clone());
        }
        Err(match id.backend() {
            None => OpenError::NotAGpu(id.clone()),
            Some(backend) => OpenError::NotFound {
                id: id.clone(),
                backend,
                present: devices.into_iter().map(|(gpu, _)| gpu.id).collect(),
            },
        })
    }
}

/// Finds the device of this id again. Asks its backend anew: a device can have
/// gone since it was listed. Blocks for as long as the driver does, on the
/// caller's thread, and a panic of the driver's code is the caller's too.
pub(crate) fn open(id: &DeviceId) -> Result<(Handle, GpuInfo), OpenError> {
    match id.backend() {
        None => Err(OpenError::NotAGpu(id.clone())),
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
    fn the_cpu_and_strangers_are_refused_with_a_reason() {
        let error = open(&DeviceId::cpu()).err().expect("the CPU is no GPU");
        assert_eq!(error.to_string(), "`cpu` is not a GPU");
        let id = DeviceId::gpu(Backend::Vulkan, "no-such-card", 3);
        let error = OpenError::find(&id, Vec::new()).expect_err("nothing is listed");
        assert_eq!(
            error.to_string(),
            "there is no device `vulkan:no-such-card#3`; vulkan has none"
        );
    }
}
