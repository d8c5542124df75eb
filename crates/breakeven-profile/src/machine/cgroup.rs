//! The CPU and memory limits that control groups (version 2) put on this process (Linux).
//!
//! Limits of all groups from the process's own up to the root apply, so every level is read and the
//! tightest limit counts. Format: the kernel's `admin-guide/cgroup-v2.rst`.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// A limit, and the file that sets it.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit<T> {
    /// The limit.
    pub value: T,
    /// The file that sets it.
    pub source: PathBuf,
}

/// How often a CPU quota stopped the processes of its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Throttled {
    /// Periods of the quota in which some process ran.
    pub periods: u64,
    /// Periods among them in which the quota was exhausted and all threads had to wait.
    pub throttled: u64,
}

/// How often the group with this quota was throttled since it was created. None if its `cpu.stat`
/// does not report it.
pub fn throttled(quota: &Limit<f64>) -> Option<Throttled> {
    let stat = fs::read_to_string(quota.source.with_file_name("cpu.stat")).ok()?;
    Some(Throttled {
        periods: stat_value(&stat, "nr_periods")?,
        throttled: stat_value(&stat, "nr_throttled")?,
    })
}

/// The limits of this process.
#[derive(Debug, Clone, PartialEq, Default)]
#[must_use]
pub struct Limits {
    /// The tightest CPU quota, in cores (1.5 = 150 ms of CPU time per 100 ms).
    pub cpu_cores: Option<Limit<f64>>,
    /// The tightest memory limit, in bytes.
    pub memory_bytes: Option<Limit<u64>>,
    /// Smallest remaining memory under a limit, in bytes: the limit minus the group's use, without
    /// page cache that can be dropped.
    pub memory_left_bytes: Option<u64>,
}

/// Reads the limits of this process below `root`, which is `/` except in tests. Missing or
/// unreadable files set no limit.
pub fn limits(root: &Path) -> Limits {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let (cgroup, mountinfo) = (read("proc/self/cgroup"), read("proc/self/mountinfo"));
    let mut limits = Limits::default();
    for group in groups(root, &cgroup, &mountinfo).unwrap_or_default() {
        limits.tighten(&group);
    }
    limits
}

impl Limits {
    fn tighten(&mut self, group: &Path) {
        let read = |file: &str| fs::read_to_string(group.join(file)).ok();
        if let Some(cores) = read("cpu.max").and_then(|text| cpu_max(&text)) {
            tighter(&mut self.cpu_cores, cores, group.join("cpu.max"));
        }
        // `max` is no limit.
        let bytes = |text: String| text.trim().parse::<u64>().ok();
        let Some(limit) = read("memory.max").and_then(bytes) else {
            return;
        };
        tighter(&mut self.memory_bytes, limit, group.join("memory.max"));
        if let Some(used) = read("memory.current").and_then(bytes) {
            let cache = read("memory.stat").and_then(|text| stat_value(&text, "inactive_file"));
            let left = limit.saturating_sub(used.saturating_sub(cache.unwrap_or(0)));
            self.memory_left_bytes = Some(self.memory_left_bytes.map_or(left, |l| l.min(left)));
        }
    }
}

fn tighter<T: PartialOrd>(limit: &mut Option<Limit<T>>, value: T, source: PathBuf) {
    if limit.as_ref().is_none_or(|known| value < known.value) {
        *limit = Some(Limit { value, source });
    }
}

/// The directories of this process's group and of those above it, up to the mount, from
/// `/proc/self/cgroup` and `/proc/self/mountinfo` (`proc_pid_mountinfo(5)`: `id parent major:minor
/// root point options [tags] - type source options`). In a container the path may name a group that
/// is not mounted here; then the mount itself is the nearest group that can be read.
fn groups(root: &Path, cgroup: &str, mountinfo: &str) -> Option<Vec<PathBuf>> {
    let path = (cgroup.lines()).find_map(|line| line.strip_prefix("0::"))?;
    let mount = (mountinfo.lines()).find(|line| line.contains(" - cgroup2 "))?;
    let mut fields = mount.split(' ').skip(3);
    let (top, point) = (fields.next()?, fields.next()?);
    let point = root.join(point.trim_start_matches('/'));
    let below = Path::new(path).strip_prefix(top).unwrap_or(Path::new(""));
    let escapes = below.components().any(|c| c == Component::ParentDir);
    let own = point.join(below);
    if escapes || !own.is_dir() {
        return Some(vec![point]);
    }
    let above = own.ancestors().take_while(|dir| dir.starts_with(&point));
    Some(above.map(Path::to_owned).collect())
}

/// `cpu.max`, `<quota> <period>` in microseconds, as cores; a quota of `max` is no limit.
fn cpu_max(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    let (quota, period): (u64, u64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

/// The value of `key` in a file of `key value` lines.
fn stat_value(text: &str, key: &str) -> Option<u64> {
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(name, _)| *name == key)
        .and_then(|(_, value)| value.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_files_limit_nothing_and_do_not_panic() {
        for text in [
            "",
            "max",
            "x y",
            "1",
            "-5 100000",
            "100000 0",
            "9e99 1",
            "\u{fffd}",
        ] {
            assert_eq!(cpu_max(text), None, "{text}");
        }
        let of = |cgroup, mountinfo| groups(Path::new("/"), cgroup, mountinfo);
        assert_eq!(of("nonsense\n7:\n", "1 2 3 / /x o - cgroup2 c rw\n"), None);
        assert_eq!(of("0::/\n", "nonsense - cgroup2 \n1 2 3 - \n"), None);
        assert_eq!(stat_value("a\nkey 7\n", "key"), Some(7));
        assert_eq!(stat_value("keys 7\n", "key"), None);
    }
}
