//! How busy the machine was while the profile was measured: a chart per device and recording.

use breakeven_judge::page::{Page, shown};
use breakeven_profile::profile::{DeviceLoad, Level, LoadSample, Profile};
use breakeven_profile::unit;
use serde_json::{Value, json};

use crate::part::{MOST_NAME, Part, number};
use crate::sections;

/// Most charts, and most samples per chart.
const MOST_CHARTS: usize = 12;
const MOST_SAMPLES: usize = 1_000;

/// A figure: its name, its value in a sample, and the factor to the axis's unit.
type Figure = (&'static str, fn(&LoadSample) -> Option<Level>, f64);

/// The axes and their figures.
const PLOTS: [(&str, &[Figure]); 4] = [
    (
        "in use, %",
        &[
            ("in use", |sample| sample.used, 100.0),
            ("by other programs", |sample| sample.other_used, 100.0),
        ],
    ),
    (
        "°C",
        &[("temperature", |sample| sample.temperature_celsius, 1.0)],
    ),
    ("W", &[("power", |sample| sample.power_watts, 1.0)]),
    ("GHz", &[("clock", |sample| sample.clock_hz, 1e-9)]),
];

/// None for a profile without recordings.
pub(crate) fn part(profile: &Profile, words: &Page) -> Option<Part> {
    let mut part = Part::new(sections::LOAD);
    part.page(words);
    let all = profile.load.iter().flat_map(|record| &record.devices);
    let all: Vec<&DeviceLoad> = all.filter(|device| !device.samples.is_empty()).collect();
    let mut charts = Vec::new();
    for device in all.iter().take(MOST_CHARTS) {
        part.chart("load", charts.len(), &finding(profile, device));
        charts.push(chart(device));
    }
    if all.len() > MOST_CHARTS {
        part.say(&format!("{} more are not drawn.", all.len() - MOST_CHARTS));
    }
    part.data(&charts);
    (!all.is_empty()).then_some(part)
}

fn finding(profile: &Profile, device: &DeviceLoad) -> String {
    let label = shown(&profile.device_label(&device.device), MOST_NAME);
    let samples = &device.samples;
    let ends = samples
        .iter()
        .map(|sample| sample.start_ns.saturating_add(sample.duration_ns));
    let length = unit::time(ends.max().unwrap_or(0) as f64);
    let mut text = format!("{label} over {length}");
    if samples.len() > MOST_SAMPLES {
        text += &format!("; the first {MOST_SAMPLES} of {} are drawn", samples.len());
    }
    if samples.iter().any(is_limited) {
        text += "; clocks were throttled";
    }
    text
}

fn is_limited(sample: &LoadSample) -> bool {
    sample.limited.is_some_and(|readings| readings > 0)
}

fn chart(device: &DeviceLoad) -> Value {
    let samples = &device.samples[..device.samples.len().min(MOST_SAMPLES)];
    let plots = PLOTS.iter().filter_map(|(axis, figures)| {
        let lines = figures.iter().filter_map(|figure| line(samples, figure));
        let lines: Vec<Value> = lines.collect();
        (!lines.is_empty()).then(|| json!({"axis": axis, "lines": lines}))
    });
    let limited = samples.iter().filter(|sample| is_limited(sample));
    let limited = limited.map(|sample| {
        let begin = sample.start_ns as f64 / 1e9;
        [begin, begin + sample.duration_ns as f64 / 1e9].map(number)
    });
    json!({"plots": plots.collect::<Vec<_>>(), "limited": limited.collect::<Vec<_>>()})
}

fn line(samples: &[LoadSample], (name, figure, factor): &Figure) -> Option<Value> {
    let points: Vec<Value> = samples
        .iter()
        .filter_map(|sample| {
            let level = figure(sample)?;
            let middle = sample.start_ns as f64 + sample.duration_ns as f64 / 2.0;
            let levels = [level.least, level.mean, level.greatest];
            let [low, value, high] = levels.map(|level| number(level * factor));
            let s = number(middle / 1e9);
            Some(json!({"s": s, "low": low, "value": value, "high": high}))
        })
        .collect();
    (!points.is_empty()).then(|| json!({"name": name, "points": points}))
}
