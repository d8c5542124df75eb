//! The GPUs that wgpu reaches: through Vulkan, Metal or Direct3D 12.

use wgpu::{Backends, DeviceType, Instance, InstanceDescriptor, InstanceFlags};

use super::gpu::{AbsentBackend, GpuInfo, GpuKind};
use super::identify::{find, pci_address};
use super::{Backend, DeviceId, Fact, vulkan};
use crate::error::DeviceError;

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
pub(super) fn list(backend: Backend) -> Result<Vec<(GpuInfo, usize)>, AbsentBackend> {
    let (_, _, listed) = enumerate(backend)?;
    if listed.is_empty() {
        return Err(match backend {
            Backend::Vulkan => vulkan::no_device(),
            _ => AbsentBackend::new(
                backend,
                format!("{backend} offers no device"),
                "install or update the GPU vendor's driver",
            ),
        });
    }
    Ok(listed)
}

/// The device of this id, as it is opened.
pub(super) fn open(
    id: &DeviceId,
    backend: Backend,
) -> Result<(Instance, wgpu::Adapter, GpuInfo), DeviceError> {
    let (instance, mut adapters, listed) = enumerate(backend)?;
    let (info, index) = find(id, backend, listed)?;
    Ok((instance, adapters.swap_remove(index), info))
}

type Enumerated = (Instance, Vec<wgpu::Adapter>, Vec<(GpuInfo, usize)>);

/// A backend's adapters, and each of them described with its place in that list.
fn enumerate(backend: Backend) -> Result<Enumerated, AbsentBackend> {
    if backend == Backend::Vulkan {
        vulkan::loader()?;
    }
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
    let described = adapters.iter().map(|adapter| describe(backend, adapter));
    let listed = described.zip(0..).collect();
    Ok((instance, adapters, listed))
}

fn describe(backend: Backend, adapter: &wgpu::Adapter) -> GpuInfo {
    let info = adapter.get_info();
    let kind = kind(info.device_type, &info.name);
    GpuInfo {
        memory_bytes: match backend {
            Backend::Vulkan => vulkan::device_local_bytes(adapter),
            _ => Fact::Unknown,
        },
        driver: driver(&info.driver, &info.driver_info),
        pci: pci_address(&info.device_pci_bus_id),
        ..GpuInfo::named(backend, info.name, kind)
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
    match device_type {
        _ if renderers.iter().any(|renderer| name.contains(renderer)) => GpuKind::Software,
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
        let venus = "Virtio-GPU Venus (llvmpipe (LLVM 15.0.6, 256 bits))";
        for (device_type, name, expected) in [
            (DeviceType::Cpu, "anything", GpuKind::Software),
            (DeviceType::VirtualGpu, venus, GpuKind::Software),
            (DeviceType::VirtualGpu, "GRID A100", GpuKind::Virtual),
            (DeviceType::DiscreteGpu, "NVIDIA H200", GpuKind::Discrete),
        ] {
            assert_eq!(kind(device_type, name), expected, "{name}");
        }
    }

    #[test]
    fn an_unknown_driver_is_unknown() {
        assert_eq!(driver("?", ""), Fact::Unknown);
        for (name, text) in [("NVIDIA", "NVIDIA 570.86"), ("?", "570.86")] {
            assert_eq!(driver(name, "570.86"), Fact::Known(text.to_owned()));
        }
    }
}
