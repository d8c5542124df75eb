//! The GPUs of this machine: asks the backends for their devices, names them, finds which
//! are one card, and opens one by its name.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

use crate::device_id::slug;
use crate::error::{DeviceError, DeviceErrorKind};
use crate::gpu::{AbsentBackend, GpuInfo, unavailable};
use crate::probe::{Probe, ProbeError};
use crate::{Backend, DeviceId, adapters, cuda};

/// How long a driver may take to list its devices. Waking eight data-centre
/// cards that nothing keeps awake takes several seconds.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// Asks every backend, each on a thread of its own and at the same time.
pub(crate) fn detect() -> (Vec<GpuInfo>, Vec<AbsentBackend>) {
    let cuda = cuda::expected().then(|| Probe::start(cuda::list));
    let ask = |&backend| (backend, Probe::start(move || adapters::list(backend)));
    let graphics: Vec<_> = adapters::EXPECTED.iter().map(ask).collect();
    let (mut listed, mut absent) = (Vec::new(), Vec::new());
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
    (gpus, absent)
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
        // Two entries of one backend at one address are partitions of a card (MIG), which are
        // separate devices.
        let is_same = |other: &&GpuInfo| {
            other.pci.is_known() && other.pci == gpu.pci && other.backend != gpu.backend
        };
        let others: Vec<_> = entries.iter().filter(is_same).collect();
        gpu.preferred = others.iter().all(|other| gpu.backend < other.backend);
        gpu.same_as = others.iter().map(|other| other.id.clone()).collect();
    }
}

/// Gives each device its id, and says at which place in the list it was: equal names of one
/// backend are numbered in the order of their PCI addresses; devices without one come after,
/// in the backend's order.
fn identify(listed: Vec<GpuInfo>) -> Vec<(GpuInfo, usize)> {
    let mut placed: Vec<_> = listed.into_iter().zip(0..).collect();
    placed.sort_by_key(|(gpu, place)| {
        let pci = gpu.pci.known().cloned();
        (gpu.backend, slug(&gpu.name), pci.is_none(), pci, *place)
    });
    let mut counts = HashMap::new();
    for (gpu, _) in &mut placed {
        let slug = slug(&gpu.name);
        let nth = counts.entry((gpu.backend, slug.clone())).or_insert(0);
        *nth += 1;
        gpu.id = DeviceId::gpu(gpu.backend, &slug, *nth);
    }
    placed
}

/// The device of this id, and its place in the list of its backend.
fn find(
    id: &DeviceId,
    backend: Backend,
    listed: Vec<GpuInfo>,
) -> Result<(GpuInfo, usize), DeviceError> {
    let devices = identify(listed);
    let names = devices.iter().map(|(gpu, _)| format!("`{}`", gpu.id));
    let names = names.reduce(|all, name| format!("{all}, {name}"));
    let found = devices.into_iter().find(|(gpu, _)| gpu.id == *id);
    found.ok_or_else(|| {
        let names = names.as_deref().unwrap_or("none");
        unavailable(format!("there is no device `{id}`; {backend} has {names}"))
    })
}

/// A device as its backend wants it to be opened.
#[derive(Debug)]
pub enum Handle {
    /// wgpu's adapter (Vulkan, Metal, Direct3D 12), and the instance that it came from.
    /// The adapter lives without it; CubeCL's `WgpuSetup` asks for it.
    Wgpu {
        /// The instance.
        instance: wgpu::Instance,
        /// The adapter.
        adapter: wgpu::Adapter,
    },
    /// The device's ordinal in CUDA's list (`cuDeviceGet`), which stays the same while
    /// the process runs.
    Cuda {
        /// The ordinal.
        ordinal: usize,
    },
}

/// Finds the device of this id again. Asks its backend anew: a device can have
/// gone since it was listed. Blocks for as long as the driver does, on the
/// caller's thread, and a panic of the driver's code is the caller's too.
///
/// # Errors
///
/// [`DeviceError`] of the kind `Unavailable`, with the devices that there are.
pub fn open(id: &DeviceId) -> Result<(Handle, GpuInfo), DeviceError> {
    match id.backend() {
        None => Err(unavailable(format!("`{id}` is not a GPU"))),
        Some(Backend::Cuda) => {
            let (devices, missing) = cuda::list();
            if let Some(missing) = missing {
                return Err(missing.into());
            }
            let (info, ordinal) = find(id, Backend::Cuda, devices)?;
            Ok((Handle::Cuda { ordinal }, info))
        }
        Some(backend) => {
            let (instance, mut adapters, listed) = adapters::enumerate(backend)?;
            let (info, place) = find(id, backend, listed)?;
            let adapter = adapters.swap_remove(place);
            Ok((Handle::Wgpu { instance, adapter }, info))
        }
    }
}

/// The description of an adapter that a program has, with the id by which [`open`] finds it.
///
/// # Errors
///
/// [`DeviceError`] of the kind `Unsupported` for an adapter of OpenGL or WebGPU; `Unavailable` if
/// the backend cannot list its devices.
pub fn described(adapter: &wgpu::Adapter) -> Result<GpuInfo, DeviceError> {
    let backend = match adapter.get_info().backend {
        wgpu::Backend::Vulkan => Backend::Vulkan,
        wgpu::Backend::Metal => Backend::Metal,
        wgpu::Backend::Dx12 => Backend::Dx12,
        other => {
            let why = format!("{other} does not run the kernels; use Vulkan, Metal or DX12");
            return Err(DeviceError::new(DeviceErrorKind::Unsupported, why));
        }
    };
    let given = adapters::describe(backend, adapter);
    let (_, _, listed) = adapters::enumerate(backend)?;
    let mut devices = identify(listed).into_iter().map(|(gpu, _)| gpu);
    let is_it = |gpu: &GpuInfo| gpu.name == given.name && gpu.pci == given.pci;
    Ok(devices.find(is_it).unwrap_or(given))
}

/// The id of the device at that place in CUDA's list.
///
/// # Errors
///
/// [`DeviceError`] of the kind `Unavailable` if there is none, or CUDA cannot be used.
pub fn cuda_id(ordinal: usize) -> Result<DeviceId, DeviceError> {
    let (devices, missing) = cuda::list();
    if let Some(missing) = missing {
        return Err(missing.into());
    }
    let mut devices = identify(devices).into_iter();
    let found = devices.find(|(_, place)| *place == ordinal);
    let none = || unavailable(format!("CUDA has no device {ordinal}"));
    found.map(|(gpu, _)| gpu.id).ok_or_else(none)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GpuKind;
    use crate::gpu::pci_address;

    fn listed(backend: Backend, name: &str, pci: &str) -> GpuInfo {
        GpuInfo {
            pci: pci_address(pci),
            ..GpuInfo::named(backend, name.to_owned(), GpuKind::Discrete)
        }
    }

    /// What is found of the cards behind these entries.
    fn matched(listed: Vec<GpuInfo>) -> Vec<GpuInfo> {
        let mut gpus: Vec<GpuInfo> = identify(listed).into_iter().map(|(gpu, _)| gpu).collect();
        match_cards(&mut gpus);
        gpus
    }

    fn ids(listed: Vec<GpuInfo>) -> Vec<(String, usize)> {
        let identified = identify(listed).into_iter();
        identified
            .map(|(gpu, place)| (gpu.id.to_string(), place))
            .collect()
    }

    #[test]
    fn equal_names_are_numbered_by_pci_address_whatever_the_order() {
        let a = || listed(Backend::Cuda, "NVIDIA H200", "00000000:9A:00.0");
        let b = || listed(Backend::Cuda, "NVIDIA H200", "0000:1b:00.0");
        let c = || listed(Backend::Cuda, "NVIDIA H200 (rev 2)", "");
        let d = || listed(Backend::Vulkan, "NVIDIA H200", "0000:9a:00.0");
        let expected = |places: [usize; 4]| {
            let names = [
                "cuda:nvidia-h200",
                "cuda:nvidia-h200#2",
                "cuda:nvidia-h200#3",
                "vulkan:nvidia-h200",
            ];
            let names = names.map(str::to_owned);
            names.into_iter().zip(places).collect::<Vec<_>>()
        };
        assert_eq!(ids(vec![a(), b(), c(), d()]), expected([1, 0, 2, 3]));
        assert_eq!(ids(vec![d(), c(), b(), a()]), expected([2, 3, 1, 0]));
    }

    #[test]
    fn one_card_through_three_backends_is_preferred_once() {
        let gpus = matched(vec![
            listed(Backend::Dx12, "Card", "0000:01:00.0"),
            listed(Backend::Vulkan, "Card", "0000:01:00.0"),
            listed(Backend::Cuda, "Card", "0000:01:00.0"),
            listed(Backend::Vulkan, "Other card", "0000:02:00.0"),
            listed(Backend::Vulkan, "Nowhere", ""),
            listed(Backend::Dx12, "Nowhere", ""),
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
        let part = || listed(Backend::Cuda, "Card MIG", "0000:01:00.0");
        let gpus = matched(vec![part(), part()]);
        let is_own = |gpu: &GpuInfo| gpu.preferred && gpu.same_as.is_empty();
        assert!(gpus.iter().all(is_own));
        assert_eq!(gpus[1].id.as_str(), "cuda:card-mig#2");
    }

    #[test]
    fn a_device_that_is_not_listed_is_refused_with_those_that_are() {
        let id = DeviceId::gpu(Backend::Vulkan, "no-such-card", 3);
        let error = find(&id, Backend::Vulkan, Vec::new()).expect_err("nothing is listed");
        assert_eq!(
            error.message,
            "there is no device `vulkan:no-such-card#3`; vulkan has none"
        );
        let error = open(&DeviceId::cpu()).expect_err("the CPU is no GPU");
        assert_eq!(error.message, "`cpu` is not a GPU");
    }
}
