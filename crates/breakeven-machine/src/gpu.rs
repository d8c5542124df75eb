//! The GPUs of the machine, and for each backend without any the reason.

use std::fmt;

use serde::{Deserialize, Serialize};

#[cfg(feature = "gpu")]
use crate::error::{DeviceError, DeviceErrorKind};
use crate::{Backend, DeviceId, Fact, GpuKind};

/// A GPU as one backend shows it. A card that two backends show is listed twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuInfo {
    /// Its stable name.
    pub id: DeviceId,
    /// The driver's name for it, with everything that the id leaves out.
    pub name: String,
    /// How it sits in the machine.
    pub kind: GpuKind,
    /// The backend that shows it.
    pub backend: Backend,
    /// Its memory in bytes. CUDA: `cuDeviceTotalMem`. Vulkan: the sum of the heaps that are local
    /// to the device; for an integrated GPU they are in the machine's memory. Metal and Direct3D
    /// 12: `Unknown`.
    pub memory_bytes: Fact<u64>,
    /// Driver and version, as the backend reports it; changes when the driver does.
    pub driver: Fact<String>,
    /// PCI address, `0000:01:00.0`.
    pub pci: Fact<String>,
    /// What kernels are compiled for. CUDA: `sm_90`. Else `Unknown`.
    pub architecture: Fact<String>,
    /// The other entries for the same card, matched by PCI address.
    pub same_as: Vec<DeviceId>,
    /// Whether this is the preferred entry for its card: CUDA's if there is one, then Vulkan's or
    /// Metal's, then Direct3D 12's. One per card.
    pub preferred: bool,
}

/// A backend that has no device to offer, with why and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbsentBackend {
    /// Which one; none for all of them.
    pub backend: Option<Backend>,
    /// What was looked for and what was found.
    pub reason: String,
    /// What would make it present.
    pub remedy: String,
}

#[cfg(any(feature = "gpu", test))]
impl GpuInfo {
    /// A device of which nothing else is known yet; its id has no number.
    pub(crate) fn named(backend: Backend, name: String, kind: GpuKind) -> Self {
        Self {
            id: DeviceId::gpu(backend, &crate::device_id::slug(&name), 1),
            name,
            kind,
            backend,
            memory_bytes: Fact::Unknown,
            driver: Fact::Unknown,
            pci: Fact::Unknown,
            architecture: Fact::Unknown,
            same_as: Vec::new(),
            preferred: true,
        }
    }
}

impl AbsentBackend {
    pub(crate) fn new(
        backend: impl Into<Option<Backend>>,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            backend: backend.into(),
            reason: reason.into(),
            remedy: remedy.into(),
        }
    }
}

#[cfg(feature = "gpu")]
impl From<AbsentBackend> for DeviceError {
    fn from(absent: AbsentBackend) -> Self {
        unavailable(absent.to_string())
    }
}

#[cfg(feature = "gpu")]
pub(crate) fn unavailable(why: String) -> DeviceError {
    DeviceError::new(DeviceErrorKind::Unavailable { until: None }, why)
}

impl fmt::Display for AbsentBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.backend.map_or("gpu", Backend::name);
        write!(f, "{name}: {}; {}", self.reason, self.remedy)
    }
}

/// A PCI address in the one form that all of them are compared in,
/// `domain:bus:device.function` in lower-case hexadecimal, four digits of domain.
#[cfg(feature = "gpu")]
pub(crate) fn pci_address(text: &str) -> Fact<String> {
    let parse = || {
        let (domain, rest) = text.trim().split_once(':')?;
        let (bus, rest) = rest.split_once(':')?;
        let (device, function) = rest.split_once('.').unwrap_or((rest, "0"));
        let hex = |digits| u32::from_str_radix(digits, 16).ok();
        let (domain, bus) = (hex(domain)?, hex(bus)?);
        let (device, function) = (hex(device)?, hex(function)?);
        Some(format!("{domain:04x}:{bus:02x}:{device:02x}.{function:x}"))
    };
    parse().into()
}

#[cfg(all(test, feature = "gpu"))]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_one_form() {
        for text in ["00000000:1B:00.0", "0000:1b:00"] {
            assert_eq!(pci_address(text), Fact::Known("0000:1b:00.0".to_owned()));
        }
        for damaged in ["", "?", "1b:00.0", "0000:xx:00.0", "PCI\\VEN_10DE"] {
            assert_eq!(pci_address(damaged), Fact::Unknown, "{damaged}");
        }
    }
}
