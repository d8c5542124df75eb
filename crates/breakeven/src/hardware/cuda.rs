//! The GPUs that CUDA's driver API lists, asked for without cudarc.
//!
//! cudarc panics when the library or one of its symbols is missing, so the same
//! library (by cudarc's own list of names, in its order) is opened here first,
//! and everything that CubeCL will call is looked up before anything calls it.

use std::ffi::c_int;
use std::fmt;

use super::cuda_driver::{Driver, Status};
use super::gpu::AbsentBackend;
use super::listing::{self, Listed};
use super::open::OpenError;
use super::{Backend, DeviceId, cuda_toolkit};

/// Whether this platform can have CUDA.
pub(super) fn expected() -> bool {
    cfg!(any(target_os = "linux", windows))
}

/// CUDA's devices, and what keeps them from being used.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) devices: Vec<Listed>,
    pub(super) unusable: Option<Unusable>,
}

/// Why CUDA is not used, and what to do.
#[derive(Debug)]
pub(super) struct Unusable {
    pub(super) reason: String,
    pub(super) remedy: String,
}

impl From<Unusable> for Found {
    fn from(unusable: Unusable) -> Self {
        Found {
            devices: Vec::new(),
            unusable: Some(unusable),
        }
    }
}

impl Unusable {
    /// The remedy with what becomes of the cards in the meantime: Vulkan has
    /// them too, or does not.
    pub(super) fn advise(self, cards: &[Listed], elsewhere: &[Listed]) -> AbsentBackend {
        let has = |card: &&Listed| {
            elsewhere
                .iter()
                .any(|e| e.pci.is_known() && e.pci == card.pci)
        };
        let (seen, unseen): (Vec<_>, Vec<_>) = cards.iter().partition(has);
        let mut remedy = self.remedy;
        if let Some(card) = seen.first() {
            remedy.push_str(&format!(
                "; until then another backend is used for {}",
                card.name
            ));
        }
        if let Some(card) = unseen.first() {
            remedy.push_str(&format!(
                "; no other backend sees {} (in an NVIDIA container, \
                 NVIDIA_DRIVER_CAPABILITIES=all makes its Vulkan driver visible)",
                card.name
            ));
        }
        AbsentBackend {
            backend: Some(Backend::Cuda),
            reason: self.reason,
            remedy,
        }
    }
}

/// Lists the devices, and looks whether kernels can be compiled for them.
pub(super) fn list() -> Found {
    let driver = match Driver::open() {
        Ok(driver) => driver,
        Err(error) => {
            return Unusable {
                reason: format!(
                    "no CUDA driver: {}",
                    cuda_toolkit::shortened(&error, ".so.1")
                ),
                remedy: "with an NVIDIA GPU, install NVIDIA's driver (in a container, \
                         run it with the NVIDIA container toolkit)"
                    .to_owned(),
            }
            .into();
        }
    };
    let listed = driver
        .init()
        .and_then(|version| Ok((version, driver.devices(version)?)));
    match listed {
        Ok((version, devices)) => Found {
            devices,
            unusable: cuda_toolkit::missing(version),
        },
        Err(unusable) => unusable.into(),
    }
}

/// The device of this id and its ordinal.
pub(super) fn find(id: &DeviceId) -> Result<(super::GpuInfo, usize), OpenError> {
    let found = list();
    if let Some(unusable) = found.unusable {
        return Err(unusable.advise(&[], &[]).into());
    }
    OpenError::find(id, listing::identify(found.devices))
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
pub(super) fn init_failed(library: &str, status: Status) -> Unusable {
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
    Unusable {
        reason: format!("cuInit of {library} returned {status}: {reason}"),
        remedy: remedy.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::{Fact, GpuKind};

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
        let card = |backend, pci: &str| Listed {
            backend,
            name: "NVIDIA H200".to_owned(),
            kind: GpuKind::Discrete,
            memory_bytes: Fact::Unknown,
            driver: Fact::Unknown,
            pci: listing::pci_address(pci),
            architecture: Fact::Unknown,
            index: 0,
        };
        let cuda = [card(Backend::Cuda, "0000:01:00.0")];
        let missing = || Unusable {
            reason: String::new(),
            remedy: "do".to_owned(),
        };
        let seen = missing().advise(&cuda, &[card(Backend::Vulkan, "0000:01:00.0")]);
        assert_eq!(
            seen.remedy,
            "do; until then another backend is used for NVIDIA H200"
        );
        let unseen = missing().advise(&cuda, &[card(Backend::Vulkan, "")]);
        assert!(unseen.remedy.contains("no other backend sees NVIDIA H200"));
        assert_eq!(missing().advise(&[], &[]).remedy, "do");
    }
}
