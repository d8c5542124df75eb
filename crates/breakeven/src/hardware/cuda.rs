//! The GPUs that CUDA's driver API lists, asked for without cudarc.
//!
//! cudarc panics when the library or one of its symbols is missing, so the same
//! library (by cudarc's own list of names, in its order) is opened here first,
//! and everything that CubeCL will call is looked up before anything calls it.

use std::ffi::c_int;
use std::fmt;

use super::cuda_driver::{Driver, Status};
use super::gpu::{AbsentBackend, GpuInfo};
use super::{Backend, DeviceId, cuda_toolkit, listing, open};
use crate::error::DeviceError;

pub(super) fn expected() -> bool {
    cfg!(any(target_os = "linux", windows))
}

/// Why CUDA is not used, and what to do.
pub(super) fn unusable(reason: String, remedy: impl Into<String>) -> AbsentBackend {
    AbsentBackend::new(Backend::Cuda, reason, remedy)
}

/// Adds to the remedy whether Vulkan has the cards in the meantime.
pub(super) fn advise(
    mut missing: AbsentBackend,
    cards: &[(GpuInfo, usize)],
    elsewhere: &[(GpuInfo, usize)],
) -> AbsentBackend {
    let is_seen = |(card, _): &&(GpuInfo, usize)| {
        let mut others = elsewhere.iter();
        others.any(|(other, _)| other.pci.is_known() && other.pci == card.pci)
    };
    let (seen, unseen): (Vec<_>, Vec<_>) = cards.iter().partition(is_seen);
    if let Some((card, _)) = seen.first() {
        let used = format!("; until then another backend is used for {}", card.name);
        missing.remedy.push_str(&used);
    }
    if let Some((card, _)) = unseen.first() {
        missing.remedy.push_str(&format!(
            "; no other backend sees {} (in an NVIDIA container, \
             NVIDIA_DRIVER_CAPABILITIES=all makes its Vulkan driver visible)",
            card.name
        ));
    }
    missing
}

/// Lists the devices with their ordinals, and looks what keeps them from being used.
pub(super) fn list() -> (Vec<(GpuInfo, usize)>, Option<AbsentBackend>) {
    let driver = Driver::open().map_err(|error| {
        let remedy = "with an NVIDIA GPU, install NVIDIA's driver (in a container, run it with \
                      the NVIDIA container toolkit)";
        let error = cuda_toolkit::shortened(&error, ".so.1");
        unusable(format!("no CUDA driver: {error}"), remedy)
    });
    let listed = driver.and_then(|driver| {
        let version = driver.init()?;
        Ok((driver.devices(version)?, cuda_toolkit::missing(version)))
    });
    listed.unwrap_or_else(|missing| (Vec::new(), Some(missing)))
}

pub(super) fn find(id: &DeviceId) -> Result<(GpuInfo, usize), DeviceError> {
    match list() {
        (_, Some(missing)) => Err(missing.into()),
        (devices, None) => open::find(id, Backend::Cuda, listing::identify(devices)),
    }
}

/// A version of CUDA, which numbers itself 1000 × major + 10 × minor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    pub(super) major: c_int,
    pub(super) minor: c_int,
}

impl Version {
    pub(super) fn from_number(number: c_int) -> Self {
        Version {
            major: number / 1000,
            minor: number % 1000 / 10,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// `CUDA_ERROR_NO_DEVICE`.
pub(super) const NO_DEVICE: Status = 100;

/// The statuses with which `cuInit` refuses, from cuda.h's `CUresult`.
pub(super) fn init_failed(library: &str, status: Status) -> AbsentBackend {
    let (reason, remedy) = match status {
        34 => (
            "it is the stub that the CUDA toolkit has for linking, not the driver",
            "take the toolkit's `stubs` directory off the library path, and install NVIDIA's driver",
        ),
        NO_DEVICE => (
            "it sees no CUDA device",
            "check with `nvidia-smi` that there is one, and that CUDA_VISIBLE_DEVICES does not hide it",
        ),
        802 => (
            "the system is not ready",
            "start the fabric manager (`nvidia-fabricmanager`) and wait until it is up",
        ),
        803 => (
            "the driver's library and its kernel module are of different versions",
            "restart the machine, or reinstall NVIDIA's driver",
        ),
        804 => (
            "the compatibility library does not support this GPU",
            "take CUDA's `compat` directory off the library path, or update NVIDIA's driver",
        ),
        _ => (
            "see `CUresult` in CUDA's documentation",
            "check with `nvidia-smi` that NVIDIA's driver works",
        ),
    };
    unusable(
        format!("cuInit of {library} returned {status}: {reason}"),
        remedy,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::GpuKind;

    #[test]
    fn versions_read_as_cuda_numbers_them() {
        let version = Version::from_number(12080);
        assert_eq!(version.to_string(), "12.8");
        assert!(version < Version::from_number(13000));
        assert_eq!(Version::from_number(11040).to_string(), "11.4");
    }

    #[test]
    fn a_refusal_names_the_library_the_status_and_a_remedy() {
        for status in [34, 100, 802, 803, 804, 999] {
            let refusal = init_failed("libcuda.so.1", status);
            let start = format!("cuInit of libcuda.so.1 returned {status}: ");
            assert!(refusal.reason.starts_with(&start), "{refusal:?}");
            assert!(!refusal.remedy.is_empty());
        }
    }

    #[test]
    fn the_remedy_says_what_becomes_of_the_card() {
        let card = |backend, pci: &str| {
            let mut card = GpuInfo::named(backend, "NVIDIA H200".to_owned(), GpuKind::Discrete);
            card.pci = listing::pci_address(pci);
            [(card, 0)]
        };
        let cuda = card(Backend::Cuda, "0000:01:00.0");
        let remedy = |cards: &[_], elsewhere: &[_]| {
            advise(unusable(String::new(), "do"), cards, elsewhere).remedy
        };
        let seen = remedy(&cuda, &card(Backend::Vulkan, "0000:01:00.0"));
        assert_eq!(
            seen,
            "do; until then another backend is used for NVIDIA H200"
        );
        let unseen = remedy(&cuda, &card(Backend::Vulkan, ""));
        assert!(unseen.contains("no other backend sees NVIDIA H200"));
        assert_eq!(remedy(&[], &[]), "do");
    }
}
