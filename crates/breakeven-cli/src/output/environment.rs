//! The head of the tables: the machine, its GPUs, its measured peaks.

use std::io::Write;

use anyhow::Result;
use breakeven_profile::profile::{Cpu, Gpu, Peak};
use breakeven_profile::unit;

use super::Report;
use super::text::{FAINT, clipped, clipped_middle, left, right, styled, wrapped};

pub(super) fn write(report: &Report, out: &mut dyn Write) -> Result<()> {
    let profile = &report.profile;
    let environment = &profile.environment;
    let mut about: Vec<String> = profile.generator.iter().cloned().collect();
    about.extend(
        environment
            .revision
            .iter()
            .map(|revision| format!("revision {revision}")),
    );
    about.extend(
        environment
            .build_profile
            .iter()
            .map(|build| format!("{build} build")),
    );
    about.extend(profile.created.iter().cloned());
    about.extend(environment.host.iter().map(|host| format!("host {host}")));
    if !about.is_empty() {
        writeln!(out, "{}", styled(&about.join(" · "), FAINT))?;
    }
    if let Some(cpu) = &environment.cpu {
        writeln!(out, "cpu  {}", cpu_text(cpu))?;
    }
    for gpu in &environment.gpus {
        let text = format!("{} · {}", report.label(&gpu.id), gpu_text(gpu));
        for (index, line) in wrapped(&text, 95).iter().enumerate() {
            let start = if index == 0 { "gpu  " } else { "     " };
            writeln!(out, "{start}{line}")?;
        }
    }
    write_absent(report, out)?;
    if let Some(clock) = &environment.clock {
        writeln!(
            out,
            "clock  {}, {} a reading, steps of {}",
            clock.source,
            unit::time(clock.read_ns),
            unit::time(clock.resolution_ns)
        )?;
    }
    write_peaks(report, out)?;
    Ok(())
}

fn write_absent(report: &Report, out: &mut dyn Write) -> Result<()> {
    for absent in &report.absent {
        // One line each; `breakeven devices` has the rest, and the remedy.
        let backend = absent
            .backend
            .map_or_else(|| "gpu".to_owned(), |b| b.to_string());
        let text = clipped(&format!("{backend}: {}", absent.reason), 94);
        writeln!(out, "none {}", styled(&text, FAINT))?;
    }
    if report.profile.environment.gpus.is_empty() && !report.absent.is_empty() {
        let note = "no GPU to measure; `breakeven devices` tells what to install";
        writeln!(out, "     {}", styled(note, FAINT))?;
    }
    Ok(())
}

pub(super) fn cpu_text(cpu: &Cpu) -> String {
    let mut parts: Vec<String> = cpu.model.iter().cloned().collect();
    if let Some(logical) = cpu.logical_cores {
        let physical = cpu
            .physical_cores
            .map_or_else(String::new, |p| format!(" on {p} cores"));
        parts.push(format!("{logical} threads{physical}"));
        if let Some(usable) = cpu.usable_cores.filter(|usable| *usable < logical as f64) {
            parts.push(format!("{usable} usable"));
        }
    }
    if let Some(memory) = cpu.memory_bytes {
        parts.push(unit::bytes(memory));
        if let Some(usable) = cpu.usable_memory_bytes.filter(|usable| *usable < memory) {
            parts.push(format!("{} usable", unit::bytes(usable)));
        }
    }
    let wide = ["avx512f", "avx2", "fma", "neon", "sve"];
    let simd: Vec<&str> = wide
        .into_iter()
        .filter(|f| cpu.simd.iter().any(|s| s == f))
        .collect();
    if !simd.is_empty() {
        parts.push(simd.join(" "));
    }
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
    parts.join(" · ")
}

/// What the table of peaks says of one device.
pub(super) fn peak_cells(peak: &Peak) -> [String; 6] {
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

pub(super) const PEAK_HEADS: [&str; 6] = [
    "memory",
    "best cache",
    "arithmetic",
    "launch",
    "upload",
    "download",
];

fn write_peaks(report: &Report, out: &mut dyn Write) -> Result<()> {
    let peaks = &report.profile.evidence.peaks;
    if peaks.is_empty() {
        return Ok(());
    }
    let row = |name: &str, cells: &[String; 6]| {
        let widths = [11, 12, 14, 11, 12, 13];
        let cells = cells.iter().zip(widths);
        let cells: Vec<String> = cells.map(|(cell, width)| right(cell, width)).collect();
        format!("{}{}", left(&clipped_middle(name, 26), 26), cells.concat())
            .trim_end()
            .to_owned()
    };
    let heads = PEAK_HEADS.map(str::to_owned);
    writeln!(out, "\n{}", styled(&row("measured peaks", &heads), FAINT))?;
    for peak in peaks {
        writeln!(
            out,
            "{}",
            row(&report.label(&peak.device), &peak_cells(peak))
        )?;
    }
    Ok(())
}
