//! Opening a device that detection found.

use cubecl::cuda::{CudaDevice, CudaRuntime};
use cubecl::prelude::Runtime;
use cubecl::wgpu::{RuntimeOptions, WgpuDevice, WgpuRuntime, WgpuSetup, init_device};

use super::cuda::CudaCopies;
use super::faults::{self, Faults};
use super::staging::Staging;
use super::transfer::Copies;
use super::{Client, Gpu};
use crate::error::{DeviceError, DeviceErrorKind};
use crate::hardware::{DeviceId, GpuInfo};
use crate::hardware::{Handle, open};

/// Opens the device of that id: a client, its copier, and its detected description.
pub(super) fn client(
    id: &DeviceId,
    faults: &Faults,
) -> Result<(Client, Copies, GpuInfo), DeviceError> {
    let (handle, info) = open(id)?;
    let (client, copies) = match handle {
        Handle::Wgpu { instance, adapter } => open_wgpu(instance, adapter, faults)?,
        Handle::Cuda { ordinal } => {
            let client = CudaRuntime::client(&CudaDevice::new(ordinal));
            let copies = CudaCopies::open(client.clone(), ordinal)?;
            (Client::Cuda(client), Copies::Cuda(copies))
        }
    };
    Ok((client, copies, info))
}

/// Creates a client on a chosen adapter. CubeCL picks adapters by their number among those of one
/// kind, which is not stable, and panics if one refuses.
fn open_wgpu(
    instance: wgpu::Instance,
    adapter: wgpu::Adapter,
    faults: &Faults,
) -> Result<(Client, Copies), DeviceError> {
    let descriptor = Gpu::wgpu_descriptor(&adapter);
    let (device, queue) =
        cubecl::future::block_on(adapter.request_device(&descriptor)).map_err(|error| {
            let text = error.to_string();
            let kind = match faults::kind_of_text(&text) {
                DeviceErrorKind::OutOfMemory => DeviceErrorKind::OutOfMemory,
                _ => DeviceErrorKind::Unavailable { until: None },
            };
            DeviceError::new(kind, text)
        })?;
    Ok(adopt(instance, adapter, device, queue, faults))
}

/// Creates a client on a wgpu device, which reports its errors to `faults` from now on.
pub(super) fn adopt(
    instance: wgpu::Instance,
    adapter: wgpu::Adapter,
    device: wgpu::Device,
    queue: wgpu::Queue,
    faults: &Faults,
) -> (Client, Copies) {
    faults.watch(&device);
    let ours = (device.clone(), queue.clone());
    let backend = adapter.get_info().backend;
    let setup = WgpuSetup {
        instance,
        adapter,
        device,
        queue,
        backend,
    };
    let device: WgpuDevice = init_device(setup, RuntimeOptions::default());
    let client = WgpuRuntime::client(&device);
    let staging = Staging::new(client.clone(), ours.0, ours.1);
    (Client::Wgpu(client), Copies::Wgpu(staging))
}
