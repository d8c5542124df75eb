//! Which processes use a GPU: the lines `drm-…` in `/proc/<pid>/fdinfo`
//! (the kernel's `Documentation/gpu/drm-usage-stats.rst`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::GpuProcess;
use super::files::{entries, name as file_name, text};
use crate::hardware::Fact;

/// The program's name, as far as it may be looked at.
pub(super) fn name(root: &Path, pid: u32) -> Option<String> {
    text(root.join(format!("proc/{pid}/comm"))).filter(|name| !name.is_empty())
}

/// The processes per PCI address.
pub(super) fn users(root: &Path) -> BTreeMap<String, Vec<GpuProcess>> {
    let mut users: BTreeMap<String, Vec<GpuProcess>> = BTreeMap::new();
    for process in entries(root.join("proc")) {
        let Ok(pid) = file_name(&process).parse::<u32>() else {
            continue;
        };
        for (pci, bytes) in of_process(&process) {
            users.entry(pci).or_default().push(GpuProcess {
                pid,
                name: Fact::Unknown,
                memory_bytes: bytes.into(),
            });
        }
    }
    users
}

/// Memory per GPU that the process has open.
fn of_process(process: &Path) -> BTreeMap<String, Option<u64>> {
    let mut clients = BTreeSet::new();
    let mut memory = BTreeMap::new();
    for file in entries(process.join("fd")) {
        // Only files of GPUs are read: there may be thousands of others.
        let target = fs::read_link(&file).unwrap_or_default();
        if !target.starts_with("/dev/dri") {
            continue;
        }
        let Some(info) = text(process.join("fdinfo").join(file_name(&file))) else {
            continue;
        };
        let value = |key: &str| {
            let mut lines = info.lines();
            lines.find_map(|line| Some(line.strip_prefix(key)?.strip_prefix(':')?.trim()))
        };
        let Some(pci) = value("drm-pdev") else {
            continue;
        };
        // Copies of a descriptor are one client.
        if !clients.insert((pci.to_owned(), value("drm-client-id").map(str::to_owned))) {
            continue;
        }
        // `drm-memory-` is what amdgpu said first.
        let regions = ["drm-resident-vram0", "drm-resident-vram", "drm-memory-vram"];
        let local = regions.iter().find_map(|key| bytes(value(key)?));
        let sum = memory.entry(pci.to_owned()).or_insert(None);
        if let Some(local) = local {
            *sum = Some(sum.unwrap_or(0_u64).saturating_add(local));
        }
    }
    memory
}

/// `123 KiB`, as the format has it; without a unit bytes.
fn bytes(value: &str) -> Option<u64> {
    let (number, unit) = value.split_once(' ').unwrap_or((value, ""));
    let unit = match unit.trim() {
        "" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}
