//! Which device the jobs of a GPU slot see, by the variables of the drivers' runtimes.

use std::fs;

/// Variables that choose devices. ROCR_VISIBLE_DEVICES stays the user's: HIP numbers the devices
/// that it leaves visible (ROCm documentation, "GPU isolation techniques").
const CHOOSING: [&str; 3] = [
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",
];

/// The devices that the jobs of one slot see.
pub(super) type Visible = Vec<(&'static str, String)>;

/// The devices of this machine, without asking a driver.
#[derive(Debug, Default)]
pub(super) struct Devices {
    /// The devices that the user's variables allow, by variable.
    lists: Vec<(&'static str, Vec<String>)>,
    /// Their number, if known.
    count: Option<usize>,
}

impl Devices {
    pub(super) fn find() -> Self {
        let set = |name: &str| std::env::var(name).ok();
        let rocr = set("ROCR_VISIBLE_DEVICES").map(|list| entries(&list).len());
        let found = rocr.or_else(nvidia).or_else(amd);
        Self::of(set, found)
    }

    fn of(set: impl Fn(&str) -> Option<String>, found: Option<usize>) -> Self {
        let lists = CHOOSING.into_iter();
        let lists = lists.filter_map(|name| Some((name, entries(&set(name)?))));
        let lists: Vec<_> = lists.collect();
        let listed = lists
            .iter()
            .map(|(_, list)| list.len())
            .find(|length| *length > 0);
        Self {
            count: listed.or(found).filter(|count| *count > 0),
            lists,
        }
    }

    /// Number of known devices; 1 if none.
    pub(super) fn count(&self) -> usize {
        self.count.unwrap_or(1)
    }

    /// The devices for the jobs of a slot; further slots share devices.
    pub(super) fn visible(&self, slot: usize) -> Visible {
        let number = slot % self.count.unwrap_or(usize::MAX);
        let chosen = |name: &'static str| {
            let list = self.lists.iter().find(|(listed, _)| *listed == name);
            let device = match list {
                // An empty list hides all devices.
                Some((_, list)) => list.get(slot % list.len().max(1)).cloned(),
                None => Some(number.to_string()),
            };
            (name, device.unwrap_or_default())
        };
        CHOOSING.into_iter().map(chosen).collect()
    }
}

fn entries(list: &str) -> Vec<String> {
    let entries = list.split(',').map(str::trim);
    let entries = entries.filter(|entry| !entry.is_empty());
    entries.map(str::to_owned).collect()
}

/// GPUs of NVIDIA's driver, by the kernel.
fn nvidia() -> Option<usize> {
    Some(fs::read_dir("/proc/driver/nvidia/gpus").ok()?.count())
}

/// GPUs of AMD's driver, by the kernel: nodes whose GPU has an id.
fn amd() -> Option<usize> {
    let nodes = fs::read_dir("/sys/class/kfd/kfd/topology/nodes").ok()?;
    let is_gpu = |id: String| id.trim() != "0";
    let ids = nodes
        .flatten()
        .map(|node| fs::read_to_string(node.path().join("gpu_id")));
    Some(ids.flatten().filter(|id| is_gpu(id.clone())).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(devices: &Devices, slot: usize) -> String {
        let seen = devices.visible(slot).into_iter().map(|(_, device)| device);
        seen.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn slots_have_devices_in_turn() {
        let of = |cuda: Option<&str>, found| {
            let cuda = cuda.map(str::to_owned);
            Devices::of(|name| cuda.clone().filter(|_| name == CHOOSING[0]), found)
        };
        let seen = |devices: Devices| {
            let seen: Vec<_> = (0..3).map(|slot| seen(&devices, slot)).collect();
            (devices.count(), seen.join(", "))
        };
        assert_eq!(seen(of(None, None)), (1, "0 0 0, 1 1 1, 2 2 2".to_owned()));
        assert_eq!(
            seen(of(None, Some(2))),
            (2, "0 0 0, 1 1 1, 0 0 0".to_owned())
        );
        let listed = of(Some("3, GPU-7"), Some(8));
        assert_eq!(seen(listed), (2, "3 0 0, GPU-7 1 1, 3 0 0".to_owned()));
        let hidden = of(Some(""), Some(1));
        assert_eq!(seen(hidden), (1, " 0 0,  0 0,  0 0".to_owned()));
    }
}
