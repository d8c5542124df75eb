//! Matching and ordering of devices that are made up.

use super::super::DeviceId;
use super::super::identify::tests::listed;
use super::*;

/// What is found of the cards behind these entries.
fn matched(listed: Vec<(GpuInfo, usize)>) -> Vec<GpuInfo> {
    let mut gpus: Vec<GpuInfo> = identify(listed).into_iter().map(|(gpu, _)| gpu).collect();
    match_cards(&mut gpus);
    gpus
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
