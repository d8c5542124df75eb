//! Readings as the load of a profile.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use breakeven_profile::profile::{Device, Level, LoadRecord, LoadSample};

use super::{ClockLimit, GpuReading, GpuState, Reading};
use crate::hardware::{Fact, HardwareCapabilities};

/// Makes a [`LoadRecord`] of one reading after the other.
#[derive(Debug)]
pub struct LoadRecorder {
    record: LoadRecord,
    /// Samples of a device at most.
    most: usize,
    /// The ids of GPUs by their PCI addresses.
    ids: HashMap<String, String>,
    /// When the recording began, and the reading before.
    times: Option<[Instant; 2]>,
}

impl LoadRecorder {
    /// A recording that begins with its first reading. Beyond `most` samples of a device
    /// neighbours are merged.
    pub fn new(interval: Duration, most: usize) -> Self {
        let record = LoadRecord {
            interval_ns: ns(interval),
            merged: 1,
            ..LoadRecord::default()
        };
        Self {
            record,
            most,
            ids: HashMap::new(),
            times: None,
        }
    }

    /// Names GPUs as operations do, where the machine's detection found them.
    pub fn with_ids_of(mut self, hardware: &HardwareCapabilities) -> Self {
        let gpus = hardware.gpus.iter().filter(|gpu| gpu.preferred);
        let ids = gpus.filter_map(|gpu| Some((gpu.pci.known()?.clone(), gpu.id.to_string())));
        self.ids.extend(ids);
        self
    }

    /// Takes a reading, and what of the cores other programs used since the one before.
    /// The first one begins the recording and is in no sample: rates need two.
    pub fn take(&mut self, reading: &Reading, others: Fact<f64>) {
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
            // The figures of a driver that does not answer are those of another time.
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
        let tells = LoadSample {
            start_ns: sample.start_ns,
            duration_ns: sample.duration_ns,
            ..LoadSample::default()
        };
        if sample != tells {
            self.record.push(device, name, sample, self.most);
        }
    }

    /// What was recorded; none where no sensor told anything.
    pub fn finish(self) -> Option<LoadRecord> {
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

/// In hundredths of a percent: ticks tell no more, and a file is shorter.
fn fraction(value: Fact<f64>) -> Option<Level> {
    level(value.map(|value| (value.clamp(0.0, 1.0) * 1e4).round() / 1e4))
}

/// The sample with what lowered the clocks. That nothing runs is no limit.
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

#[cfg(test)]
mod tests {
    use super::super::{CoreReading, CpuReading, Source};
    use super::*;

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
        let mut recorder = LoadRecorder::new(Duration::from_secs(1), 8);
        recorder.ids = HashMap::from([("0000:01:00.0".to_owned(), "cuda:0".to_owned())]);
        let later = |seconds| start + Duration::from_secs(seconds);
        recorder.take(&reading(start, 0.9, GpuState::Current), Fact::Unknown);
        recorder.take(
            &reading(later(1), 0.5, GpuState::Current),
            Fact::Known(0.25),
        );
        let lost = reading(later(3), 0.25, GpuState::Lost);
        recorder.take(&lost, Fact::Unknown);
        let record = recorder.finish().expect("it told something");
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
    fn sensors_that_tell_nothing_are_no_recording() {
        let start = Instant::now();
        let silent = |at| Reading {
            at,
            cpu: CpuReading::default(),
            gpus: Vec::new(),
            nvml_silent_s: None,
        };
        let mut recorder = LoadRecorder::new(Duration::from_secs(1), 8);
        recorder.take(&silent(start), Fact::Unknown);
        recorder.take(&silent(start + Duration::from_secs(1)), Fact::Unknown);
        assert_eq!(recorder.finish(), None);
    }
}
