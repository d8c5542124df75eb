//! The GPUs that wgpu reaches: through Vulkan, Metal or Direct3D 12. Vulkan's loader is probed
//! before wgpu opens it, and says why it has no device.

use std::env;

use wgpu::{Backends, DeviceType, Instance, InstanceDescriptor, InstanceFlags};

use crate::GpuKind;
use crate::gpu::{AbsentBackend, GpuInfo, pci_address};
use crate::{Backend, Fact, probe};

/// The backends that this platform can have. OpenGL is not among them: its
/// compute shaders lack what the kernels need.
pub(crate) const EXPECTED: &[Backend] = if cfg!(target_vendor = "apple") {
    &[Backend::Metal]
} else if cfg!(windows) {
    &[Backend::Vulkan, Backend::Dx12]
} else {
    &[Backend::Vulkan]
};

/// The devices of a backend, or why it has none.
pub(crate) fn list(backend: Backend) -> Result<Vec<GpuInfo>, AbsentBackend> {
    let (_, _, listed) = enumerate(backend)?;
    if listed.is_empty() {
        return Err(match backend {
            Backend::Vulkan => no_vulkan_device(),
            _ => AbsentBackend::new(
                backend,
                format!("{backend} offers no device"),
                "install or update the GPU vendor's driver",
            ),
        });
    }
    Ok(listed)
}

pub(crate) type Enumerated = (Instance, Vec<wgpu::Adapter>, Vec<GpuInfo>);

/// A backend's adapters, and each of them described.
pub(crate) fn enumerate(backend: Backend) -> Result<Enumerated, AbsentBackend> {
    if backend == Backend::Vulkan {
        vulkan_loader()?;
    }
    let backends = match backend {
        Backend::Vulkan => Backends::VULKAN,
        Backend::Metal => Backends::METAL,
        Backend::Dx12 => Backends::DX12,
        Backend::Cuda => Backends::empty(),
    };
    let instance = Instance::new(InstanceDescriptor {
        backends,
        // wgpu's default in debug builds requests validation layers, which print if they are
        // installed.
        flags: InstanceFlags::empty(),
        ..InstanceDescriptor::new_without_display_handle()
    });
    let adapters = pollster::block_on(instance.enumerate_adapters(backends));
    let listed = adapters.iter().map(|adapter| describe(backend, adapter));
    let listed = listed.collect();
    Ok((instance, adapters, listed))
}

pub(crate) fn describe(backend: Backend, adapter: &wgpu::Adapter) -> GpuInfo {
    let info = adapter.get_info();
    let kind = kind(info.device_type, &info.name);
    GpuInfo {
        #[cfg(not(target_vendor = "apple"))]
        memory_bytes: match backend {
            Backend::Vulkan => device_local_bytes(adapter),
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

/// The library that wgpu opens (through ash), under the same name.
const LOADER: &str = if cfg!(windows) {
    "vulkan-1.dll"
} else if cfg!(target_os = "android") {
    "libvulkan.so"
} else {
    "libvulkan.so.1"
};

/// The environment variables by which drivers are chosen or left out
/// (Khronos' `LoaderDriverInterface.md`), with whether they hold paths.
const DRIVER_VARIABLES: [(&str, bool); 5] = [
    ("VK_DRIVER_FILES", true),
    ("VK_ICD_FILENAMES", true),
    ("VK_ADD_DRIVER_FILES", true),
    ("VK_LOADER_DRIVERS_SELECT", false),
    ("VK_LOADER_DRIVERS_DISABLE", false),
];

/// Whether Vulkan's loader is there and is one.
pub(crate) fn vulkan_loader() -> Result<(), AbsentBackend> {
    let loaded = probe::load([LOADER.to_owned()], "vkGetInstanceProcAddr");
    loaded.map(drop).map_err(|error| {
        let remedy = match cfg!(windows) {
            true => "install the GPU vendor's driver, which brings the loader".to_owned(),
            false => format!("install the loader (Debian: `libvulkan1`) and {DRIVERS}"),
        };
        AbsentBackend::new(
            Backend::Vulkan,
            format!("no Vulkan loader: {error}"),
            remedy,
        )
    })
}

const DRIVERS: &str =
    "the GPU vendor's driver, or `mesa-vulkan-drivers` (Debian), which brings the software GPU too";

/// The loader is there, and nothing behind it.
fn no_vulkan_device() -> AbsentBackend {
    let set: Vec<_> = DRIVER_VARIABLES
        .iter()
        .filter_map(|&(name, paths)| Some((name, env::var(name).ok()?, paths)))
        .collect();
    explain_no_device(&set)
}

fn explain_no_device(set: &[(&str, String, bool)]) -> AbsentBackend {
    let mut reason =
        format!("the Vulkan loader ({LOADER}) is there, and no driver offers a device");
    for (name, value, paths) in set {
        reason.push_str(&format!("; {name} is set to {value}"));
        let missing = env::split_paths(value).filter(|path| *paths && !path.exists());
        let missing: Vec<_> = missing.map(|path| path.display().to_string()).collect();
        if !missing.is_empty() {
            let missing = missing.join(" and ");
            reason.push_str(&format!(", of which {missing} does not exist"));
        }
    }
    let remedy = match set {
        [] if cfg!(windows) => "install the GPU vendor's driver".to_owned(),
        [] => format!("install {DRIVERS}"),
        [(name, _, _), ..] => {
            format!("unset {name}, or point it at the manifest of an installed driver")
        }
    };
    AbsentBackend::new(Backend::Vulkan, reason, remedy)
}

/// The sum of the heaps that are local to the device, in bytes. On NVIDIA cards
/// it includes the window through which the CPU writes (some 0.2 GiB).
#[cfg(not(target_vendor = "apple"))]
fn device_local_bytes(adapter: &wgpu::Adapter) -> Fact<u64> {
    /// `VK_MEMORY_HEAP_DEVICE_LOCAL_BIT`.
    const DEVICE_LOCAL: u32 = 1;
    // SAFETY: the adapter is only queried for its properties and stays alive in the guard; nothing
    // of it is destroyed or changed.
    let Some(hal) = (unsafe { adapter.as_hal::<wgpu::hal::api::Vulkan>() }) else {
        return Fact::Unknown;
    };
    let instance = hal.shared_instance().raw_instance();
    // SAFETY: the physical device belongs to this instance, and the guard keeps
    // both alive; the call has no other requirement.
    let properties =
        unsafe { instance.get_physical_device_memory_properties(hal.raw_physical_device()) };
    let bytes = properties
        .memory_heaps_as_slice()
        .iter()
        .filter(|heap| heap.flags.as_raw() & DEVICE_LOCAL != 0)
        .fold(0_u64, |sum, heap| sum.saturating_add(heap.size));
    // A driver that claims no local heap at all has reported nothing.
    Some(bytes).filter(|&bytes| bytes > 0).into()
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

    #[test]
    fn variables_that_hide_the_drivers_are_named() {
        let set = [(
            "VK_ICD_FILENAMES",
            "/proc/nonexistent/icd.json".to_owned(),
            true,
        )];
        let absent = explain_no_device(&set);
        let reason = "VK_ICD_FILENAMES is set to /proc/nonexistent/icd.json, \
                      of which /proc/nonexistent/icd.json does not exist";
        assert!(absent.reason.contains(reason), "{absent}");
        assert!(absent.remedy.starts_with("unset VK_ICD"), "{absent}");
        let patterns = [("VK_LOADER_DRIVERS_DISABLE", "*".to_owned(), false)];
        let absent = explain_no_device(&patterns);
        assert!(!absent.reason.contains("does not exist"), "{absent}");
        assert!(explain_no_device(&[]).remedy.starts_with("install"));
    }
}
