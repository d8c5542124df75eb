//! Records the machine's load on a separate thread while something else runs: the sensors' readings
//! as a [`LoadRecord`], and the fraction of the cores' time that other programs used, which is the
//! total use minus that of a process and its descendants (`proc_stat(5)`, `proc_pid_stat(5)`).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use breakeven_machine::linux::{self, CpuTimes};
use breakeven_machine::sensors::{ClockLimit, GpuReading, GpuState, Reading, Sensors};
use breakeven_machine::{Fact, HardwareCapabilities};
use breakeven_profile::profile::{Device, Level, LoadRecord, LoadSample};

/// Shortest interval since the last reading that counts as a reading: rates over less are mostly
/// rounding.
const LEAST: Duration = Duration::from_millis(50);

/// A recording in progress.
pub(crate) struct Recording {
    stop: Sender<()>,
    thread: JoinHandle<Option<LoadRecord>>,
}

/// Begins to record, at most `most` samples per device. GPUs are named as operations of `hardware`
/// name them. `others` also records the cores' use by programs other than this one and its
/// descendants, which makes sense if those are what is measured.
pub(crate) fn start(
    interval: Duration,
    most: usize,
    hardware: &HardwareCapabilities,
    others: bool,
) -> Result<Recording> {
    let (stop, stopped) = channel();
    let (ready, is_ready) = channel();
    let mut recorder = LoadRecorder::new(interval, most, hardware);
    let record = move || {
        let mut sensors = Sensors::open();
        let mut others = others.then(OthersUse::than_this_process);
        let mut take = || {
            let others = others.as_mut().map_or(Fact::Unknown, OthersUse::read);
            let reading = sensors.read();
            recorder.take(&reading, others);
            reading.at
        };
        let began = crate::engine::session::now();
        let mut last = take();
        // Nobody waits for the thread if the program is ending.
        let _ = ready.send(());
        loop {
            let due = last + interval;
            let wait = due.saturating_duration_since(Instant::now());
            let ended = stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout);
            if !ended || last.elapsed() >= LEAST {
                last = take();
            }
            if ended {
                break;
            }
        }
        let record = recorder.finish()?;
        let began = Some(began);
        Some(LoadRecord { began, ..record })
    };
    let thread = thread::Builder::new()
        .name("breakeven-load".to_owned())
        .spawn(record)
        .context("cannot start the thread that records the load")?;
    // The first reading opens driver libraries, which must not happen during a measurement.
    let _ = is_ready.recv();
    Ok(Recording { stop, thread })
}

impl Recording {
    /// Ends the recording. None if no sensor reported anything, or if it was too short for rates.
    pub(crate) fn end(self) -> Option<LoadRecord> {
        // A thread that has ended needs no message.
        let _ = self.stop.send(());
        self.thread.join().ok().flatten()
    }
}

/// Builds a [`LoadRecord`] from consecutive readings.
struct LoadRecorder {
    record: LoadRecord,
    /// Most samples per device.
    most: usize,
    /// The ids of GPUs by their PCI addresses.
    ids: HashMap<String, String>,
    /// When the recording began, and the previous reading.
    times: Option<[Instant; 2]>,
}

impl LoadRecorder {
    /// A recording that begins with its first reading. Beyond `most` samples per device, neighbours
    /// are merged.
    fn new(interval: Duration, most: usize, hardware: &HardwareCapabilities) -> Self {
        let gpus = hardware.gpus.iter().filter(|gpu| gpu.preferred);
        let ids = gpus.filter_map(|gpu| Some((gpu.pci.known()?.clone(), gpu.id.to_string())));
        Self {
            record: LoadRecord {
                interval_ns: ns(interval),
                merged: 1,
                ..LoadRecord::default()
            },
            most,
            ids: ids.collect(),
            times: None,
        }
    }

    /// Adds a reading, and the cores' use by other programs since the previous one. The first
    /// reading begins the recording and gives no sample: rates need two.
    fn take(&mut self, reading: &Reading, others: Fact<f64>) {
        let Some([began, last]) = self.times else {
            self.times = Some([reading.at; 2]);
            return;
        };
        self.times = Some([began, reading.at]);
        let time = LoadSample {
            start_ns: ns(last.saturating_duration_since(began)),
            duration_ns: ns(reading.at.saturating_duration_since(last)),
            ..LoadSample::default()
        };
        let cpu = &reading.cpu;
        let sample = LoadSample {
            used: fraction(cpu.used),
            other_used: fraction(others),
            memory_bytes: bytes(cpu.memory_used_bytes),
            temperature_celsius: level(cpu.temperature_celsius),
            power_watts: level(cpu.power_watts),
            clock_hz: level(cpu.clock_hz()),
            ..limited(&cpu.limits, time.clone())
        };
        self.push(Device::CPU, None, sample);
        for (index, gpu) in reading.gpus.iter().enumerate() {
            // The figures of a driver that does not answer are outdated.
            if gpu.state == GpuState::Current {
                self.take_gpu(index, gpu, time.clone());
            }
        }
    }

    fn take_gpu(&mut self, index: usize, gpu: &GpuReading, time: LoadSample) {
        let pci = gpu.load.pci.known();
        let id = pci.map(|pci| self.ids.get(pci).unwrap_or(pci).clone());
        let id = id.unwrap_or_else(|| format!("gpu {index}"));
        let sample = LoadSample {
            used: fraction(gpu.load.gpu_use),
            memory_bytes: bytes(gpu.load.memory_used_bytes),
            temperature_celsius: level(gpu.load.temperature_celsius.map(f64::from)),
            power_watts: level(gpu.power_watts),
            clock_hz: level(gpu.clock_hz),
            ..limited(&gpu.limits, time)
        };
        self.push(&id, gpu.load.name.known().map(String::as_str), sample);
    }

    fn push(&mut self, device: &str, name: Option<&str>, sample: LoadSample) {
        let empty = LoadSample {
            start_ns: sample.start_ns,
            duration_ns: sample.duration_ns,
            ..LoadSample::default()
        };
        if sample != empty {
            self.record.push(device, name, sample, self.most);
        }
    }

    /// The recording; none if no sensor reported anything.
    fn finish(self) -> Option<LoadRecord> {
        (!self.record.devices.is_empty()).then_some(self.record)
    }
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn level(value: Fact<f64>) -> Option<Level> {
    value
        .get()
        .filter(|value| value.is_finite())
        .map(Level::from)
}

fn bytes(value: Fact<u64>) -> Option<Level> {
    level(value.map(|bytes| bytes as f64))
}

/// In hundredths of a percent: ticks are no more precise, and the file is shorter.
fn fraction(value: Fact<f64>) -> Option<Level> {
    level(value.map(|value| (value.clamp(0.0, 1.0) * 1e4).round() / 1e4))
}

/// Adds the reasons of throttled clocks to the sample. An idle device is not throttled.
fn limited(limits: &Fact<Vec<ClockLimit>>, sample: LoadSample) -> LoadSample {
    let Some(limits) = limits.known() else {
        return sample;
    };
    let slowing = limits.iter().filter(|limit| limit.slows());
    let limits = slowing.map(|limit| (limit.name().to_owned(), 1));
    let limits: std::collections::BTreeMap<_, _> = limits.collect();
    LoadSample {
        limited: Some(u64::from(!limits.is_empty())),
        limits,
        ..sample
    }
}

/// Use of the cores by all processes except one tree.
struct OthersUse {
    root: PathBuf,
    /// The root of the process tree.
    pid: u32,
    /// Ticks of all processes, and of the tree.
    last: Option<(CpuTimes, u64)>,
}

impl OthersUse {
    /// Excludes this process and its descendants.
    fn than_this_process() -> Self {
        Self::than(std::process::id(), Path::new("/"))
    }

    fn than(pid: u32, root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            pid,
            last: None,
        }
    }

    /// The fraction of the cores' time that other programs used since the previous call, 0 to 1.
    /// Unknown in the first call, and if the system does not list a process's children (Linux does,
    /// if built with `CONFIG_PROC_CHILDREN`).
    ///
    /// Time is usually counted in ticks of 10 ms, so intervals of a second or more are better than
    /// short ones. The use of an ended process that nobody waited for counts as that of other
    /// programs.
    fn read(&mut self) -> Fact<f64> {
        let now = linux::text(self.root.join("proc/stat"))
            .and_then(|stat| linux::cpu_times(&stat))
            .zip(self.own_ticks(self.pid));
        let before = std::mem::replace(&mut self.last, now);
        now.zip(before)
            .and_then(|(now, then)| others(now, then))
            .into()
    }

    /// Ticks of a process and its descendants, including ended children.
    fn own_ticks(&self, pid: u32) -> Option<u64> {
        let folder = self.root.join(format!("proc/{pid}"));
        let process = linux::process_stat(&linux::text(folder.join("stat"))?)?;
        let mut sum = process.ticks.saturating_add(process.ticks_of_children);
        for thread in linux::entries(folder.join("task")) {
            // A thread may end meanwhile. A system without the file has it for no thread.
            let children = match linux::text(thread.join("children")) {
                Some(children) => children,
                None if thread.exists() => return None,
                None => continue,
            };
            for child in children.split_whitespace() {
                // An ended child is included in its parent's sum next time.
                let child = child.parse().ok().and_then(|child| self.own_ticks(child));
                sum = sum.saturating_add(child.unwrap_or(0));
            }
        }
        Some(sum)
    }
}

fn others((now, own_now): (CpuTimes, u64), (then, own_then): (CpuTimes, u64)) -> Option<f64> {
    let total = now
        .total
        .checked_sub(then.total)
        .filter(|&ticks| ticks > 0)?;
    let busy = now.busy.saturating_sub(then.busy).min(total);
    let own = own_now.saturating_sub(own_then);
    Some(busy.saturating_sub(own) as f64 / total as f64)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use breakeven_machine::sensors::{CoreReading, CpuReading, Source};

    use super::*;

    fn recorder() -> LoadRecorder {
        let hardware = HardwareCapabilities::detect_without_gpu();
        LoadRecorder::new(Duration::from_secs(1), 8, &hardware)
    }

    fn reading(at: Instant, used: f64, gpu: GpuState) -> Reading {
        let core = CoreReading {
            number: 0,
            used: Fact::Known(used),
            clock_hz: Fact::Known(3e9),
        };
        let cpu = CpuReading {
            used: Fact::Known(used),
            cores: vec![core],
            limits: Fact::Known(vec![]),
            ..CpuReading::default()
        };
        let mut card = GpuReading::new(Source::Nvml);
        card.state = gpu;
        card.load.pci = Fact::Known("0000:01:00.0".to_owned());
        card.limits = Fact::Known(vec![ClockLimit::Idle, ClockLimit::Power]);
        Reading {
            at,
            cpu,
            gpus: vec![card],
            nvml_silent_s: None,
        }
    }

    #[test]
    fn readings_become_samples_and_the_first_one_begins() {
        let start = Instant::now();
        let mut recorder = recorder();
        recorder.ids = HashMap::from([("0000:01:00.0".to_owned(), "cuda:0".to_owned())]);
        let later = |seconds| start + Duration::from_secs(seconds);
        recorder.take(&reading(start, 0.9, GpuState::Current), Fact::Unknown);
        recorder.take(
            &reading(later(1), 0.5, GpuState::Current),
            Fact::Known(0.25),
        );
        let lost = reading(later(3), 0.25, GpuState::Lost);
        recorder.take(&lost, Fact::Unknown);
        let record = recorder.finish().expect("it recorded something");
        let devices: Vec<_> = record.devices.iter().map(|one| &*one.device).collect();
        assert_eq!(devices, ["cpu", "cuda:0"]);
        let cpu = &record.devices[0].samples;
        let times: Vec<_> = cpu.iter().map(|s| (s.start_ns, s.duration_ns)).collect();
        assert_eq!(times, [(0, 1_000_000_000), (1_000_000_000, 2_000_000_000)]);
        assert_eq!(cpu[0].other_used, Some(0.25.into()));
        assert_eq!((cpu[1].used, cpu[1].other_used), (Some(0.25.into()), None));
        assert_eq!(cpu[1].clock_hz, Some(3e9.into()));
        assert_eq!(cpu[0].limited, Some(0));
        let gpu = &record.devices[1].samples;
        assert_eq!(gpu.len(), 1, "figures of another time are left out");
        assert_eq!(gpu[0].limited, Some(1));
        assert_eq!(gpu[0].limits.keys().collect::<Vec<_>>(), ["power"]);
    }

    #[test]
    fn sensors_that_report_nothing_are_no_recording() {
        let start = Instant::now();
        let silent = |at| Reading {
            at,
            cpu: CpuReading::default(),
            gpus: Vec::new(),
            nvml_silent_s: None,
        };
        let mut recorder = recorder();
        recorder.take(&silent(start), Fact::Unknown);
        recorder.take(&silent(start + Duration::from_secs(1)), Fact::Unknown);
        assert_eq!(recorder.finish(), None);
    }

    fn process(root: &Path, pid: u32, ticks: [u64; 4], children: &str) {
        let task = root.join(format!("proc/{pid}/task/{pid}"));
        fs::create_dir_all(&task).expect("a folder");
        let [user, system, waited_user, waited_system] = ticks;
        let stat = format!(
            "{pid} (a) b) R 1 1 1 0 -1 0 0 0 0 0 {user} {system} {waited_user} {waited_system} 20 0 1 0 9000"
        );
        fs::write(root.join(format!("proc/{pid}/stat")), stat).expect("a file");
        fs::write(task.join("children"), children).expect("a file");
    }

    fn machine(root: &Path, busy: u64, idle: u64) {
        fs::create_dir_all(root.join("proc")).expect("a folder");
        let text = format!("cpu  {busy} 0 0 {idle} 0 0 0 0\n");
        fs::write(root.join("proc/stat"), text).expect("a file");
    }

    #[test]
    fn what_is_left_is_the_others() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        machine(root, 1_000, 1_000);
        process(root, 7, [10, 5, 0, 0], "8 ");
        process(root, 8, [20, 0, 0, 0], "");
        let mut use_of = OthersUse::than(7, root);
        assert_eq!(use_of.read(), Fact::Unknown);
        // 200 ticks, of which 140 busy: 60 the process and its child, 20 a child that ended.
        machine(root, 1_140, 1_060);
        process(root, 7, [20, 15, 20, 0], "8 ");
        process(root, 8, [60, 0, 0, 0], "");
        assert_eq!(use_of.read(), Fact::Known(0.3));
        // Own time that the system has not counted yet is not other programs' time.
        machine(root, 1_150, 1_070);
        process(root, 7, [90, 15, 20, 0], "");
        assert_eq!(use_of.read(), Fact::Known(0.0));
    }

    #[test]
    fn a_system_that_hides_children_reports_nothing() {
        let root = tempfile::tempdir().expect("a folder");
        machine(root.path(), 10, 10);
        process(root.path(), 7, [1, 0, 0, 0], "");
        fs::remove_file(root.path().join("proc/7/task/7/children")).expect("it is there");
        let mut use_of = OthersUse::than(7, root.path());
        assert_eq!(use_of.read(), Fact::Unknown);
        machine(root.path(), 20, 20);
        assert_eq!(use_of.read(), Fact::Unknown);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_not_others() {
        let mut use_of = OthersUse::than_this_process();
        let own = |use_of: &OthersUse| use_of.own_ticks(use_of.pid);
        let (Fact::Unknown, Some(first)) = (use_of.read(), own(&use_of)) else {
            // A system that hides children.
            return;
        };
        let start = Instant::now();
        // In ticks of 10 ms, however busy the machine is.
        while own(&use_of).is_some_and(|now| now < first + 20) {
            assert!(start.elapsed() < Duration::from_secs(60));
        }
        let others = use_of.read().get().expect("it was known before");
        let cores = linux::core_times(&linux::text("/proc/stat").expect("Linux has it")).len();
        let own = 0.15 / (start.elapsed().as_secs_f64() * cores as f64);
        assert!(
            others <= 1.0 - own,
            "{others}, and at least {own} was this process"
        );
    }
}
