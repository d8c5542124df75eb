//! `breakeven devices`: lists the devices, and why others are unavailable.

use std::io::Write;

use anyhow::Result;
use breakeven::hardware::{CoreLimit, Fact, GpuInfo, GpuKind, HardwareCapabilities, SystemLoad};
use breakeven_judge::Outcome;
use breakeven_judge::page::{Page, Text};
use breakeven_profile::profile::{Device, Peak};
use breakeven_profile::unit;
use clap::Args;
use serde::Serialize;

use crate::engine::protocol::{Cell, Request};
use crate::engine::session::{Machine, Session, detect};
use crate::engine::supervisor::Ended;
use crate::exit::{Interrupted, failed_if};
use crate::show::environment::{PEAK_HEADS, peak_cells};

#[derive(Debug, Args)]
pub(crate) struct DevicesArgs {
    /// Measure the peaks: bandwidth, arithmetic, launch latency, transfers
    #[arg(long)]
    pub(crate) measure: bool,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: crate::values::PageFormat,
}

/// Seconds after which an unresponsive driver counts as hung.
const TIMEOUT_S: u32 = 60;

pub(crate) fn run(args: &DevicesArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Outcome> {
    let Machine { hardware, load, .. } = detect(TIMEOUT_S, "interrupted")?;
    let mut session = Session::new(&hardware);
    let ended = match args.measure {
        true => measure(&hardware, &mut session)?,
        false => Ended::Complete,
    };
    let listing = Listing {
        hardware: &hardware,
        load: &load,
        peaks: &session.profile.evidence.peaks,
    };
    let page = || page(&listing);
    crate::print::page_or_document(args.format, page, || &listing, out)?;
    for note in &session.notes {
        let _ = writeln!(err, "{note}");
    }
    match ended {
        Ended::Interrupted => Err(Interrupted("").into()),
        Ended::Complete => Ok(failed_if(!session.notes.is_empty())),
    }
}

fn measure(hardware: &HardwareCapabilities, session: &mut Session) -> Result<Ended> {
    let gpus = hardware.gpus.iter().map(|gpu| gpu.id.to_string());
    let devices = std::iter::once(Device::CPU.to_owned()).chain(gpus);
    let request = Request {
        cells: devices.map(|device| Cell::Peak { device }).collect(),
        device_timeout_s: TIMEOUT_S,
        ..Request::default()
    };
    session.run(&request, &mut |_, _| {})
}

/// What the command found.
#[derive(Serialize)]
pub(crate) struct Listing<'l> {
    #[serde(flatten)]
    pub(crate) hardware: &'l HardwareCapabilities,
    pub(crate) load: &'l SystemLoad,
    /// Empty unless they were measured.
    pub(crate) peaks: &'l [Peak],
}

pub(crate) fn page(listing: &Listing<'_>) -> Page {
    let hardware = listing.hardware;
    let mut page = Page::default();
    page.heading(format!("cpu: {}", hardware.cpu_model));
    page.facts(
        cpu_facts(listing)
            .into_iter()
            .chain(peak_facts(listing, Device::CPU)),
    );
    for gpu in &hardware.gpus {
        let id = Device::label(gpu.id.as_str(), gpu.kind == GpuKind::Software);
        page.heading(format!("{id}: {}", gpu.name));
        page.facts(
            gpu_facts(listing, gpu)
                .into_iter()
                .chain(peak_facts(listing, gpu.id.as_str())),
        );
    }
    if !hardware.absent.is_empty() {
        page.heading("absent");
    }
    page.facts(hardware.absent.iter().flat_map(|absent| {
        let backend = absent
            .backend
            .map_or_else(|| "gpu".to_owned(), |backend| backend.to_string());
        [
            (backend, Text::from(&absent.reason)),
            (String::new(), Text::from(&absent.remedy)),
        ]
    }));
    if listing.peaks.is_empty() {
        page.aside("--measure measures the peaks of each");
    }
    page
}

fn cpu_facts(listing: &Listing<'_>) -> [(&'static str, String); 4] {
    let (hardware, load) = (listing.hardware, listing.load);
    let bytes = |fact: Fact<u64>| fact.map(unit::bytes).to_string();
    let usable = &hardware.usable_cores;
    let limit = match &usable.limit {
        CoreLimit::None => String::new(),
        CoreLimit::Affinity => " (pinned)".to_owned(),
        CoreLimit::Quota { source } => format!(" ({})", source.display()),
    };
    let memory_limit = hardware.memory_limit.as_ref();
    let memory_limit = memory_limit.map_or_else(String::new, |limit| {
        format!(" ({})", limit.source.display())
    });
    let cores = format!(
        "{} threads on {} cores; {} usable{limit}",
        hardware.cpu_cores, hardware.physical_cores, usable.cores
    );
    let memory = format!(
        "{}; {} usable{memory_limit}, {} free now",
        bytes(hardware.system_memory_bytes),
        bytes(hardware.usable_memory_bytes),
        bytes(load.available_memory_bytes)
    );
    let load = format!(
        "{} in use, {} runnable per core",
        load.cpu_use.map(unit::percent),
        load.run_queue_per_core.map(|queue| format!("{queue:.2}"))
    );
    let simd = hardware.cpu_simd_support.features.join(" ");
    [
        ("cores", cores),
        ("memory", memory),
        ("simd", simd),
        ("load", load),
    ]
}

fn gpu_facts(listing: &Listing<'_>, gpu: &GpuInfo) -> Vec<(&'static str, String)> {
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
    let mut facts = vec![
        ("kind", kind),
        ("backend", gpu.backend.to_string()),
        ("memory", gpu.memory_bytes.map(unit::bytes).to_string()),
        ("driver", gpu.driver.to_string()),
        ("pci", gpu.pci.to_string()),
        ("in use", in_use),
    ];
    if !gpu.same_as.is_empty() {
        let others: Vec<&str> = gpu.same_as.iter().map(|id| id.as_str()).collect();
        let choice = match gpu.preferred {
            true => "; this entry is preferred",
            false => "",
        };
        facts.push(("same card", format!("{}{choice}", others.join(", "))));
    }
    facts
}

fn peak_facts(listing: &Listing<'_>, device: &str) -> impl Iterator<Item = (&'static str, String)> {
    let peak = listing.peaks.iter().find(|peak| peak.device == device);
    let cells = peak
        .into_iter()
        .flat_map(|peak| PEAK_HEADS.into_iter().zip(peak_cells(peak)));
    cells.filter(|(_, cell)| !cell.is_empty())
}
