//! Facts about a machine: what the system's files say, and what happened between two moments.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use breakeven_machine::Fact;
use breakeven_machine::linux::{self, CpuTimes, entries, name, text};
use breakeven_machine::sensors::{CpuReading, GpuReading};
use breakeven_profile::machine::cgroup::{self, Throttled};
use breakeven_profile::profile::Clock;
use serde::Serialize;

/// Input of the findings: what was observed, and the system's files.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Facts {
    /// The folder of the system's files, which is `/` except in tests.
    #[serde(skip)]
    pub(super) root: PathBuf,
    /// Activity while the machine was idle.
    pub(crate) quiet: Activity,
    /// Activity under load.
    pub(crate) loaded: Activity,
    /// The processors after the load; limits of their clocks are those since its begin.
    pub(crate) cpu: CpuReading,
    /// The GPUs after the load.
    pub(crate) gpus: Vec<GpuReading>,
    /// The clock that measures times, if it was measured.
    pub(crate) clock: Option<Clock>,
}

/// A system file with one value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Setting {
    /// Its path.
    pub(super) file: String,
    /// Its text.
    pub(super) value: String,
}

pub(super) const CPU: &str = "sys/devices/system/cpu";

/// Words in a process's cgroup path that containers put there.
const OF_CONTAINERS: [&str; 6] = ["docker", "kubepods", "containerd", "libpod", "lxc", "crio"];

impl Facts {
    /// The trimmed text of a file.
    pub(super) fn text(&self, file: &str) -> Option<String> {
        text(self.root.join(file))
    }

    /// A setting.
    pub(super) fn setting(&self, file: &str) -> Option<Setting> {
        let value = self.text(file);
        let value = value.filter(|value| !value.is_empty() && value.len() < 256)?;
        let file = format!("/{file}");
        Some(Setting { file, value })
    }

    /// A setting whose value is a name, as the kernel defines them.
    pub(super) fn named(&self, file: &str) -> Option<Setting> {
        let of_names = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        let setting = self.setting(file);
        setting.filter(|setting| setting.value.chars().all(of_names))
    }

    /// The value of the line of `/proc/self/status` that begins with `key`.
    fn status(&self, key: &str) -> Option<String> {
        let status = self.text("proc/self/status")?;
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        Some(line.trim().to_owned())
    }

    /// A list of logical cores.
    pub(super) fn cores(&self, file: &str) -> Option<Vec<u32>> {
        list_of(&self.text(&format!("{CPU}/{file}"))?)
    }

    /// The cores that this process may use. The system's list may name cores that are not plugged
    /// in.
    pub(super) fn allowed(&self) -> Option<Vec<u32>> {
        let online = self.cores("online");
        let mut allowed = list_of(&self.status("Cpus_allowed_list:")?)?;
        allowed.retain(|core| online.as_ref().is_none_or(|online| online.contains(core)));
        (!allowed.is_empty()).then_some(allowed)
    }

    /// For each physical core its logical cores.
    pub(super) fn siblings(&self) -> Option<BTreeSet<Vec<u32>>> {
        let online = self.cores("online")?;
        let of = |core: u32| self.cores(&format!("cpu{core}/topology/thread_siblings_list"));
        online.into_iter().map(of).collect()
    }

    /// Prefix of a command that changes a setting.
    pub(super) fn sudo(&self) -> &'static str {
        let ids = self.status("Uid:");
        let effective = ids.as_ref().and_then(|ids| ids.split_whitespace().nth(1));
        match effective {
            Some("0") => "",
            _ => "sudo ",
        }
    }

    /// The file that shows that this process is in a container.
    pub(super) fn container(&self) -> Option<&'static str> {
        let marks = ["/.dockerenv", "/run/.containerenv"];
        let exists = |mark: &&str| self.root.join(mark.trim_start_matches('/')).exists();
        let group = self.text("proc/self/cgroup").unwrap_or_default();
        let is_named = OF_CONTAINERS.iter().any(|word| group.contains(word));
        let mark = marks.into_iter().find(exists);
        mark.or_else(|| is_named.then_some("/proc/self/cgroup"))
    }

    /// Whether a hypervisor runs below, as the processor reports.
    pub(super) fn hypervisor(&self) -> Option<bool> {
        if self.text("sys/hypervisor/type").is_some() {
            return Some(true);
        }
        let cpuinfo = self.text("proc/cpuinfo")?;
        let flags = cpuinfo.lines().find(|line| line.starts_with("flags"))?;
        Some(flags.split_whitespace().any(|flag| flag == "hypervisor"))
    }

    /// Whether the machine's battery is discharging (the kernel's `sysfs-class-power`); none without
    /// one.
    pub(super) fn on_battery(&self) -> Option<bool> {
        let supplies = entries(self.root.join("sys/class/power_supply")).into_iter();
        let is_own = |path: &PathBuf| {
            // A mouse has a battery, too.
            text(path.join("type")).as_deref() == Some("Battery")
                && text(path.join("scope")).as_deref() != Some("Device")
        };
        let status = supplies
            .filter(is_own)
            .filter_map(|path| text(path.join("status")));
        let status: Vec<String> = status.collect();
        (!status.is_empty()).then(|| status.iter().any(|status| status == "Discharging"))
    }
}

/// More cores than any machine has; a list that names more is invalid.
const MOST: u32 = 1 << 16;

/// Parses a list of cores into ascending order. None if it is invalid.
fn list_of(text: &str) -> Option<Vec<u32>> {
    let mut cores = BTreeSet::new();
    for range in text.trim().split(',').filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= MOST {
            return None;
        }
        cores.extend(first..=last);
    }
    Some(cores.into_iter().collect())
}

/// Formats cores as such a list.
pub(super) fn list_text(cores: &[u32]) -> String {
    let ranges = cores.chunk_by(|one, next| one + 1 == *next);
    let range = |cores: &[u32]| match cores {
        [first, .., last] => format!("{first}-{last}"),
        cores => cores.iter().map(u32::to_string).collect(),
    };
    ranges.map(range).collect::<Vec<_>>().join(",")
}

/// Most processes that are named, the busiest first.
const NAMED: usize = 5;

/// Fraction of a core from which a process is named.
const LEAST_CORES: f64 = 0.02;

/// Activity between two moments.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Activity {
    /// CPU time used by all processes, in cores.
    pub(crate) busy_cores: Fact<f64>,
    /// Fraction of the requested CPU time that the hypervisor gave to other machines.
    pub(crate) stolen: Fact<f64>,
    /// The processes that used the most CPU time, without this one.
    pub(crate) processes: Vec<BusyProcess>,
    /// Pages swapped out or in.
    pub(crate) swapped_pages: Fact<u64>,
    /// Periods of the CPU quota, and those in which it was exhausted.
    pub(crate) throttled: Fact<[u64; 2]>,
}

/// A process that uses CPU time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct BusyProcess {
    /// Its number.
    pub(crate) pid: u32,
    /// Its program's name.
    pub(crate) name: String,
    /// CPU time, in cores.
    pub(crate) cores: f64,
}

/// The counters at a moment.
#[derive(Debug, Default)]
pub(super) struct Counters {
    times: Option<CpuTimes>,
    cores: usize,
    /// CPU time of each process in ticks, with its name, by process id and start.
    processes: BTreeMap<(u32, u64), (String, u64)>,
    swapped: Option<u64>,
    throttled: Option<Throttled>,
}

impl Counters {
    pub(crate) fn read(root: &Path) -> Self {
        let stat = fs::read_to_string(root.join("proc/stat")).unwrap_or_default();
        let own = std::process::id();
        let folders = entries(root.join("proc")).into_iter();
        let processes = folders.filter_map(|folder| {
            let pid = name(&folder).parse().ok().filter(|pid| *pid != own)?;
            let process = linux::process_stat(&text(folder.join("stat"))?)?;
            Some(((pid, process.started), (process.name, process.ticks)))
        });
        let vmstat = fs::read_to_string(root.join("proc/vmstat")).unwrap_or_default();
        let counter = |key: &str| {
            let value = vmstat.lines().find_map(|line| line.strip_prefix(key))?;
            value.trim().parse::<u64>().ok()
        };
        let quota = cgroup::limits(root).cpu_cores;
        Self {
            times: linux::cpu_times(&stat),
            cores: linux::core_times(&stat).len(),
            processes: processes.collect(),
            swapped: counter("pswpin ")
                .zip(counter("pswpout "))
                .map(|(into, out)| into.saturating_add(out)),
            throttled: quota.and_then(|quota| cgroup::throttled(&quota)),
        }
    }
}

impl Activity {
    pub(crate) fn between(then: &Counters, now: &Counters) -> Self {
        let since = |now: u64, then: u64| now.checked_sub(then);
        let times = then.times.zip(now.times).and_then(|(then, now)| {
            let total = since(now.total, then.total).filter(|ticks| *ticks > 0)?;
            let busy = since(now.busy, then.busy)?.min(total);
            Some((total, busy, since(now.stolen, then.stolen)?.min(busy)))
        });
        // Ticks of one core in the interval.
        let per_core = times
            .filter(|_| now.cores > 0)
            .map(|(total, ..)| total as f64 / now.cores as f64);
        let of_process = |((pid, start), (name, ticks)): (&(u32, u64), &(String, u64))| {
            let before = then.processes.get(&(*pid, *start));
            let ticks = ticks.saturating_sub(before.map_or(0, |(_, ticks)| *ticks));
            let cores = ticks as f64 / per_core?;
            (cores >= LEAST_CORES).then(|| BusyProcess {
                pid: *pid,
                name: name.clone(),
                cores,
            })
        };
        let mut processes: Vec<_> = now.processes.iter().filter_map(of_process).collect();
        processes.sort_by(|a, b| b.cores.total_cmp(&a.cores));
        processes.truncate(NAMED);
        let throttled = then.throttled.zip(now.throttled).and_then(|(then, now)| {
            let periods = since(now.periods, then.periods)?;
            Some([periods, since(now.throttled, then.throttled)?])
        });
        Self {
            busy_cores: times
                .zip(per_core)
                .map(|((_, busy, stolen), core)| busy.saturating_sub(stolen) as f64 / core)
                .into(),
            stolen: times
                .map(|(_, busy, stolen)| stolen as f64 / busy.max(1) as f64)
                .into(),
            processes,
            swapped_pages: then
                .swapped
                .zip(now.swapped)
                .and_then(|(then, now)| since(now, then))
                .into(),
            throttled: throttled.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written() {
        for (list, expected) in [
            ("0-3,8,10-11\n", vec![0, 1, 2, 3, 8, 10, 11]),
            ("\n", vec![]),
            ("5", vec![5]),
        ] {
            assert_eq!(list_of(list), Some(expected), "{list}");
            assert_eq!(list_text(&list_of(list).unwrap()), list.trim());
        }
        for bad in ["x", "3-1", "0-4294967295", "1-2-3", "-1", "(null)"] {
            assert_eq!(list_of(bad), None, "{bad}");
        }
    }
}
