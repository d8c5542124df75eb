//! Parses `--device`: names and ids, separated by commas.

use anyhow::{Result, bail};
use breakeven::hardware::{AbsentBackend, GpuInfo, GpuKind, HardwareCapabilities};
use breakeven_profile::profile::Device;

use crate::values::similar;

/// The devices of a list, in its order, to be measured one after the other.
pub(crate) fn devices(asked: &str, hardware: &HardwareCapabilities) -> Result<Vec<String>> {
    let mut devices = Vec::new();
    for name in asked.split(',') {
        for device in named(name.trim(), hardware)? {
            if devices.contains(&device) {
                bail!("--device {asked}: {device} is given twice; remove one");
            }
            devices.push(device);
        }
    }
    Ok(devices)
}

/// The GPUs to use in addition to the CPU: those of a list, or every GPU that is not software.
pub(crate) fn gpus<'h>(
    asked: Option<&str>,
    hardware: &'h HardwareCapabilities,
) -> Result<Vec<&'h GpuInfo>> {
    // A card that several backends list is one device.
    let cards = hardware.gpus.iter().filter(|gpu| gpu.preferred);
    let asked = match asked {
        None | Some("all") => {
            return Ok(cards.filter(|gpu| gpu.kind != GpuKind::Software).collect());
        }
        Some("gpu") if !hardware.gpus.is_empty() => return Ok(cards.collect()),
        Some(asked) => asked,
    };
    let ids = devices(asked, hardware)?;
    if ids.iter().any(|id| id == Device::CPU) {
        bail!("--device {asked}: the strategy decides whether the CPU is used; name only GPUs");
    }
    let find = |id: &String| hardware.gpus.iter().find(|gpu| gpu.id.as_str() == id);
    let gpus: Vec<&GpuInfo> = ids.iter().filter_map(find).collect();
    for gpu in &gpus {
        if let Some(other) = gpus.iter().find(|other| gpu.same_as.contains(&other.id)) {
            let (gpu, other) = (&gpu.id, &other.id);
            bail!("--device {asked}: {gpu} and {other} are the same card; remove one");
        }
    }
    Ok(gpus)
}

fn named(name: &str, hardware: &HardwareCapabilities) -> Result<Vec<String>> {
    let gpus: Vec<String> = hardware.gpus.iter().map(|gpu| gpu.id.to_string()).collect();
    let cpu = Device::CPU.to_owned();
    match name {
        Device::CPU => Ok(vec![cpu]),
        "all" => Ok([vec![cpu], gpus].concat()),
        "gpu" if gpus.is_empty() => {
            let reasons: Vec<String> = hardware.absent.iter().map(ToString::to_string).collect();
            bail!("there is no GPU here: {}", reasons.join("; "))
        }
        "gpu" => Ok(gpus),
        id if gpus.iter().any(|gpu| gpu == id) => Ok(vec![id.to_owned()]),
        unknown => bail!(unknown_device(unknown, hardware)),
    }
}

/// Reports an unknown device, with the most similar name, and why its backend has none.
fn unknown_device(name: &str, hardware: &HardwareCapabilities) -> String {
    let ids = hardware.gpus.iter().map(|gpu| gpu.id.as_str());
    let hint = similar(name, ids.chain([Device::CPU, "gpu", "all"]));
    let mut known = Device::CPU.to_owned();
    for gpu in &hardware.gpus {
        let is_software = gpu.kind == GpuKind::Software;
        known.extend([", ", &Device::label(gpu.id.as_str(), is_software)]);
    }
    let is_its = |absent: &&AbsentBackend| {
        let backend = absent.backend.map(|backend| backend.name());
        backend.is_some_and(|backend| name.split_once(':').is_some_and(|(of, _)| of == backend))
    };
    let why = hardware.absent.iter().find(is_its);
    let why = why.map_or_else(String::new, |absent| format!("; {absent}"));
    format!("there is no device {name:?} here; {hint}there are: {known} (and `gpu`, `all`){why}")
}

#[cfg(test)]
mod tests {
    use breakeven::hardware::Backend;

    use super::*;

    /// A machine with two equal cards that Vulkan lists too, a software GPU, and no device of
    /// Direct3D.
    fn machine() -> HardwareCapabilities {
        let mut hardware = HardwareCapabilities::detect_without_gpu();
        let gpu = |id: &str, kind: &str, same_as: &[&str], preferred: bool| {
            let backend = id.split_once(':').map(|(backend, _)| backend);
            let gpu = serde_json::json!({
                "id": id, "name": id, "kind": kind, "backend": backend, "memory_bytes": null,
                "driver": null, "pci": null, "architecture": null, "same_as": same_as,
                "preferred": preferred,
            });
            serde_json::from_value::<GpuInfo>(gpu).expect("a GPU")
        };
        hardware.gpus = vec![
            gpu("cuda:card", "discrete", &["vulkan:card"], true),
            gpu("cuda:card#2", "discrete", &["vulkan:card#2"], true),
            gpu("vulkan:card", "discrete", &["cuda:card"], false),
            gpu("vulkan:card#2", "discrete", &["cuda:card#2"], false),
            gpu("vulkan:llvmpipe", "software", &[], true),
        ];
        hardware.absent = vec![AbsentBackend {
            backend: Some(Backend::Dx12),
            reason: "no Direct3D".to_owned(),
            remedy: "install Windows".to_owned(),
        }];
        hardware
    }

    fn chosen(asked: Option<&str>) -> String {
        let hardware = machine();
        match gpus(asked, &hardware) {
            Ok(gpus) => {
                let ids: Vec<&str> = gpus.iter().map(|gpu| gpu.id.as_str()).collect();
                ids.join(" ")
            }
            Err(error) => format!("error: {error}"),
        }
    }

    #[test]
    fn software_is_decided_about_only_where_it_is_asked_for() {
        assert_eq!(chosen(None), "cuda:card cuda:card#2");
        assert_eq!(chosen(Some("all")), chosen(None));
        assert_eq!(chosen(Some("gpu")), "cuda:card cuda:card#2 vulkan:llvmpipe");
        let list = "vulkan:llvmpipe, cuda:card#2";
        assert_eq!(chosen(Some(list)), "vulkan:llvmpipe cuda:card#2");
    }

    #[test]
    fn lists_that_cannot_be_meant() {
        insta::assert_snapshot!(chosen(Some("cuda:card,cuda:card")), @"error: --device cuda:card,cuda:card: cuda:card is given twice; remove one");
        insta::assert_snapshot!(chosen(Some("gpu,cuda:card")), @"error: --device gpu,cuda:card: cuda:card is given twice; remove one");
        insta::assert_snapshot!(chosen(Some("cuda:card,vulkan:card")), @"error: --device cuda:card,vulkan:card: cuda:card and vulkan:card are the same card; remove one");
        insta::assert_snapshot!(chosen(Some("cpu,cuda:card")), @"error: --device cpu,cuda:card: the strategy decides whether the CPU is used; name only GPUs");
        insta::assert_snapshot!(chosen(Some("cuda:cart")), @r#"error: there is no device "cuda:cart" here; did you mean "cuda:card"? there are: cpu, cuda:card, cuda:card#2, vulkan:card, vulkan:card#2, vulkan:llvmpipe (software) (and `gpu`, `all`)"#);
        let starts = |asked, start: &str| {
            let said = chosen(Some(asked));
            assert!(said.starts_with(start), "{said}");
            said
        };
        starts("cuda:card,", "error: there is no device \"\" here");
        let absent = starts("dx12:none", "error: there is no device \"dx12:none\" here");
        assert!(
            absent.ends_with("; dx12: no Direct3D; install Windows"),
            "{absent}"
        );
    }

    #[test]
    fn each_entry_of_a_card_is_measured_where_it_is_named() {
        let devices = devices("cpu,vulkan:card,cuda:card", &machine());
        assert_eq!(
            devices.ok().unwrap_or_default(),
            ["cpu", "vulkan:card", "cuda:card"]
        );
    }
}
