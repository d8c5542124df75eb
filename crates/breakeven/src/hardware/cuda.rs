//! The GPUs that CUDA's driver API lists, asked for without cudarc.
//!
//! cudarc panics when the library or one of its symbols is missing, so the same
//! library (by cudarc's own list of names, in its order) is opened here first,
//! and everything that CubeCL will call is looked up before anything calls it.

use super::cuda_driver::{Driver, unusable};
use super::gpu::{AbsentBackend, GpuInfo};
use super::{Backend, DeviceId, cuda_toolkit, identify};
use crate::error::DeviceError;

pub(super) fn expected() -> bool {
    cfg!(any(target_os = "linux", windows))
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
        (devices, None) => identify::find(id, Backend::Cuda, devices),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::GpuKind;

    #[test]
    fn the_remedy_says_what_becomes_of_the_card() {
        let card = |backend, pci: &str| {
            let mut card = GpuInfo::named(backend, "NVIDIA H200".to_owned(), GpuKind::Discrete);
            card.pci = identify::pci_address(pci);
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
