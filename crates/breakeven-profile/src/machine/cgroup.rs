//! The CPU and memory limits that control groups put on this process (Linux).
//!
//! Limits of all groups from the process's own up to the root apply, so every level is read and the
//! tightest limit counts. Version 2 (`cpu.max`, `memory.max`) and version 1 (`cpu.cfs_quota_us`,
//! `memory.limit_in_bytes`) may be mounted at the same time; both are read. Formats: the kernel's
//! `admin-guide/cgroup-v2.rst` and `admin-guide/cgroup-v1`.

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
    let memberships = memberships(&read("proc/self/cgroup"));
    let mounts = mounts(&read("proc/self/mountinfo"));
    let mut limits = Limits::default();
    for mount in &mounts {
        let member = memberships.iter().find(|m| mount.holds(m));
        let groups = member.map(|member| groups(root, mount, &member.path));
        for group in groups.into_iter().flatten() {
            limits.tighten(&group, mount.version);
        }
    }
    limits
}

impl Limits {
    fn tighten(&mut self, group: &Path, version: Version) {
        let read = |file: &str| fs::read_to_string(group.join(file)).ok();
        let (cpu, memory, usage, cache_key) = match version {
            Version::V2 => ("cpu.max", "memory.max", "memory.current", "inactive_file"),
            Version::V1 => (
                "cpu.cfs_quota_us",
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
                "total_inactive_file",
            ),
        };
        let cores = read(cpu).and_then(|text| match version {
            Version::V2 => cpu_max(&text),
            Version::V1 => cfs_quota(&text, &read("cpu.cfs_period_us")?),
        });
        if let Some(cores) = cores {
            tighter(&mut self.cpu_cores, cores, group.join(cpu));
        }
        let Some(limit) = read(memory).and_then(|text| memory_limit(&text)) else {
            return;
        };
        tighter(&mut self.memory_bytes, limit, group.join(memory));
        if let Some(used) = read(usage).and_then(|text| text.trim().parse::<u64>().ok()) {
            let cache = read("memory.stat").and_then(|text| stat_value(&text, cache_key));
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

/// A line of `/proc/self/cgroup`: `id:controllers:path`. Version 2 has no controllers.
#[derive(Debug, PartialEq)]
struct Membership {
    controllers: Vec<String>,
    path: String,
}

fn memberships(text: &str) -> Vec<Membership> {
    let line = |line: &str| {
        let mut parts = line.splitn(3, ':');
        let (_id, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Membership {
            controllers: names(controllers),
            path: path.to_owned(),
        })
    };
    text.lines().filter_map(line).collect()
}

fn names(list: &str) -> Vec<String> {
    list.split(',')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// A mounted hierarchy: `root` is the group that appears at `point`.
#[derive(Debug, PartialEq)]
struct Mount {
    version: Version,
    /// Version 1: the controllers `cpu` and `memory`, as far as mounted here.
    controllers: Vec<String>,
    root: String,
    point: String,
}

impl Mount {
    fn holds(&self, membership: &Membership) -> bool {
        match self.version {
            Version::V2 => membership.controllers.is_empty(),
            Version::V1 => (self.controllers.iter()).any(|c| membership.controllers.contains(c)),
        }
    }
}

/// The cgroup mounts that can carry limits, from `/proc/self/mountinfo`
/// (`proc_pid_mountinfo(5)`): `id parent major:minor root point options [tags] - type source options`.
fn mounts(text: &str) -> Vec<Mount> {
    let line = |line: &str| {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3).map(unescaped);
        let (root, point) = (before.next()?, before.next()?);
        let mut after = after.split(' ');
        let (kind, options) = (after.next()?, after.nth(1).unwrap_or_default());
        let mut controllers = names(options);
        controllers.retain(|c| c == "cpu" || c == "memory");
        let version = match kind {
            "cgroup2" => Version::V2,
            "cgroup" if !controllers.is_empty() => Version::V1,
            _ => return None,
        };
        Some(Mount {
            version,
            controllers,
            root,
            point,
        })
    };
    text.lines().filter_map(line).collect()
}

/// mountinfo writes blanks and backslashes as three octal digits.
fn unescaped(field: &str) -> String {
    ["\\040", "\\011", "\\012", "\\134"]
        .into_iter()
        .zip([" ", "\t", "\n", "\\"])
        .fold(field.to_owned(), |text, (code, c)| text.replace(code, c))
}

/// The directories of the group `path` and of those above it, up to the mount.
/// In a container the path may name a group that is not mounted here; then the
/// mount itself is the nearest group that can be read.
fn groups(root: &Path, mount: &Mount, path: &str) -> Vec<PathBuf> {
    let point = root.join(mount.point.trim_start_matches('/'));
    let below = Path::new(path)
        .strip_prefix(&mount.root)
        .unwrap_or(Path::new(""));
    let escapes = below.components().any(|c| c == Component::ParentDir);
    let own = point.join(below);
    if escapes || !own.is_dir() {
        return vec![point];
    }
    own.ancestors()
        .take_while(|dir| dir.starts_with(&point))
        .map(Path::to_owned)
        .collect()
}

/// `cpu.max`: `<quota> <period>` in microseconds, or `max <period>` for no limit.
fn cpu_max(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    cfs_quota(quota, period)
}

/// Quota and period in microseconds as cores; -1 and `max` are no limit.
fn cfs_quota(quota: &str, period: &str) -> Option<f64> {
    let quota: i64 = quota.trim().parse().ok()?;
    let period: i64 = period.trim().parse().ok()?;
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

/// `memory.max` or `memory.limit_in_bytes`: bytes, or `max` for no limit.
/// Version 1 says "no limit" with the largest page-aligned 63-bit number.
fn memory_limit(text: &str) -> Option<u64> {
    const NO_LIMIT_V1: u64 = 1 << 62;
    let bytes: u64 = text.trim().parse().ok()?;
    (bytes < NO_LIMIT_V1).then_some(bytes)
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
        for text in ["", "max\n", "-1", "12 kB", "99999999999999999999"] {
            assert_eq!(memory_limit(text), None, "{text}");
        }
        assert_eq!(memory_limit("0\n"), Some(0));
        assert_eq!(memberships("nonsense\n7:\n"), []);
        assert_eq!(
            mounts("nonsense - cgroup2\n1 2 3 - \n1 2 3 / /x o - cgroup c rw,pids\n"),
            []
        );
        assert_eq!(stat_value("a\nkey 7\n", "key"), Some(7));
        assert_eq!(stat_value("keys 7\n", "key"), None);
    }
}
