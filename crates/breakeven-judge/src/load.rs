//! Summarises a profile's recordings of the machine's load, per device.

use std::collections::BTreeMap;

use breakeven_profile::profile::{Level, LoadRecord, LoadSample};
use serde::Serialize;

/// A clock shows the speed of the work only under load: readings with less use than this are
/// excluded from [`LoadFigures::busy_clock_hz`].
const BUSY: f64 = 0.5;

/// A device's load over all recordings. Figures that no sensor reported are `None`; means are over
/// readings.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LoadFigures {
    /// The device's id.
    pub device: String,
    /// The vendor's name for it.
    pub name: Option<String>,
    /// Time that the samples cover, ns.
    pub recorded_ns: u64,
    /// Number of readings.
    pub readings: u64,
    /// Fraction of its time in use: minimum, mean and maximum.
    pub used: Option<Level>,
    /// Fraction of the cores' time that other programs used.
    pub other_used: Option<Level>,
    /// Memory in use, bytes.
    pub memory_bytes: Option<Level>,
    /// Temperature, °C.
    pub temperature_celsius: Option<Level>,
    /// Power, W.
    pub power_watts: Option<Level>,
    /// Clock, Hz.
    pub clock_hz: Option<Level>,
    /// Mean clock over the samples in which it was in use for at least half of the time, Hz.
    pub busy_clock_hz: Option<f64>,
    /// Fraction of the readings with throttled clocks.
    pub limited: Option<f64>,
    /// The reasons of throttling, the most frequent first, each with its fraction of the readings.
    pub reasons: Vec<(String, f64)>,
}

/// A level and its readings.
type Weighed = Option<(Level, u64)>;

#[derive(Default)]
struct Sums {
    name: Option<String>,
    recorded_ns: u64,
    readings: u64,
    levels: [Weighed; 6],
    busy_clock: Weighed,
    /// Readings that reported whether clocks were throttled, and those in which they were.
    limited: Option<(u64, u64)>,
    reasons: BTreeMap<String, u64>,
}

/// The figures of every device in the recordings, the CPU first.
pub fn load_figures<'r>(records: impl IntoIterator<Item = &'r LoadRecord>) -> Vec<LoadFigures> {
    let mut all: Vec<(&str, Sums)> = Vec::new();
    for device in records.into_iter().flat_map(|record| &record.devices) {
        let known = all.iter().position(|(id, _)| *id == device.device);
        let index = known.unwrap_or_else(|| {
            all.push((&device.device, Sums::default()));
            all.len() - 1
        });
        let sums = &mut all[index].1;
        sums.name = sums.name.take().or_else(|| device.name.clone());
        for sample in &device.samples {
            sums.add(sample);
        }
    }
    all.sort_by_key(|(id, _)| *id != breakeven_profile::profile::Device::CPU);
    all.into_iter().map(|(id, sums)| sums.figures(id)).collect()
}

fn add(sum: &mut Weighed, level: Option<Level>, readings: u64) {
    *sum = match (*sum, level) {
        (Some((known, count)), Some(level)) => {
            let both = known.and(count, level, readings);
            Some((both, count.saturating_add(readings)))
        }
        (None, Some(level)) => Some((level, readings)),
        (known, None) => known,
    };
}

impl Sums {
    fn add(&mut self, sample: &LoadSample) {
        let readings = sample.readings;
        self.recorded_ns = self.recorded_ns.saturating_add(sample.duration_ns);
        self.readings = self.readings.saturating_add(readings);
        let levels = [
            sample.used,
            sample.other_used,
            sample.memory_bytes,
            sample.temperature_celsius,
            sample.power_watts,
            sample.clock_hz,
        ];
        for (sum, level) in self.levels.iter_mut().zip(levels) {
            add(sum, level, readings);
        }
        if sample.used.is_some_and(|used| used.mean >= BUSY) {
            add(&mut self.busy_clock, sample.clock_hz, readings);
        }
        if let Some(limited) = sample.limited {
            let (reported, count) = self.limited.unwrap_or_default();
            let sums = (
                reported.saturating_add(readings),
                count.saturating_add(limited),
            );
            self.limited = Some(sums);
            for (reason, count) in &sample.limits {
                let sum = self.reasons.entry(reason.clone()).or_default();
                *sum = sum.saturating_add(*count);
            }
        }
    }

    fn figures(self, device: &str) -> LoadFigures {
        let reported = self.limited.map_or(0, |(reported, _)| reported);
        // A file may claim more readings than there were.
        let part = |count: u64| (count as f64 / reported.max(1) as f64).min(1.0);
        let mut reasons: Vec<(String, f64)> = (self.reasons.into_iter())
            .filter(|(_, count)| *count > 0)
            .map(|(reason, count)| (reason, part(count)))
            .collect();
        reasons.sort_by(|one, other| other.1.total_cmp(&one.1));
        let [
            used,
            other_used,
            memory_bytes,
            temperature_celsius,
            power_watts,
            clock_hz,
        ] = self.levels.map(|level| level.map(|(level, _)| level));
        LoadFigures {
            device: device.to_owned(),
            name: self.name,
            recorded_ns: self.recorded_ns,
            readings: self.readings,
            used,
            other_used,
            memory_bytes,
            temperature_celsius,
            power_watts,
            clock_hz,
            busy_clock_hz: self.busy_clock.map(|(clock, _)| clock.mean),
            limited: self.limited.map(|(_, limited)| part(limited)),
            reasons,
        }
    }
}
