//! The GPUs that wgpu reaches: through Vulkan, Metal or Direct3D 12.

use wgpu::{Backends, DeviceType, Instance, InstanceDescriptor, InstanceFlags};

use super::gpu::{AbsentBackend, GpuKind};
use super::listing::{self, Listed};
use super::open::OpenError;
use super::{Backend, DeviceId, Fact, vulkan};

/// The backends that this platform can have. OpenGL is not among them: its
/// compute shaders lack what the kernels need.
pub(super) const EXPECTED: &[Backend] = if cfg!(target_vendor = "apple") {
    &[Backend::Metal]
} else if cfg!(windows) {
    &[Backend::Vulkan, Backend::Dx12]
} else {
    &[Backend::Vulkan]
};

/// The devices of a backend, or why it has none.
pub(super) fn list(backend: Backend) -> Result<Vec<Listed>, AbsentBackend> {
    if backend == Backend::Vulkan {
        vulkan::loader()?;
    }
    let (_instance, adapters) = enumerate(backend);
    let listed: Vec<_> = adapters
        .iter()
        .enumerate()
        .map(|(index, adapter)| describe(backend, index, adapter))
        .collect();
    if listed.is_empty() {
        return Err(match backend {
            Backend::Vulkan => vulkan::no_device(),
            _ => AbsentBackend {
                backend: Some(backend),
                reason: format!("{backend} offers no device"),
                remedy: "install or update the GPU vendor's driver".to_owned(),
            },
        });
    }
    Ok(listed)
}

/// The adapter of this id, and the instance that it came from.
pub(super) fn open(
    id: &DeviceId,
    backend: Backend,
) -> Result<(Instance, wgpu::Adapter, super::GpuInfo), OpenError> {
    if backend == Backend::Vulkan {
        vulkan::loader()?;
    }
    let (instance, mut adapters) = enumerate(backend);
    let listed = adapters
        .iter()
        .enumerate()
        .map(|(index, adapter)| describe(backend, index, adapter))
        .collect();
    let (info, index) = OpenError::find(id, listing::identify(listed))?;
    Ok((instance, adapters.swap_remove(index), info))
}

fn enumerate(backend: Backend) -> (Instance, Vec<wgpu::Adapter>) {
    let backends = match backend {
        Backend::Vulkan => Backends::VULKAN,
        Backend::Metal => Backends::METAL,
        Backend::Dx12 => Backends::DX12,
        Backend::Cuda => Backends::empty(),
    };
    let instance = Instance::new(InstanceDescriptor {
        backends,
        // wgpu's default in debug builds asks for validation layers, which
        // print where they are installed.
        flags: InstanceFlags::empty(),
        ..InstanceDescriptor::new_without_display_handle()
    });
    let adapters = pollster::block_on(instance.enumerate_adapters(backends));
    (instance, adapters)
}

fn describe(backend: Backend, index: usize, adapter: &wgpu::Adapter) -> Listed {
    let info = adapter.get_info();
    let memory_bytes = match backend {
        Backend::Vulkan => vulkan::device_local_bytes(adapter),
        _ => Fact::Unknown,
    };
    Listed {
        backend,
        kind: kind(info.device_type, &info.name),
        memory_bytes,
        driver: driver(&info.driver, &info.driver_info),
        pci: listing::pci_address(&info.device_pci_bus_id),
        architecture: Fact::Unknown,
        name: info.name,
        index,
    }
}

/// A software renderer says that it is a CPU, or its name does: behind a virtual
/// GPU (`Virtio-GPU Venus (llvmpipe …)`) only the name is left.
fn kind(device_type: DeviceType, name: &str) -> GpuKind {
    let name = name.to_lowercase();
    let renderers = [
        "llvmpipe",
        "lavapipe",
        "swiftshader",
        "microsoft basic render",
    ];
    if renderers.iter().any(|renderer| name.contains(renderer)) {
        return GpuKind::Software;
    }
    match device_type {
        DeviceType::DiscreteGpu => GpuKind::Discrete,
        DeviceType::IntegratedGpu => GpuKind::Integrated,
        DeviceType::VirtualGpu => GpuKind::Virtual,
        DeviceType::Cpu => GpuKind::Software,
        DeviceType::Other => GpuKind::Other,
    }
}

/// Name and version in one; wgpu says `?` or nothing for what it does not know.
fn driver(name: &str, version: &str) -> Fact<String> {
    let parts: Vec<_> = [name.trim(), version.trim()]
        .into_iter()
        .filter(|part| !part.is_empty() && *part != "?")
        .collect();
    Some(parts.join(" ")).filter(|text| !text.is_empty()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn software_is_known_by_type_and_by_name() {
        assert_eq!(kind(DeviceType::Cpu, "anything"), GpuKind::Software);
        let venus = "Virtio-GPU Venus (llvmpipe (LLVM 15.0.6, 256 bits))";
        assert_eq!(kind(DeviceType::VirtualGpu, venus), GpuKind::Software);
        assert_eq!(kind(DeviceType::VirtualGpu, "GRID A100"), GpuKind::Virtual);
        assert_eq!(
            kind(DeviceType::DiscreteGpu, "NVIDIA H200"),
            GpuKind::Discrete
        );
    }

    #[test]
    fn an_unknown_driver_is_unknown() {
        assert_eq!(driver("?", ""), Fact::Unknown);
        assert_eq!(
            driver("NVIDIA", "570.86"),
            Fact::Known("NVIDIA 570.86".to_owned())
        );
        assert_eq!(driver("?", "570.86"), Fact::Known("570.86".to_owned()));
    }
}
