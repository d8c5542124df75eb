//! Vulkan's loader: is it there, and why does it have no devices.

use std::env;

use super::gpu::AbsentBackend;
use super::{Backend, Fact, probe};

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

/// Whether the loader is there and is one.
pub(super) fn loader() -> Result<(), AbsentBackend> {
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
pub(super) fn no_device() -> AbsentBackend {
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
pub(super) fn device_local_bytes(adapter: &wgpu::Adapter) -> Fact<u64> {
    /// `VK_MEMORY_HEAP_DEVICE_LOCAL_BIT`.
    const DEVICE_LOCAL: u32 = 1;
    // SAFETY: the adapter is only asked for its properties and stays alive in
    // the guard; nothing of it is destroyed or changed.
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
    // A driver that claims no local heap at all has not told.
    Some(bytes).filter(|&bytes| bytes > 0).into()
}

/// There is no Vulkan to ask here.
#[cfg(target_vendor = "apple")]
pub(super) fn device_local_bytes(_adapter: &wgpu::Adapter) -> Fact<u64> {
    Fact::Unknown
}

#[cfg(test)]
mod tests {
    use super::*;

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
