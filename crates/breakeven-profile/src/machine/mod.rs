//! The machine that this process runs on, as far as the standard library and, on Linux, `/proc`
//! report it: the data in every profile that needs no further library.

use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::thread;

use crate::profile::{Cpu, Environment};

pub mod cgroup;

/// This machine and this build, without GPUs and a clock.
pub fn environment() -> Environment {
    let build = match cfg!(debug_assertions) {
        true => "debug",
        false => "release",
    };
    Environment {
        os: Some(std::env::consts::OS.to_owned()),
        arch: Some(std::env::consts::ARCH.to_owned()),
        cpu: Some(cpu(Path::new("/"))),
        build_profile: Some(build.to_owned()),
        ..Environment::default()
    }
}

/// The processor and the memory below `root`, which is `/` except in tests. On other systems than
/// Linux only the cores are known.
pub fn cpu(root: &Path) -> Cpu {
    let text = |path| fs::read_to_string(root.join(path)).unwrap_or_default();
    let (cpuinfo, meminfo) = (text("proc/cpuinfo"), text("proc/meminfo"));
    let logical = match fields(&cpuinfo, "processor").count() {
        0 => parallelism(),
        cores => cores,
    };
    let limits = cgroup::limits(root);
    let affinity = affinity(root, logical) as f64;
    let quota = limits.cpu_cores.map(|quota| quota.value);
    let total = fields(&meminfo, "MemTotal").next();
    // `kB` means KiB in these files.
    let kib = total.and_then(|total| total.strip_suffix("kB")?.trim().parse::<u64>().ok());
    let memory_bytes = kib.and_then(|kib| kib.checked_mul(1024));
    let limit = limits.memory_bytes.map(|limit| limit.value);
    Cpu {
        model: fields(&cpuinfo, "model name").next().map(str::to_owned),
        logical_cores: Some(logical as u64),
        usable_cores: Some(quota.map_or(affinity, |quota| quota.min(affinity))),
        memory_bytes,
        usable_memory_bytes: memory_bytes.into_iter().chain(limit).min(),
        ..Cpu::default()
    }
}

/// The values of the lines `key : value`.
fn fields<'t>(text: &'t str, key: &'t str) -> impl Iterator<Item = &'t str> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let lines = lines.filter(move |(name, _)| name.trim() == key);
    lines.map(|(_, value)| value.trim())
}

/// The number of cores that the standard library reports for this process, 1 at least.
pub fn parallelism() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Online cores that this thread may run on.
pub fn affinity(root: &Path, logical: usize) -> usize {
    let status = ["proc/thread-self/status", "proc/self/status"]
        .into_iter()
        .find_map(|file| fs::read_to_string(root.join(file)).ok());
    // On other systems than Linux the standard library knows no quota, so its answer is the
    // affinity.
    let allowed = status
        .and_then(|text| allowed_cpus(&text))
        .unwrap_or_else(parallelism);
    // The list may name cores that are not plugged in.
    allowed.clamp(1, logical.max(1))
}

/// The number of CPUs in the line `Cpus_allowed_list:` of `/proc/<pid>/status`,
/// which reads like `0-3,8,10-11` (`cpuset(7)`, list format).
fn allowed_cpus(status: &str) -> Option<usize> {
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let mut count = 0_usize;
    for range in list.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        count = count.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    Some(count)
}
