//! Families of samples as text, in the two formats that scrapers read.
//!
//! Sources: OpenMetrics 1.0 (prometheus/OpenMetrics, specification/OpenMetrics.md) and
//! "Exposition formats" of Prometheus's documentation.

use std::fmt::Write as _;

use super::name::{Kind, Metric};

/// The format of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    OpenMetrics,
    /// Prometheus's text format 0.0.4.
    Text,
}

impl Format {
    /// The `Content-Type` of this format.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Format::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// The format that a request's `Accept` prefers: text, unless OpenMetrics is named with at
    /// least the same weight. A client that names nothing may not support it.
    pub(crate) fn accepted(accept: &str) -> Self {
        let (mut openmetrics, mut text) = (0.0, 0.0);
        for range in accept.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let weight = match parts.next().unwrap_or_default() {
                "application/openmetrics-text" => &mut openmetrics,
                "text/plain" | "text/*" => &mut text,
                _ => continue,
            };
            let quality = parts.find_map(|part| part.strip_prefix("q="));
            let quality = quality.map_or(1.0, |text| text.parse().unwrap_or(0.0));
            *weight = f64::max(*weight, quality);
        }
        match openmetrics > 0.0 && openmetrics >= text {
            true => Format::OpenMetrics,
            false => Format::Text,
        }
    }
}

/// The labels of a sample: their names and values.
pub(crate) type Labels = Vec<(&'static str, String)>;

/// The labels with one more.
pub(super) fn with(labels: &Labels, name: &'static str, value: &str) -> Labels {
    let mut labels = labels.clone();
    labels.push((name, value.to_owned()));
    labels
}

/// A metric and its samples.
#[derive(Debug)]
pub(crate) struct Family {
    pub(super) metric: Metric,
    samples: Vec<(Labels, f64)>,
}

impl Family {
    pub(super) fn new(metric: Metric) -> Self {
        Self {
            metric,
            samples: Vec::new(),
        }
    }

    /// Adds a sample, if its value is known. A scraper would refuse a page with two samples of the
    /// same labels, so only the first is kept.
    pub(super) fn add(&mut self, labels: Labels, value: Option<f64>) {
        let is_new = self.samples.iter().all(|(known, _)| *known != labels);
        if let Some(value) = value.filter(|value| value.is_finite() && is_new) {
            self.samples.push((labels, value));
        }
    }
}

/// The page, without families that have no samples.
pub(super) fn write(families: &[Family], format: Format) -> String {
    let mut page = String::new();
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        write_family(&mut page, family, format);
    }
    if format == Format::OpenMetrics {
        page += "# EOF\n";
    }
    page
}

fn write_family(page: &mut String, family: &Family, format: Format) {
    let metric = &family.metric;
    let sample = metric.sample();
    let (name, kind) = match (format, metric.kind) {
        (Format::OpenMetrics, Kind::Counter) => (metric.family(), "counter"),
        (Format::OpenMetrics, Kind::Info) => (metric.family(), "info"),
        (Format::Text, Kind::Counter) => (sample.clone(), "counter"),
        (_, Kind::Info | Kind::Gauge | Kind::Sum) => (sample.clone(), "gauge"),
    };
    let help = metric.help;
    *page += &format!("# TYPE {name} {kind}\n");
    if let (Format::OpenMetrics, Some(unit)) = (format, metric.unit_suffix()) {
        *page += &format!("# UNIT {name} {unit}\n");
    }
    *page += &format!("# HELP {name} {help}\n");
    for (labels, value) in &family.samples {
        *page += &sample;
        let mut before = '{';
        for (label, text) in labels {
            let text = escaped(text);
            let _ = write!(page, "{before}{label}=\"{text}\"");
            before = ',';
        }
        *page += if labels.is_empty() { " " } else { "} " };
        let _ = writeln!(page, "{value}");
    }
}

/// A label's value in quotes: `\`, `"` and line feeds are escaped.
fn escaped(text: &str) -> String {
    text.replace('\\', r"\\")
        .replace('"', "\\\"")
        .replace('\n', r"\n")
}
