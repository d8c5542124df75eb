//! Readings of the sensors and of programs as metrics: OpenMetrics 1.0, and Prometheus's text
//! format 0.0.4 for scrapers that request nothing newer.

use std::fmt::Write as _;

pub(crate) use machine::{Own, families};

mod machine;

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
type Labels = Vec<(&'static str, String)>;

/// The labels with one more.
fn with(labels: &Labels, name: &'static str, value: &str) -> Labels {
    let mut labels = labels.clone();
    labels.push((name, value.to_owned()));
    labels
}

/// A metric and its samples.
#[derive(Debug)]
pub(crate) struct Family {
    metric: Metric,
    samples: Vec<(Labels, f64)>,
}

impl Family {
    fn new(metric: Metric) -> Self {
        Self {
            metric,
            samples: Vec::new(),
        }
    }

    /// Adds a sample, if its value is known. A scraper would refuse a page with two samples of the
    /// same labels, so only the first is kept.
    fn add(&mut self, labels: Labels, value: Option<f64>) {
        let is_new = self.samples.iter().all(|(known, _)| *known != labels);
        if let Some(value) = value.filter(|value| value.is_finite() && is_new) {
            self.samples.push((labels, value));
        }
    }
}

/// The answer to a scrape in this format, without families that have no samples.
pub(crate) fn text(families: &[Family], format: Format) -> String {
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

#[derive(Debug, Default)]
struct Families(Vec<Family>);

impl Families {
    fn add(&mut self, metric: Metric, labels: &Labels, value: impl Into<Option<f64>>) {
        let is_same = |family: &Family| family.metric.name == metric.name;
        let index = self.0.iter().position(is_same).unwrap_or_else(|| {
            self.0.push(Family::new(metric));
            self.0.len() - 1
        });
        self.0[index].add(labels.clone(), value.into());
    }

    fn add_bytes(&mut self, metric: Metric, labels: &Labels, bytes: Option<u64>) {
        self.add(metric, labels, bytes.map(|bytes| bytes as f64));
    }

    fn all(self) -> Vec<Family> {
        self.0
    }
}

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Only rises, from zero or from where its source began.
    Counter,
    /// A current figure whose sum over labels has no meaning.
    Gauge,
    /// A current figure that may be summed over labels (OpenTelemetry's up-down counter).
    Sum,
    /// Labels only; the value is 1.
    Info,
}

/// A unit, by its code in UCUM, as OpenTelemetry writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Bytes,
    Celsius,
    Hertz,
    Joules,
    Seconds,
    Watts,
    /// A fraction, or a count.
    One,
}

impl Unit {
    /// Prometheus's suffix for the unit.
    fn suffix(self) -> Option<&'static str> {
        match self {
            Unit::Bytes => Some("bytes"),
            Unit::Celsius => Some("celsius"),
            Unit::Hertz => Some("hertz"),
            Unit::Joules => Some("joules"),
            Unit::Seconds => Some("seconds"),
            Unit::Watts => Some("watts"),
            Unit::One => None,
        }
    }
}

/// One metric, as the catalogue has it.
#[derive(Debug, Clone, Copy)]
struct Metric {
    /// OpenTelemetry's name; `breakeven.` is in front of names that it does not define.
    name: &'static str,
    kind: Kind,
    unit: Unit,
    /// One sentence, without a line break, a quote or a backslash.
    help: &'static str,
}

impl Metric {
    /// The unit that ends the name.
    fn unit_suffix(&self) -> Option<&'static str> {
        match (self.kind, self.unit) {
            (Kind::Gauge, Unit::One) => Some("ratio"),
            _ => self.unit.suffix(),
        }
    }

    /// The name of its family in OpenMetrics, without the suffix of samples.
    fn family(&self) -> String {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut name = self.name.replace(|character| !is_allowed(character), "_");
        if let Some(unit) = self.unit_suffix()
            && !name.ends_with(&format!("_{unit}"))
        {
            name = format!("{name}_{unit}");
        }
        name
    }

    /// The name of its samples, for queries.
    fn sample(&self) -> String {
        let family = self.family();
        match self.kind {
            Kind::Counter => family + "_total",
            Kind::Info => family + "_info",
            Kind::Gauge | Kind::Sum => family,
        }
    }
}

macro_rules! catalogue {
    ($($id:ident = $name:literal, $kind:ident, $unit:ident, $help:literal;)*) => {
        $(const $id: Metric = Metric {
            name: $name,
            kind: Kind::$kind,
            unit: Unit::$unit,
            help: $help,
        };)*

        /// All of them.
        #[cfg(test)]
        const ALL: &[Metric] = &[$($id),*];
    };
}

catalogue! {
    CPU_USE = "system.cpu.utilization", Gauge, One,
        "Fraction of a logical core's time in use since the previous reading, time stolen by the host included.";
    CPU_FREQUENCY = "system.cpu.frequency", Gauge, Hertz,
        "Clock of a logical core.";
    MEMORY_USAGE = "system.memory.usage", Sum, Bytes,
        "Memory in use: installed minus available.";
    MEMORY_LIMIT = "system.memory.limit", Sum, Bytes,
        "Memory installed.";
    RUN_QUEUE = "breakeven.cpu.run_queue", Gauge, One,
        "Threads that want a core, per logical core.";
    PRESSURE = "breakeven.cpu.pressure", Gauge, One,
        "Fraction of the last ten seconds in which some thread waited for a core.";
    STATUS = "hw.status", Sum, One,
        "1 for the state that a device is in: ok, degraded (its driver does not answer), failed (it cannot be reached any more).";
    TEMPERATURE = "hw.temperature", Gauge, Celsius,
        "Temperature: of the processor its hottest sensor, of a GPU its die.";
    POWER = "hw.power", Gauge, Watts,
        "Power: of all processor packages and their memory since the previous reading, of a GPU now.";
    ENERGY = "hw.energy", Counter, Joules,
        "Energy: of the processors since the server was started, of a GPU since its driver was loaded.";
    CLOCK_LIMITED = "breakeven.clock.limited", Sum, One,
        "1 for every active reason for a lowered clock, 0 for the other reasons.";
    GPU_USE = "hw.gpu.utilization", Gauge, One,
        "Fraction of the driver's last sampling period in which a kernel ran.";
    GPU_MEMORY_USE = "breakeven.gpu.memory.activity", Gauge, One,
        "Fraction of the driver's last sampling period in which the GPU's memory was read or written.";
    GPU_MEMORY_USAGE = "hw.gpu.memory.usage", Sum, Bytes,
        "Memory of the GPU that programs and the driver hold.";
    GPU_MEMORY_LIMIT = "hw.gpu.memory.limit", Sum, Bytes,
        "Memory of the GPU.";
    GPU_CLOCK = "breakeven.gpu.clock", Gauge, Hertz,
        "Clock of the GPU's multiprocessors or of its memory.";
    GPU_CLOCK_LIMIT = "breakeven.gpu.clock.limit", Gauge, Hertz,
        "Highest clock of the GPU's multiprocessors.";
    GPU_POWER_LIMIT = "breakeven.gpu.power.limit", Gauge, Watts,
        "Power at which the driver lowers the GPU's clocks.";
    GPU_PROCESS_MEMORY = "breakeven.gpu.process.memory.usage", Sum, Bytes,
        "Memory of the GPU that a process holds.";
    NVML_SILENT = "breakeven.nvml.silent", Gauge, Seconds,
        "Time for which NVIDIA's driver has not answered; absent while it does.";
    PROGRAM_BATCHES = "breakeven.program.batches", Counter, One,
        "Batches of a program that ended: done, or incomplete because they were stopped or failed.";
    PROGRAM_DURATION = "breakeven.program.batch.duration", Gauge, Seconds,
        "Percentiles of the time of a program's batches in the last minute, or of all batches if \
         none was done in it.";
    PROGRAM_TASKS = "breakeven.program.tasks", Counter, One,
        "Tasks of a program, by the device that did them.";
    PROGRAM_FALLBACK = "breakeven.program.fallback.tasks", Counter, One,
        "Tasks of a program that the CPU did instead of a GPU.";
    PROGRAM_QUARANTINES = "breakeven.program.quarantines", Counter, One,
        "How often a device of a program was quarantined after a failure.";
    OWN_MEMORY = "process.memory.usage", Sum, Bytes,
        "Memory of this server that is in RAM.";
    OWN_UPTIME = "process.uptime", Gauge, Seconds,
        "Time since this server was started.";
    READ_AT = "breakeven.reading.timestamp", Gauge, Seconds,
        "When the sensors were read, as Unix time.";
    BUILD = "breakeven.build", Info, One,
        "The version that serves these metrics.";
}

#[cfg(test)]
mod documents_tests;
#[cfg(test)]
mod tests;
