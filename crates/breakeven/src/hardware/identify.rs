//! Which device is which: ids of what the backends list, and a device by its id.

use std::collections::HashMap;

use super::device_id::slug;
use super::gpu::{GpuInfo, unavailable};
use super::{Backend, DeviceId, Fact};
use crate::error::DeviceError;

/// Gives each device its id: equal names of one backend are numbered in the
/// order of their PCI addresses; devices without one come after, in the
/// backend's order. The second part is the place in the backend's list.
pub(super) fn identify(mut listed: Vec<(GpuInfo, usize)>) -> Vec<(GpuInfo, usize)> {
    listed.sort_by_key(|(gpu, index)| {
        let pci = gpu.pci.known().cloned();
        (gpu.backend, slug(&gpu.name), pci.is_none(), pci, *index)
    });
    let mut counts = HashMap::new();
    for (gpu, _) in &mut listed {
        let slug = slug(&gpu.name);
        let nth = counts.entry((gpu.backend, slug.clone())).or_insert(0);
        *nth += 1;
        gpu.id = DeviceId::gpu(gpu.backend, &slug, *nth);
    }
    listed
}

/// The device of this id and its place in the list of its backend.
pub(super) fn find(
    id: &DeviceId,
    backend: Backend,
    listed: Vec<(GpuInfo, usize)>,
) -> Result<(GpuInfo, usize), DeviceError> {
    let devices = identify(listed);
    let ids: Vec<_> = devices
        .iter()
        .map(|(gpu, _)| format!("`{}`", gpu.id))
        .collect();
    let found = devices.into_iter().find(|(gpu, _)| gpu.id == *id);
    found.ok_or_else(|| {
        let present = match ids.is_empty() {
            true => "none".to_owned(),
            false => ids.join(", "),
        };
        unavailable(format!(
            "there is no device `{id}`; {backend} has {present}"
        ))
    })
}

/// A PCI address in the one form that all of them are compared in,
/// `domain:bus:device.function` in lower-case hexadecimal, four digits of domain.
pub(super) fn pci_address(text: &str) -> Fact<String> {
    let parse = || {
        let (domain, rest) = text.trim().split_once(':')?;
        let (bus, rest) = rest.split_once(':')?;
        let (device, function) = rest.split_once('.').unwrap_or((rest, "0"));
        let hex = |digits| u32::from_str_radix(digits, 16).ok();
        Some(format!(
            "{:04x}:{:02x}:{:02x}.{:x}",
            hex(domain)?,
            hex(bus)?,
            hex(device)?,
            hex(function)?
        ))
    };
    parse().into()
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::GpuKind;
    use super::*;

    pub(crate) fn listed(
        backend: Backend,
        name: &str,
        pci: &str,
        index: usize,
    ) -> (GpuInfo, usize) {
        let gpu = GpuInfo {
            pci: pci_address(pci),
            ..GpuInfo::named(backend, name.to_owned(), GpuKind::Discrete)
        };
        (gpu, index)
    }

    fn ids(listed: Vec<(GpuInfo, usize)>) -> Vec<(String, usize)> {
        let identified = identify(listed).into_iter();
        identified
            .map(|(gpu, index)| (gpu.id.to_string(), index))
            .collect()
    }

    #[test]
    fn equal_names_are_numbered_by_pci_address_whatever_the_order() {
        let a = || listed(Backend::Cuda, "NVIDIA H200", "00000000:9A:00.0", 0);
        let b = || listed(Backend::Cuda, "NVIDIA H200", "0000:1b:00.0", 1);
        let c = || listed(Backend::Cuda, "NVIDIA H200 (rev 2)", "", 2);
        let d = || listed(Backend::Vulkan, "NVIDIA H200", "0000:9a:00.0", 3);
        let expected = vec![
            ("cuda:nvidia-h200".to_owned(), 1),
            ("cuda:nvidia-h200#2".to_owned(), 0),
            ("cuda:nvidia-h200#3".to_owned(), 2),
            ("vulkan:nvidia-h200".to_owned(), 3),
        ];
        assert_eq!(ids(vec![a(), b(), c(), d()]), expected);
        assert_eq!(ids(vec![d(), c(), b(), a()]), expected);
    }

    #[test]
    fn addresses_have_one_form() {
        for text in ["00000000:1B:00.0", "0000:1b:00"] {
            assert_eq!(pci_address(text), Fact::Known("0000:1b:00.0".to_owned()));
        }
        for damaged in ["", "?", "1b:00.0", "0000:xx:00.0", "PCI\\VEN_10DE"] {
            assert_eq!(pci_address(damaged), Fact::Unknown, "{damaged}");
        }
    }

    #[test]
    fn a_device_that_is_not_listed_is_refused_with_those_that_are() {
        let id = DeviceId::gpu(Backend::Vulkan, "no-such-card", 3);
        let error = find(&id, Backend::Vulkan, Vec::new()).expect_err("nothing is listed");
        assert_eq!(
            error.message,
            "there is no device `vulkan:no-such-card#3`; vulkan has none"
        );
    }
}
