//! Asks the backends for their devices, names them, and finds which are one card.

use std::cmp::Reverse;
use std::time::Duration;

use super::device_id::slug;
use super::gpu::{AbsentBackend, GpuInfo, GpuKind, Gpus};
use super::probe::{Probe, ProbeError};
use super::{Backend, DeviceId, Fact, adapters, cuda};

/// A device as a backend listed it, before it has an id.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Listed {
    pub(super) backend: Backend,
    pub(super) name: String,
    pub(super) kind: GpuKind,
    pub(super) memory_bytes: Fact<u64>,
    pub(super) driver: Fact<String>,
    pub(super) pci: Fact<String>,
    pub(super) architecture: Fact<String>,
    /// Its place in the backend's own list.
    pub(super) index: usize,
}

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
        match answer(probe).map_err(|error| no_answer(backend, &error)) {
            Ok(Ok(devices)) => listed.extend(devices),
            Ok(Err(reason)) | Err(reason) => absent.push(reason),
        }
    }
    match cuda.map(|probe| answer(probe).map_err(|error| no_answer(Backend::Cuda, &error))) {
        Some(Ok(found)) => match found.unusable {
            None => listed.extend(found.devices),
            Some(missing) => absent.insert(0, missing.advise(&found.devices, &listed)),
        },
        Some(Err(reason)) => absent.insert(0, reason),
        None => {}
    }
    let mut gpus: Vec<GpuInfo> = identify(listed).into_iter().map(|(gpu, _)| gpu).collect();
    match_cards(&mut gpus);
    gpus.sort_by_key(|gpu| (gpu.kind, Reverse(gpu.memory_bytes.get()), gpu.id.clone()));
    Gpus { gpus, absent }
}

fn answer<T: Send + 'static>(probe: Result<Probe<T>, ProbeError>) -> Result<T, ProbeError> {
    probe?.wait(ANSWER_WITHIN)
}

fn no_answer(backend: Backend, error: &ProbeError) -> AbsentBackend {
    AbsentBackend {
        backend: Some(backend),
        reason: error.to_string(),
        remedy: "look for the driver's own messages (`dmesg`), then repair or reinstall it"
            .to_owned(),
    }
}

/// Gives each device its id: equal names of one backend are numbered in the
/// order of their PCI addresses; devices without one come after, in the
/// backend's order. The second part is the place in the backend's list.
pub(super) fn identify(mut listed: Vec<Listed>) -> Vec<(GpuInfo, usize)> {
    listed.sort_by_key(|d| {
        (
            d.backend,
            slug(&d.name),
            !d.pci.is_known(),
            d.pci.known().cloned(),
            d.index,
        )
    });
    let mut identified = Vec::with_capacity(listed.len());
    let mut last: Option<(Backend, String)> = None;
    let mut nth = 0;
    for device in listed {
        let key = (device.backend, slug(&device.name));
        nth = if last.as_ref() == Some(&key) {
            nth + 1
        } else {
            1
        };
        let gpu = GpuInfo {
            id: DeviceId::gpu(key.0, &key.1, nth),
            name: device.name,
            kind: device.kind,
            backend: device.backend,
            memory_bytes: device.memory_bytes,
            driver: device.driver,
            pci: device.pci,
            architecture: device.architecture,
            same_as: Vec::new(),
            preferred: true,
        };
        last = Some(key);
        identified.push((gpu, device.index));
    }
    identified
}

/// Finds the entries that are one card, and prefers one of them.
fn match_cards(gpus: &mut [GpuInfo]) {
    let entries: Vec<_> = gpus
        .iter()
        .map(|gpu| (gpu.id.clone(), gpu.backend, gpu.pci.clone()))
        .collect();
    for gpu in gpus {
        // Two entries of one backend at one address are parts of a card (MIG),
        // which are devices of their own.
        let others = entries
            .iter()
            .filter(|(_, backend, pci)| {
                pci.is_known() && *pci == gpu.pci && *backend != gpu.backend
            })
            .collect::<Vec<_>>();
        gpu.preferred = others.iter().all(|(_, backend, _)| gpu.backend < *backend);
        gpu.same_as = others.iter().map(|(id, _, _)| id.clone()).collect();
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
