//! Opening a device that detection found.

use cubecl::cuda::{CudaDevice, CudaRuntime};
use cubecl::prelude::Runtime;
use cubecl::wgpu::{RuntimeOptions, WgpuDevice, WgpuRuntime, WgpuSetup, init_device};

use super::Client;
use super::faults::{self, Faults};
use super::transfer::CudaCopies;
use crate::error::{DeviceError, DeviceErrorKind};
use crate::hardware::{DeviceId, GpuInfo};
use crate::hardware::{Handle, open};

/// Opens the device of that id: a client, its copier, and its detected description.
pub(super) fn client(
    id: &DeviceId,
    faults: &Faults,
) -> Result<(Client, Option<CudaCopies>, GpuInfo), DeviceError> {
    let (handle, info) = open(id)?;
    let (client, copies) = match handle {
        Handle::Wgpu { instance, adapter } => (open_wgpu(instance, adapter, faults)?, None),
        Handle::Cuda { ordinal } => {
            let client = CudaRuntime::client(&CudaDevice::new(ordinal));
            (Client::Cuda(client), Some(CudaCopies::open(ordinal)?))
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
) -> Result<Client, DeviceError> {
    let descriptor = wgpu::DeviceDescriptor {
        label: Some("breakeven"),
        required_features: adapter
            .features()
            .difference(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS)
            .difference(wgpu::Features::all_experimental_mask()),
        required_limits: adapter.limits(),
        // CubeCL pools its buffers itself.
        memory_hints: wgpu::MemoryHints::MemoryUsage,
        ..Default::default()
    };
    let (device, queue) =
        cubecl::future::block_on(adapter.request_device(&descriptor)).map_err(|error| {
            let text = error.to_string();
            let kind = match faults::kind_of_text(&text) {
                DeviceErrorKind::OutOfMemory => DeviceErrorKind::OutOfMemory,
                _ => DeviceErrorKind::Unavailable { until: None },
            };
            DeviceError::new(kind, text)
        })?;
    faults.watch(&device);
    let backend = adapter.get_info().backend;
    let setup = WgpuSetup {
        instance,
        adapter,
        device,
        queue,
        backend,
    };
    let device: WgpuDevice = init_device(setup, RuntimeOptions::default());
    Ok(Client::Wgpu(WgpuRuntime::client(&device)))
}
