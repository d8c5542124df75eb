//! The list of devices.

use std::io::Write;

use anyhow::Result;
use breakeven::hardware::{Fact, GpuInfo, GpuKind, HardwareCapabilities, SystemLoad};
use breakeven_profile::profile::Peak;
use breakeven_profile::unit;
use serde::Serialize;

use super::device_label;
use super::environment::{PEAK_HEADS, peak_cells};
use super::text::{BOLD, FAINT, left, styled, wrapped};

/// What the command found.
#[derive(Serialize)]
pub(crate) struct Listing<'l> {
    #[serde(flatten)]
    pub(crate) hardware: &'l HardwareCapabilities,
    pub(crate) load: &'l SystemLoad,
    /// Empty unless they were measured.
    pub(crate) peaks: &'l [Peak],
}

pub(crate) fn write_json(listing: &Listing<'_>, out: &mut dyn Write) -> Result<()> {
    serde_json::to_writer_pretty(&mut *out, listing)?;
    writeln!(out)?;
    Ok(())
}

pub(crate) fn write_table(listing: &Listing<'_>, out: &mut dyn Write) -> Result<()> {
    let hardware = listing.hardware;
    writeln!(out, "{}  {}", styled("cpu", BOLD), hardware.cpu_model)?;
    for (name, text) in cpu_lines(listing) {
        writeln!(out, "  {}{text}", left(name, 12))?;
    }
    write_peak(listing, "cpu", out)?;
    for gpu in &hardware.gpus {
        write_gpu(listing, gpu, out)?;
    }
    if !hardware.absent.is_empty() {
        writeln!(out, "\n{}", styled("absent", BOLD))?;
    }
    for absent in &hardware.absent {
        let backend = absent
            .backend
            .map_or_else(|| "gpu".to_owned(), |backend| backend.to_string());
        for (name, text) in [(backend.as_str(), &absent.reason), ("", &absent.remedy)] {
            for (index, line) in wrapped(text, 84).iter().enumerate() {
                let name = if index == 0 { name } else { "" };
                writeln!(out, "  {}{line}", left(name, 12))?;
            }
        }
    }
    if listing.peaks.is_empty() {
        writeln!(
            out,
            "\n{}",
            styled("--measure measures the peaks of each", FAINT)
        )?;
    }
    Ok(())
}

fn cpu_lines(listing: &Listing<'_>) -> [(&'static str, String); 4] {
    let (hardware, load) = (listing.hardware, listing.load);
    let bytes = |fact: Fact<u64>| fact.map(unit::bytes).to_string();
    let usable = &hardware.usable_cores;
    let limit = match &usable.limit {
        breakeven::hardware::CoreLimit::None => String::new(),
        breakeven::hardware::CoreLimit::Affinity => " (pinned)".to_owned(),
        breakeven::hardware::CoreLimit::Quota { source } => format!(" ({})", source.display()),
    };
    let memory_limit = hardware
        .memory_limit
        .as_ref()
        .map_or_else(String::new, |limit| {
            format!(" ({})", limit.source.display())
        });
    [
        (
            "cores",
            format!(
                "{} threads on {} cores; {} usable{limit}",
                hardware.cpu_cores, hardware.physical_cores, usable.cores
            ),
        ),
        (
            "memory",
            format!(
                "{}; {} usable{memory_limit}, {} free now",
                bytes(hardware.system_memory_bytes),
                bytes(hardware.usable_memory_bytes),
                bytes(load.available_memory_bytes)
            ),
        ),
        ("simd", hardware.cpu_simd_support.features.join(" ")),
        (
            "load",
            format!(
                "{} in use, {} runnable per core",
                load.cpu_use.map(unit::percent),
                load.run_queue_per_core.map(|queue| format!("{queue:.2}"))
            ),
        ),
    ]
}

fn write_gpu(listing: &Listing<'_>, gpu: &GpuInfo, out: &mut dyn Write) -> Result<()> {
    let software = gpu.kind == GpuKind::Software;
    let id = device_label(gpu.id.as_str(), software);
    writeln!(out, "\n{}  {}", styled(&id, BOLD), gpu.name)?;
    let kind = match gpu.kind {
        GpuKind::Software => "software: computes on the CPU; used only when asked for".to_owned(),
        kind => kind.to_string(),
    };
    let load = listing.load.gpu(gpu);
    let in_use = match (load.memory_used_bytes, load.gpu_use) {
        (Fact::Unknown, Fact::Unknown) => "unknown (no NVML for it)".to_owned(),
        (memory, busy) => format!(
            "{} of its time, {} of memory, {} °C",
            busy.map(unit::percent),
            memory.map(unit::bytes),
            load.temperature_celsius
        ),
    };
    let mut lines = vec![
        ("kind", kind),
        ("backend", gpu.backend.to_string()),
        ("memory", gpu.memory_bytes.map(unit::bytes).to_string()),
        ("driver", gpu.driver.to_string()),
        ("pci", gpu.pci.to_string()),
        ("in use", in_use),
    ];
    if !gpu.same_as.is_empty() {
        let others: Vec<&str> = gpu.same_as.iter().map(|id| id.as_str()).collect();
        let choice = if gpu.preferred {
            "; this entry is preferred"
        } else {
            ""
        };
        lines.push(("same card", format!("{}{choice}", others.join(", "))));
    }
    for (name, text) in lines {
        writeln!(out, "  {}{text}", left(name, 12))?;
    }
    write_peak(listing, gpu.id.as_str(), out)
}

fn write_peak(listing: &Listing<'_>, device: &str, out: &mut dyn Write) -> Result<()> {
    if let Some(peak) = listing.peaks.iter().find(|peak| peak.device == device) {
        for (head, cell) in PEAK_HEADS.iter().zip(peak_cells(peak)) {
            if !cell.is_empty() {
                writeln!(out, "  {}{cell}", left(head, 12))?;
            }
        }
    }
    Ok(())
}
