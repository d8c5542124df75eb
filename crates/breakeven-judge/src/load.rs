//! Summarises a profile's recordings of the machine's load, per device.

use std::collections::BTreeMap;

use breakeven_profile::profile::{Device, Level, LoadRecord, LoadSample};
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

/// The figures of every device in the recordings, the CPU first.
pub fn load_figures<'r>(records: impl IntoIterator<Item = &'r LoadRecord>) -> Vec<LoadFigures> {
    let mut all: Vec<(LoadFigures, Vec<&LoadSample>)> = Vec::new();
    for device in records.into_iter().flat_map(|record| &record.devices) {
        let known = all.iter().position(|(of, _)| of.device == device.device);
        let index = known.unwrap_or_else(|| {
            all.push(<_>::default());
            all.len() - 1
        });
        let (figures, samples) = &mut all[index];
        figures.device.clone_from(&device.device);
        figures.name = figures.name.take().or_else(|| device.name.clone());
        samples.extend(&device.samples);
    }
    all.sort_by_key(|(of, _)| of.device != Device::CPU);
    all.into_iter()
        .map(|(figures, samples)| figures.over(&samples))
        .collect()
}

/// A level over all samples that have it.
fn level(samples: &[&LoadSample], figure: impl Fn(&LoadSample) -> Option<Level>) -> Option<Level> {
    let known = samples.iter();
    let known = known.filter_map(|sample| Some((figure(sample)?, sample.readings)));
    let sum = known.reduce(|(one, count), (other, more)| {
        (one.and(count, other, more), count.saturating_add(more))
    });
    sum.map(|(level, _)| level)
}

fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

impl LoadFigures {
    fn over(self, samples: &[&LoadSample]) -> Self {
        let is_busy = |sample: &&LoadSample| sample.used.is_some_and(|used| used.mean >= BUSY);
        let busy: Vec<&LoadSample> = samples.iter().copied().filter(is_busy).collect();
        // Readings that reported whether clocks were throttled.
        let reporting = samples.iter().filter(|sample| sample.limited.is_some());
        let reported = sum(reporting.clone().map(|sample| sample.readings));
        let part = |count: u64| (count as f64 / reported.max(1) as f64).min(1.0);
        let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
        for (reason, count) in reporting.clone().flat_map(|sample| &sample.limits) {
            let sum = reasons.entry(reason).or_default();
            *sum = sum.saturating_add(*count);
        }
        let mut reasons: Vec<(String, f64)> = (reasons.into_iter())
            .filter(|(_, count)| *count > 0)
            .map(|(reason, count)| (reason.to_owned(), part(count)))
            .collect();
        reasons.sort_by(|one, other| other.1.total_cmp(&one.1));
        let limited = reporting.clone().next().map(|_| {
            let limited = reporting.filter_map(|sample| sample.limited);
            part(sum(limited))
        });
        Self {
            recorded_ns: sum(samples.iter().map(|sample| sample.duration_ns)),
            readings: sum(samples.iter().map(|sample| sample.readings)),
            used: level(samples, |sample| sample.used),
            other_used: level(samples, |sample| sample.other_used),
            memory_bytes: level(samples, |sample| sample.memory_bytes),
            temperature_celsius: level(samples, |sample| sample.temperature_celsius),
            power_watts: level(samples, |sample| sample.power_watts),
            clock_hz: level(samples, |sample| sample.clock_hz),
            busy_clock_hz: level(&busy, |sample| sample.clock_hz).map(|clock| clock.mean),
            limited,
            reasons,
            ..self
        }
    }
}
