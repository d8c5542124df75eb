//! What NVIDIA's management library tells of its GPUs: use, memory, temperature.
//!
//! The library is loaded at run time; without it there is nothing to tell, and
//! that is no error. It stays loaded and initialised for the rest of the
//! process, as does the finding that it is not there.

use std::sync::OnceLock;

use nvml_wrapper::enum_wrappers::device::TemperatureSensor;
use nvml_wrapper::{Device, Nvml};
use serde::{Deserialize, Serialize};

use super::Fact;

/// How busy one GPU is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuLoad {
    /// The device's name, as its driver gives it.
    pub name: Fact<String>,
    /// PCI address, `0000:01:00.0`; what a [`super::GpuInfo`] is matched by.
    pub pci: Fact<String>,
    /// Share of the driver's last sampling period (1/6 s to 1 s) in which a
    /// kernel ran, 0 to 1. By whatever process; it says nothing of how many of
    /// the multiprocessors were busy.
    pub gpu_use: Fact<f64>,
    /// Memory held by any process and by the driver, in bytes.
    pub memory_used_bytes: Fact<u64>,
    /// Memory installed, in bytes.
    pub memory_total_bytes: Fact<u64>,
    /// Temperature of the die, in degrees Celsius.
    pub temperature_celsius: Fact<u32>,
}

/// The library, initialised on the first call.
pub(super) fn nvml() -> Option<&'static Nvml> {
    static NVML: OnceLock<Option<Nvml>> = OnceLock::new();
    NVML.get_or_init(|| Nvml::init().ok()).as_ref()
}

/// The load of every GPU that NVML sees; empty without NVML.
pub(super) fn loads() -> Vec<GpuLoad> {
    let Some(nvml) = nvml() else {
        return Vec::new();
    };
    // A count that cannot be read is a library that does not answer.
    let count = nvml.device_count().unwrap_or(0);
    (0..count).map(|index| load(nvml, index)).collect()
}

fn load(nvml: &Nvml, index: u32) -> GpuLoad {
    let device = nvml.device_by_index(index).ok();
    device.as_ref().map(load_of).unwrap_or_default()
}

/// The load of one device. A driver that says what cannot be is not believed.
pub(super) fn load_of(device: &Device<'_>) -> GpuLoad {
    let memory = device.memory_info().ok().filter(|m| m.used <= m.total);
    let percent = device.utilization_rates().ok().map(|rates| rates.gpu);
    let pci = device.pci_info().ok();
    let celsius = device.temperature(TemperatureSensor::Gpu).ok();
    GpuLoad {
        name: device.name().ok().into(),
        // NVML does not report the function: a GPU is function 0 of its card.
        pci: pci
            .map(|pci| format!("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device))
            .into(),
        gpu_use: fraction(percent),
        memory_used_bytes: memory.as_ref().map(|m| m.used).into(),
        memory_total_bytes: memory.as_ref().map(|m| m.total).into(),
        temperature_celsius: celsius.filter(|&celsius| celsius < MOST_CELSIUS).into(),
    }
}

/// Silicon does not live at this temperature.
const MOST_CELSIUS: u32 = 200;

/// A share of a time that is given in percent.
pub(super) fn fraction(percent: Option<u32>) -> Fact<f64> {
    let percent = percent.filter(|&percent| percent <= 100);
    percent.map(|percent| f64::from(percent) / 100.0).into()
}

/// The version of NVIDIA's kernel driver, such as `570.86.15`.
#[cfg(feature = "gpu")]
pub(super) fn driver_version() -> Fact<String> {
    nvml()
        .and_then(|nvml| nvml.sys_driver_version().ok())
        .into()
}
