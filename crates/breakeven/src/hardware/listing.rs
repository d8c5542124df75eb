//! Asks the backends for their devices, names them, and finds which are one card.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

use super::device_id::slug;
use super::gpu::{AbsentBackend, GpuInfo, Gpus};
use super::probe::{Probe, ProbeError};
use super::{Backend, DeviceId, Fact, adapters, cuda};

/// How long a driver may take to list its devices. Waking eight data-centre
/// cards that nothing keeps awake takes several seconds.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// Asks every backend, each on a thread of its own and at the same time.
pub(super) fn detect() -> Gpus {
    let cuda = cuda::expected().then(|| Probe::start(cuda::list));
    let graphics = adapters::EXPECTED
        .iter()
        .map(|&backend| (backend, Probe::start(move || adapters::list(backend))))
        .collect::<Vec<_>>();
    let mut listed = Vec::new();
    let mut absent = Vec::new();
    for (backend, probe) in graphics {
        match answer(backend, probe).and_then(|listed| listed) {
            Ok(devices) => listed.extend(devices),
            Err(reason) => absent.push(reason),
        }
    }
    match cuda.map(|probe| answer(Backend::Cuda, probe)) {
        Some(Ok((devices, None))) => listed.extend(devices),
        Some(Ok((devices, Some(missing)))) => {
            absent.insert(0, cuda::advise(missing, &devices, &listed));
        }
        Some(Err(reason)) => absent.insert(0, reason),
        None => {}
    }
    let mut gpus: Vec<GpuInfo> = identify(listed).into_iter().map(|(gpu, _)| gpu).collect();
    match_cards(&mut gpus);
    gpus.sort_by_key(|gpu| (gpu.kind, Reverse(gpu.memory_bytes.get()), gpu.id.clone()));
    Gpus { gpus, absent }
}

fn answer<T: Send + 'static>(
    backend: Backend,
    probe: Result<Probe<T>, ProbeError>,
) -> Result<T, AbsentBackend> {
    let answer = probe.and_then(|probe| probe.wait(ANSWER_WITHIN));
    answer.map_err(|error| {
        let remedy = "look for the driver's own messages (`dmesg`), then repair or reinstall it";
        AbsentBackend::new(backend, error.to_string(), remedy)
    })
}

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

/// Finds the entries that are one card, and prefers one of them.
fn match_cards(gpus: &mut [GpuInfo]) {
    let entries = gpus.to_vec();
    for gpu in gpus {
        // Two entries of one backend at one address are parts of a card (MIG),
        // which are devices of their own.
        let is_same = |other: &&GpuInfo| {
            other.pci.is_known() && other.pci == gpu.pci && other.backend != gpu.backend
        };
        let others: Vec<_> = entries.iter().filter(is_same).collect();
        gpu.preferred = others.iter().all(|other| gpu.backend < other.backend);
        gpu.same_as = others.iter().map(|other| other.id.clone()).collect();
    }
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
#[path = "listing_tests.rs"]
mod tests;
