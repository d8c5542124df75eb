//! Readings of the sensors and of programs as metrics in OpenMetrics 1.0.

use std::fmt::Write as _;

pub(crate) use machine::{Own, families};

mod machine;

/// The `Content-Type` of an answer.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

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

/// The answer to a scrape, without families that have no samples.
pub(crate) fn text(families: &[Family]) -> String {
    let mut page = String::new();
    for Family { metric, samples } in families.iter().filter(|family| !family.samples.is_empty()) {
        let (sample, kind, help) = (metric.name, metric.kind(), metric.help);
        let name = metric.family();
        page += &format!("# TYPE {name} {kind}\n# HELP {name} {help}\n");
        for (labels, value) in samples {
            page += sample;
            let mut before = '{';
            for (label, text) in labels {
                let text = escaped(text);
                let _ = write!(page, "{before}{label}=\"{text}\"");
                before = ',';
            }
            page += if labels.is_empty() { " " } else { "} " };
            let _ = writeln!(page, "{value}");
        }
    }
    page + "# EOF\n"
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

/// One metric, as the catalogue has it.
#[derive(Debug, Clone, Copy)]
struct Metric {
    /// The name of its samples: OpenTelemetry's in Prometheus's form, or one that begins with
    /// `breakeven_`. A counter's ends with `_total`.
    name: &'static str,
    /// One sentence, without a line break, a quote or a backslash.
    help: &'static str,
}

impl Metric {
    /// The name of its family: of a counter, without the suffix of its samples.
    fn family(&self) -> &'static str {
        self.name.trim_end_matches("_total")
    }

    fn kind(&self) -> &'static str {
        match self.family() == self.name {
            true => "gauge",
            false => "counter",
        }
    }
}

macro_rules! catalogue {
    ($($id:ident = $name:literal, $help:literal;)*) => {
        $(const $id: Metric = Metric { name: $name, help: $help };)*

        /// All of them.
        #[cfg(test)]
        const ALL: &[Metric] = &[$($id),*];
    };
}

catalogue! {
    CPU_USE = "system_cpu_utilization_ratio",
        "Fraction of a logical core's time in use since the previous reading, time stolen by the host included.";
    CPU_FREQUENCY = "system_cpu_frequency_hertz",
        "Clock of a logical core.";
    MEMORY_USAGE = "system_memory_usage_bytes",
        "Memory in use: installed minus available.";
    MEMORY_LIMIT = "system_memory_limit_bytes",
        "Memory installed.";
    RUN_QUEUE = "breakeven_cpu_run_queue_ratio",
        "Threads that want a core, per logical core.";
    PRESSURE = "breakeven_cpu_pressure_ratio",
        "Fraction of the last ten seconds in which some thread waited for a core.";
    STATUS = "hw_status",
        "1 for the state that a device is in: ok, degraded (its driver does not answer), failed (it cannot be reached any more).";
    TEMPERATURE = "hw_temperature_celsius",
        "Temperature: of the processor its hottest sensor, of a GPU its die.";
    POWER = "hw_power_watts",
        "Power: of all processor packages and their memory since the previous reading, of a GPU now.";
    ENERGY = "hw_energy_joules_total",
        "Energy: of the processors since the server was started, of a GPU since its driver was loaded.";
    CLOCK_LIMITED = "breakeven_clock_limited",
        "1 for every active reason for a lowered clock, 0 for the other reasons.";
    GPU_USE = "hw_gpu_utilization_ratio",
        "Fraction of the driver's last sampling period in which a kernel ran.";
    GPU_MEMORY_USE = "breakeven_gpu_memory_activity_ratio",
        "Fraction of the driver's last sampling period in which the GPU's memory was read or written.";
    GPU_MEMORY_USAGE = "hw_gpu_memory_usage_bytes",
        "Memory of the GPU that programs and the driver hold.";
    GPU_MEMORY_LIMIT = "hw_gpu_memory_limit_bytes",
        "Memory of the GPU.";
    GPU_CLOCK = "breakeven_gpu_clock_hertz",
        "Clock of the GPU's multiprocessors or of its memory.";
    GPU_CLOCK_LIMIT = "breakeven_gpu_clock_limit_hertz",
        "Highest clock of the GPU's multiprocessors.";
    GPU_POWER_LIMIT = "breakeven_gpu_power_limit_watts",
        "Power at which the driver lowers the GPU's clocks.";
    GPU_PROCESS_MEMORY = "breakeven_gpu_process_memory_usage_bytes",
        "Memory of the GPU that a process holds.";
    NVML_SILENT = "breakeven_nvml_silent_seconds",
        "Time for which NVIDIA's driver has not answered; absent while it does.";
    PROGRAM_BATCHES = "breakeven_program_batches_total",
        "Batches of a program that ended: done, or incomplete because they were stopped or failed.";
    PROGRAM_DURATION = "breakeven_program_batch_duration_seconds",
        "Percentiles of the time of a program's batches in the last minute, or of all batches if \
         none was done in it.";
    PROGRAM_TASKS = "breakeven_program_tasks_total",
        "Tasks of a program, by the device that did them.";
    PROGRAM_FALLBACK = "breakeven_program_fallback_tasks_total",
        "Tasks of a program that the CPU did instead of a GPU.";
    PROGRAM_QUARANTINES = "breakeven_program_quarantines_total",
        "How often a device of a program was quarantined after a failure.";
    OWN_MEMORY = "process_memory_usage_bytes",
        "Memory of this server that is in RAM.";
    OWN_UPTIME = "process_uptime_seconds",
        "Time since this server was started.";
    READ_AT = "breakeven_reading_timestamp_seconds",
        "When the sensors were read, as Unix time.";
    BUILD = "breakeven_build_info",
        "The version that serves these metrics.";
}

#[cfg(test)]
mod documents_tests;
#[cfg(test)]
mod tests;
