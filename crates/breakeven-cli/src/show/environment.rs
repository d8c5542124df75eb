//! The head of a profile's page: the machine, its GPUs, its measured peaks.

use breakeven_judge::page::{Page, Row, Text, Tone};
use breakeven_profile::profile::{Clock, Cpu, Gpu, Peak};
use breakeven_profile::unit;

use super::{Report, figures};

pub(super) fn add(report: &Report, page: &mut Page) {
    let profile = &report.profile;
    let environment = &profile.environment;
    let mut about: Vec<String> = profile.generator.iter().cloned().collect();
    let (revision, build) = (&environment.revision, &environment.build_profile);
    about.extend(revision.as_ref().map(|name| format!("revision {name}")));
    about.extend(build.as_ref().map(|name| format!("{name} build")));
    about.extend(profile.created.clone());
    about.extend((environment.host.as_ref()).map(|name| format!("host {name}")));
    if !about.is_empty() {
        page.aside(about.join(" · "));
    }
    let mut facts: Vec<(&str, Text)> = Vec::new();
    let cpu = environment.cpu.as_ref();
    facts.extend(cpu.map(|cpu| ("cpu", cpu_text(cpu).into())));
    facts.extend(environment.gpus.iter().map(|gpu| {
        let text = format!("{} · {}", report.label(&gpu.id), gpu_text(gpu));
        ("gpu", text.into())
    }));
    for absent in &report.absent {
        // Only the reason; `breakeven devices` has the remedy.
        let text = format!("{}: {}", absent.backend.unwrap_or("gpu"), absent.reason);
        facts.push(("none", Text::new(text, Tone::Faint)));
    }
    if let Some(clock) = &environment.clock {
        let text = format!(
            "{}, {} a reading, steps of {}",
            clock.source,
            unit::time(clock.read_ns),
            smallest_step(clock)
        );
        facts.push(("clock", text.into()));
    }
    page.facts(facts);
    if environment.gpus.is_empty() && !report.absent.is_empty() {
        page.aside("no GPU to measure; `breakeven devices` says what to install");
    }
    let rows = profile.evidence.peaks.iter().map(|peak| {
        let name = [report.label(&peak.device)].into_iter();
        Row::new(name.chain(peak_cells(peak)))
    });
    page.table(figures("", "measured peaks", PEAK_HEADS, rows));
}

fn cpu_text(cpu: &Cpu) -> String {
    let mut parts: Vec<String> = cpu.model.iter().cloned().collect();
    if let Some(logical) = cpu.logical_cores {
        let physical = cpu
            .physical_cores
            .map_or_else(String::new, |p| format!(" on {p} cores"));
        parts.push(format!("{logical} threads{physical}"));
        let usable = cpu.usable_cores.filter(|usable| *usable < logical as f64);
        parts.extend(usable.map(|usable| format!("{usable} usable")));
    }
    parts.extend(cpu.memory_bytes.map(unit::bytes));
    parts.join(" · ")
}

fn gpu_text(gpu: &Gpu) -> String {
    let mut parts: Vec<String> = gpu.name.iter().cloned().collect();
    if gpu.is_software() {
        parts.push("computes on the CPU".to_owned());
    } else {
        parts.extend(gpu.kind.iter().cloned());
    }
    parts.push(
        gpu.memory_bytes
            .map_or_else(|| "memory unknown".to_owned(), unit::bytes),
    );
    parts.extend(gpu.driver.iter().cloned());
    parts.extend(gpu.pci.iter().map(|pci| format!("pci {pci}")));
    parts.join(" · ")
}

/// The table of peaks for one device.
pub(crate) fn peak_cells(peak: &Peak) -> [String; 6] {
    let rate = |rate: Option<f64>| rate.map_or_else(String::new, unit::bytes_per_s);
    let cached = peak
        .memory
        .iter()
        .map(|point| point.bytes_per_s)
        .reduce(f64::max);
    [
        rate(peak.memory_bytes_per_s),
        rate(cached),
        peak.flops_per_s.map_or_else(String::new, unit::flops_per_s),
        peak.launch_ns.map_or_else(String::new, unit::time),
        rate(peak.upload_bytes_per_s),
        rate(peak.download_bytes_per_s),
    ]
}

/// The clock's smallest step; it is measured in whole nanoseconds.
pub(crate) fn smallest_step(clock: &Clock) -> String {
    match clock.resolution_ns {
        0.0 => "less than 1 ns".to_owned(),
        ns => unit::time(ns),
    }
}

pub(crate) const PEAK_HEADS: [&str; 6] = [
    "memory",
    "best cache",
    "arithmetic",
    "launch",
    "upload",
    "download",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_rounds_to_zero_is_not_none() {
        let step = |resolution_ns| {
            smallest_step(&Clock {
                resolution_ns,
                ..Clock::default()
            })
        };
        assert_eq!([0.0, 1.0].map(step), ["less than 1 ns", "1.00 ns"]);
    }
}
