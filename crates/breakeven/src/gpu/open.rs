//! Opening a device that detection found.

use cubecl::cuda::{CudaDevice, CudaRuntime};
use cubecl::prelude::Runtime;
use cubecl::wgpu::{RuntimeOptions, WgpuDevice, WgpuRuntime, WgpuSetup, init_device};

use super::faults::{self, Faults};
use super::pending::Lanes;
use super::{Client, DEFAULT_TIMEOUT, Gpu};
use crate::error::{DeviceError, DeviceErrorKind};
use crate::hardware::DeviceId;
use crate::hardware::open::{self, Handle, OpenError};

impl Gpu {
    /// Opens the device of that id.
    ///
    /// # Errors
    ///
    /// [`DeviceErrorKind::Unavailable`] where there is no such device or its
    /// driver does not give one out.
    pub fn open(id: &DeviceId) -> Result<Self, DeviceError> {
        let faults = Faults::default();
        let opened = faults::quietly(|| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let (handle, info) = open::open(id)?;
                let client = match handle {
                    Handle::Wgpu { instance, adapter } => open_wgpu(instance, adapter, &faults)?,
                    Handle::Cuda { ordinal } => {
                        Client::Cuda(CudaRuntime::client(&CudaDevice::new(ordinal)))
                    }
                };
                Ok((client, info))
            }))
        });
        let (client, info) = opened.unwrap_or_else(|panic| Err(faults::from_panic(&*panic)))?;
        Ok(Self {
            id: id.clone(),
            info,
            client,
            faults,
            timeout: DEFAULT_TIMEOUT,
            lanes: Lanes::default(),
        })
    }
}

impl From<OpenError> for DeviceError {
    fn from(error: OpenError) -> Self {
        Self::new(
            DeviceErrorKind::Unavailable { until: None },
            error.to_string(),
        )
    }
}

/// A client on an adapter of our choice. CubeCL picks adapters by their number
/// among those of one kind, which is not stable, and panics where one refuses.
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
