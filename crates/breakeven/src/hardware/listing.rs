//! Asks the backends for their devices, and finds which are one card.

use std::cmp::Reverse;
use std::time::Duration;

use super::gpu::{AbsentBackend, GpuInfo, Gpus};
use super::identify::identify;
use super::probe::{Probe, ProbeError};
use super::{Backend, adapters, cuda};

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

#[cfg(test)]
#[path = "listing_tests.rs"]
mod tests;
