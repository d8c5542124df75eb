//! How busy the machine is now.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use breakeven_profile::machine::cgroup;
use serde::{Deserialize, Serialize};
use sysinfo::{MINIMUM_CPU_UPDATE_INTERVAL, MemoryRefreshKind, System};

use crate::linux::{self, CpuTimes};
use crate::nvml::{self, GpuLoad};
use crate::{Fact, GpuInfo, capabilities};

/// A second sample within this time is the first one again.
const CACHED_FOR: Duration = Duration::from_millis(100);

/// An earlier sample older than this says nothing about now.
const LONGEST_INTERVAL: Duration = Duration::from_secs(10);

/// How busy the machine is, with everything that runs on it, this process too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SystemLoad {
    /// Share of the machine's cores that is in use, 0 to 1.
    pub cpu_use: Fact<f64>,
    /// What `cpu_use` was made from.
    pub cpu_use_basis: CpuUseBasis,
    /// Threads that want a core, the caller's own not counted, per logical core
    /// of the machine: above 1 they queue. Linux: `/proc/loadavg`, at this
    /// instant. macOS: the one-minute load average. Elsewhere `Unknown`.
    pub run_queue_per_core: Fact<f64>,
    /// Share of the last ten seconds in which some thread waited for a core,
    /// 0 to 1. Linux with pressure stall information, else `Unknown`.
    pub cpu_pressure: Fact<f64>,
    /// Memory this process can still have without swapping, in bytes: the least
    /// of what the machine has and what every cgroup above the process leaves.
    pub available_memory_bytes: Fact<u64>,
    /// The GPUs whose driver reports its load (NVIDIA's, through NVML).
    pub gpus: Vec<GpuLoad>,
}

/// The source of a figure for CPU use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CpuUseBasis {
    /// CPU time counted between the previous sample and this one.
    Interval {
        /// Length of that interval, in milliseconds.
        milliseconds: u64,
    },
    /// `run_queue_per_core`, at most 1: the first sample of a process, and one
    /// whose predecessor is more than ten seconds old, has no interval to look
    /// at (the average since boot would say nothing about now).
    RunQueue,
}

impl SystemLoad {
    /// Reads the load. Never fails: what cannot be read is `Unknown`.
    ///
    /// Cost: on Linux it reads four files in `/proc` and three per cgroup level, well below a
    /// millisecond. With NVML, five driver calls per GPU are added, and in the first call its
    /// initialisation, which wakes the driver if no other process keeps it awake. A call within 100
    /// ms of the last one copies that sample. Callers wait for each other.
    pub fn sample() -> SystemLoad {
        static SAMPLER: Mutex<Option<Sampler>> = Mutex::new(None);
        // A panic in here leaves nothing half done: `last` is set at the end.
        let mut sampler = SAMPLER.lock().unwrap_or_else(PoisonError::into_inner);
        sampler
            .get_or_insert_with(Sampler::new)
            .sample(Path::new("/"), nvml::loads)
    }

    /// Reads the load without touching a GPU's driver; no GPU is in it. For use
    /// when reading it with GPUs crashed in another process. Not cached.
    pub fn sample_without_gpu() -> SystemLoad {
        Sampler::new().sample(Path::new("/"), Vec::new)
    }

    /// Returns the load of this GPU, found by its PCI address; all `Unknown` if no driver reports
    /// it.
    pub fn gpu(&self, gpu: &GpuInfo) -> GpuLoad {
        let mut gpus = self.gpus.iter();
        let load = gpus.find(|load| load.pci.is_known() && load.pci == gpu.pci);
        load.cloned().unwrap_or_default()
    }
}

/// What a sample needs of the one before.
struct Sampler {
    /// Returns sysinfo's view of the machine; none if it does not support the system.
    system: Option<System>,
    cores: usize,
    last: Option<(Instant, SystemLoad)>,
    times: Option<(Instant, CpuTimes)>,
    /// When sysinfo last counted CPU time; not used on Linux.
    counted: Option<Instant>,
}

impl Sampler {
    fn new() -> Self {
        let system = capabilities::read_system();
        let cores = capabilities::logical_cores(system.as_ref());
        Sampler {
            system,
            cores,
            last: None,
            times: None,
            counted: None,
        }
    }

    fn sample(&mut self, root: &Path, gpus: impl FnOnce() -> Vec<GpuLoad>) -> SystemLoad {
        if let Some((taken, load)) = &self.last
            && taken.elapsed() < CACHED_FOR
        {
            return load.clone();
        }
        let read = |file: &str| fs::read_to_string(root.join(file)).ok();
        let wanting = if cfg!(target_os = "linux") {
            let threads = read("proc/loadavg").and_then(|text| linux::runnable(&text));
            threads.map(|threads| threads as f64)
        } else {
            let average = System::load_average().ok().filter(|_| cfg!(unix));
            average.map(|average| average.one)
        };
        let run_queue = wanting.map(|threads| threads / self.cores as f64);
        let measured = if cfg!(target_os = "linux") {
            self.counted_use(read("proc/stat").and_then(|text| linux::cpu_times(&text)))
        } else {
            self.sysinfo_use()
        };
        let (cpu_use, cpu_use_basis) = match measured {
            Some((used, interval)) => {
                let milliseconds = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
                (Some(used), CpuUseBasis::Interval { milliseconds })
            }
            None => (run_queue.map(|queue| queue.min(1.0)), CpuUseBasis::RunQueue),
        };
        let available = self.system.as_mut().map(|system| {
            system.refresh_memory_specifics(MemoryRefreshKind::nothing().with_ram());
            system.available_memory()
        });
        // sysinfo answers 0 when it could not read.
        let available = available.filter(|&bytes| bytes > 0);
        let left = cgroup::limits(root).memory_left_bytes;
        let load = SystemLoad {
            cpu_use: cpu_use.into(),
            cpu_use_basis,
            run_queue_per_core: run_queue.into(),
            cpu_pressure: read("proc/pressure/cpu")
                .and_then(|text| linux::pressure(&text))
                .into(),
            available_memory_bytes: available.into_iter().chain(left).min().into(),
            gpus: gpus(),
        };
        self.last = Some((Instant::now(), load.clone()));
        load
    }

    /// The use between the previous reading of the counters and this one.
    fn counted_use(&mut self, now: Option<CpuTimes>) -> Option<(f64, Duration)> {
        let now = (Instant::now(), now?);
        let (then, times) = self.times.replace(now)?;
        let interval = now.0.duration_since(then);
        if interval > LONGEST_INTERVAL {
            return None;
        }
        Some((now.1.use_since(times)?, interval))
    }

    /// The same by sysinfo, which counts no more often than every 200 ms and
    /// answers for the time since boot on its first count.
    fn sysinfo_use(&mut self) -> Option<(f64, Duration)> {
        let system = self.system.as_mut()?;
        let interval = self.counted.map(|then| then.elapsed());
        if interval.is_some_and(|interval| interval < MINIMUM_CPU_UPDATE_INTERVAL) {
            return None;
        }
        system.refresh_cpu_usage();
        self.counted = Some(Instant::now());
        let interval = interval.filter(|interval| *interval <= LONGEST_INTERVAL)?;
        let used = f64::from(system.global_cpu_usage()) / 100.0;
        Some((used.clamp(0.0, 1.0), interval))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `/proc` with these counters, two runnable threads and half the memory left.
    fn root(busy: u64, idle: u64) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a temporary directory");
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            fs::write(path, text).expect("a file");
        };
        write("proc/stat", &format!("cpu {busy} 0 0 {idle} 0 0 0 0 0 0\n"));
        write("proc/loadavg", "1.0 1.0 1.0 3/80 11206\n");
        let pressure = "some avg10=25.00 avg60=0 avg300=0 total=0\n";
        write("proc/pressure/cpu", pressure);
        write("proc/self/cgroup", "0::/\n");
        let mounts = "1 2 0:3 / /cg rw - cgroup2 none rw\n";
        write("proc/self/mountinfo", mounts);
        write("cg/memory.max", "1000\n");
        write("cg/memory.current", "600\n");
        root
    }

    /// A sampler of a machine with four cores whose last sample is not fresh.
    fn stale(mut sampler: Sampler) -> Sampler {
        sampler.cores = 4;
        sampler.last = None;
        sampler
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_first_sample_is_the_run_queue_and_is_kept_and_the_next_counts_time() {
        let mut sampler = stale(Sampler::new());
        let first = sampler.sample(root(100, 900).path(), Vec::new);
        assert_eq!(first.cpu_use_basis, CpuUseBasis::RunQueue);
        assert_eq!(first.cpu_use, Fact::Known(0.5));
        assert_eq!(first.run_queue_per_core, Fact::Known(0.5));
        assert_eq!(first.cpu_pressure, Fact::Known(0.25));
        assert_eq!(first.available_memory_bytes, Fact::Known(400));
        let again = sampler.sample(Path::new("/proc/nonexistent"), Vec::new);
        assert_eq!(first, again);
        let mut sampler = stale(sampler);
        let second = sampler.sample(root(130, 970).path(), Vec::new);
        assert!(matches!(second.cpu_use_basis, CpuUseBasis::Interval { .. }));
        assert_eq!(second.cpu_use, Fact::Known(0.3));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn an_old_predecessor_is_no_interval() {
        let mut sampler = stale(Sampler::new());
        let long_ago = Instant::now().checked_sub(LONGEST_INTERVAL * 2);
        let times = CpuTimes {
            busy: 0,
            stolen: 0,
            total: 1,
        };
        sampler.times = long_ago.map(|then| (then, times));
        let load = sampler.sample(root(100, 900).path(), Vec::new);
        assert_eq!(load.cpu_use_basis, CpuUseBasis::RunQueue);
    }

    #[test]
    fn without_any_file_nothing_is_zero() {
        let load = stale(Sampler::new()).sample(Path::new("/proc/nonexistent"), Vec::new);
        if cfg!(target_os = "linux") {
            assert_eq!(load.cpu_use, Fact::Unknown);
            assert_eq!(load.run_queue_per_core, Fact::Unknown);
        }
        assert_eq!(load.cpu_pressure, Fact::Unknown);
    }

    #[test]
    fn shares_are_shares_on_this_machine() {
        let load = SystemLoad::sample();
        let (share, available) = (load.cpu_use.get(), load.available_memory_bytes.get());
        assert!(share.is_none_or(|share| (0.0..=1.0).contains(&share)));
        assert!(available.is_some_and(|bytes| bytes > 0));
    }
}
