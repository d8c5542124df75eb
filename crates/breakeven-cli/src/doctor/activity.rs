//! Activity of a machine between two moments.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use breakeven_machine::Fact;
use breakeven_machine::linux::{self, CpuTimes, entries, name, text};
use breakeven_profile::machine::cgroup::{self, Throttled};
use serde::Serialize;

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
pub(crate) struct Counters {
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
