//! Time over size, and the size from which another device pays.

use std::collections::{BTreeMap, BTreeSet};

use breakeven_judge::page::{Item, Page, shown};
use breakeven_judge::run_medians;
use breakeven_profile::profile::{BreakEven, Profile};
use breakeven_profile::stats::median;
use breakeven_profile::unit;
use serde_json::{Value, json};

use crate::part::{MOST_NAME, MOST_TEXT, Part, number};
use crate::sections;

/// Fewest sizes of a curve.
const LEAST_SIZES: usize = 3;

/// Most operations that are drawn, and most sizes per device.
const MOST_CURVES: usize = 30;
const MOST_SIZES: usize = 200;

/// An operation's name and, per device, its sizes with the medians of their runs, ns.
type Sized<'p> = BTreeMap<&'p str, BTreeMap<u64, Vec<f64>>>;

/// None without operations of several sizes and without break-evens.
pub(crate) fn part(profile: &Profile) -> Option<Part> {
    let mut part = Part::new(sections::BREAK_EVEN);
    let mut data = Vec::new();
    let mut drawn = BTreeSet::new();
    for (name, devices) in curves(profile) {
        drawn.insert(name);
        let label = shown(name, MOST_NAME);
        let all = profile.evidence.break_even.iter();
        let found = all.filter(|evidence| evidence.operation == name);
        let said: Vec<String> = found.clone().map(|each| answer(profile, each)).collect();
        let mut finding = format!("{label}: median time over size");
        if !said.is_empty() {
            finding += &format!(". {}", said.join("; "));
        }
        part.chart("curves", data.len(), &finding);
        let marks = found.zip(&said).filter_map(|(evidence, text)| {
            let interval = evidence.interval.map(|ends| ends.map(number));
            let (size, text) = (number(evidence.size?), shown(text, MOST_TEXT));
            Some(json!({"size": size, "interval": interval, "text": text}))
        });
        let lines = devices.into_iter().map(|(device, sizes)| {
            let device = shown(&profile.device_label(device), MOST_NAME);
            let sizes = sizes.into_iter().take(MOST_SIZES);
            let points = sizes.filter_map(|(size, medians)| point(&device, size, &medians));
            json!({"points": points.collect::<Vec<_>>(), "device": device})
        });
        let lines: Vec<Value> = lines.collect();
        data.push(json!({"marks": marks.collect::<Vec<_>>(), "lines": lines}));
    }
    // The break-evens of operations that were not measured at several sizes.
    let further = profile.evidence.break_even.iter();
    let further = further.filter(|evidence| !drawn.contains(evidence.operation.as_str()));
    let further: Vec<Item> = further
        .map(|evidence| format!("{}: {}", evidence.operation, answer(profile, evidence)).into())
        .collect();
    let mut page = Page::default();
    page.items(further);
    part.page(&page);
    part.data(&data);
    (!part.body.is_empty()).then_some(part)
}

/// The operations with enough sizes for a curve, at most [`MOST_CURVES`].
fn curves(profile: &Profile) -> BTreeMap<&str, Sized<'_>> {
    let mut all: BTreeMap<&str, Sized<'_>> = BTreeMap::new();
    let operations = profile.operations.iter();
    for operation in operations.filter(|each| !each.within_execution) {
        let Some(size) = operation.size.filter(|size| *size > 0) else {
            continue;
        };
        let medians = run_medians(operation);
        if !medians.is_empty() {
            let devices = all.entry(&operation.name).or_default();
            let sizes = devices.entry(&operation.device).or_default();
            sizes.insert(size, medians);
        }
    }
    all.retain(|_, devices| devices.values().any(|sizes| sizes.len() >= LEAST_SIZES));
    all.into_iter().take(MOST_CURVES).collect()
}

/// Describes the profile's evidence for a device.
fn answer(profile: &Profile, evidence: &BreakEven) -> String {
    let count = |value: f64| unit::count(value.round());
    let [device, over] = [&evidence.device, &evidence.over]
        .map(|device| shown(&profile.device_label(device), MOST_NAME));
    match (evidence.size, evidence.interval, evidence.tested_to) {
        (Some(size), Some([low, high]), _) => format!(
            "{device} pays from size {} on over {over} (95 % interval: {} to {})",
            count(size),
            count(low),
            count(high)
        ),
        (Some(size), None, _) => format!("{device} pays from size {} on over {over}", count(size)),
        (None, _, Some(to)) => format!("{device} never pays over {over} up to size {}", count(to)),
        (None, _, None) => format!("{device} never pays over {over}"),
    }
}

fn point(device: &str, size: u64, medians: &[f64]) -> Option<Value> {
    let ns = median(medians).ok().filter(|ns| *ns > 0.0)?;
    let low = medians.iter().copied().reduce(f64::min)?;
    let high = medians.iter().copied().reduce(f64::max)?;
    let text = format!(
        "{device}, size {}\n{} ({} to {} over {} runs)",
        unit::count(size as f64),
        unit::time(ns),
        unit::time(low),
        unit::time(high),
        medians.len(),
    );
    let [ns, low, high] = [ns, low, high].map(number);
    Some(json!({"size": size, "ns": ns, "low": low, "high": high, "text": text}))
}
