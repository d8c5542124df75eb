//! Naming, matching and ordering of devices that are made up.

use super::super::GpuKind;
use super::*;

fn listed(backend: Backend, name: &str, pci: &str, index: usize) -> (GpuInfo, usize) {
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

/// What is found of the cards behind these entries.
fn matched(listed: Vec<(GpuInfo, usize)>) -> Vec<GpuInfo> {
    let mut gpus: Vec<GpuInfo> = identify(listed).into_iter().map(|(gpu, _)| gpu).collect();
    match_cards(&mut gpus);
    gpus
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
fn one_card_through_three_backends_is_preferred_once() {
    let gpus = matched(vec![
        listed(Backend::Dx12, "Card", "0000:01:00.0", 0),
        listed(Backend::Vulkan, "Card", "0000:01:00.0", 0),
        listed(Backend::Cuda, "Card", "0000:01:00.0", 0),
        listed(Backend::Vulkan, "Other card", "0000:02:00.0", 1),
        listed(Backend::Vulkan, "Nowhere", "", 2),
        listed(Backend::Dx12, "Nowhere", "", 1),
    ]);
    let preferred = gpus.iter().filter(|gpu| gpu.preferred);
    let preferred: Vec<_> = preferred.map(|gpu| gpu.id.as_str()).collect();
    let once = "cuda:card vulkan:nowhere vulkan:other-card dx12:nowhere";
    assert_eq!(preferred.join(" "), once);
    let same: Vec<_> = gpus[0].same_as.iter().map(DeviceId::as_str).collect();
    assert_eq!(same, ["vulkan:card", "dx12:card"]);
}

#[test]
fn parts_of_one_card_stay_devices_of_their_own() {
    let part = |index| listed(Backend::Cuda, "Card MIG", "0000:01:00.0", index);
    let gpus = matched(vec![part(0), part(1)]);
    let is_own = |gpu: &GpuInfo| gpu.preferred && gpu.same_as.is_empty();
    assert!(gpus.iter().all(is_own));
    assert_eq!(gpus[1].id.as_str(), "cuda:card-mig#2");
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
