//! `breakeven profile`: measures the kernels, or a program.

use breakeven_judge::Outcome;
use std::io::Write;
use std::num::NonZeroU32;
use std::time::Duration;

use anyhow::{Result, bail};
use breakeven::Costs;
use breakeven::hardware::sensors::{EnergyDomain, EnergyUnknown};
use breakeven::hardware::{AbsentBackend, Backend, GpuKind};
use breakeven::kernels::NAMES;
use breakeven_judge::Limits;
use breakeven_judge::page::clean;
use breakeven_profile::profile::{Device, Operation};
use breakeven_profile::{file, unit};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::engine::devices::devices;
use crate::engine::load::{self, Recording};
use crate::engine::protocol::{Cell, Request};
use crate::engine::session::{Machine, Session, detect};
use crate::engine::suite::{Counted, Workload, counted, meter};
use crate::engine::supervisor::Ended;
use crate::profile::args::{EnergyWhen, ProfileArgs};
use crate::show::{self, Absent, Report};

pub(crate) mod args;
mod batches;
#[cfg(unix)]
mod programs;

pub(crate) fn run(args: &ProfileArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Outcome> {
    // Checks the arguments before anything is measured.
    let limits = crate::input::limits(args.budget.as_deref())?;
    if let Some(path) = &args.output {
        file::check_writable(path)?;
    }
    if !(args.of_programs.words.is_empty() && args.of_programs.cmd.is_empty()) {
        #[cfg(unix)]
        return programs::run(args, limits, out, err);
        #[cfg(not(unix))]
        bail!("programs are measured on Unix systems; the kernels are here");
    }
    let timeout_s = args.device_timeout.get();
    let machine = detect(timeout_s, "interrupted: nothing was measured yet")?;
    let hardware = &machine.hardware;
    let (devices, kernels) = match args.strategy {
        // A batch is measured on no single device, so peaks are not needed.
        Some(strategy) => (Vec::new(), batches::batch_cells(args, strategy, &machine)?),
        None => {
            let devices = devices(&args.device, hardware)?;
            let kernels = kernel_cells(args, &devices, &machine)?;
            (devices, kernels)
        }
    };

    if let Some(limits) = &limits {
        check_budgets(limits, &kernels)?;
    }

    let energy = energy(args, &devices, &machine)?;

    let mut session = Session::new(hardware);
    let recording = match args.record_load {
        true => Some(load::start(LOAD_EVERY, LOAD_SAMPLES, hardware, true)?),
        false => None,
    };
    let ended = measure(args, &energy, &devices, &kernels, &mut session);
    let load = recording.and_then(Recording::end);
    session.profile.load.extend(load);
    let ended = ended?;
    session.profile.interrupted = ended == Ended::Interrupted;
    // Another run may have executed a batch on other devices.
    session.profile.operations.sort_by_key(|operation| {
        let kernel = operation.name.split(':').next();
        NAMES.iter().position(|name| Some(*name) == kernel)
    });
    if args.with_host {
        session.profile.environment.host = host();
    }

    let of_suite = |session: Session| {
        let peaks = &session.profile.evidence.peaks;
        if !peaks.is_empty() {
            // Without them an operator's first batch is decided by the rule; the profile has them
            // too.
            let _ = Costs::open_default().0.keep_peaks(peaks);
        }
        let remarks = batches::remarks(args, &kernels, hardware, &session);
        let mut report = Report::of_the_suite(session.profile, limits);
        report.absent = hardware.absent.iter().map(Absent::from).collect();
        report.notes = session.notes;
        report.remarks = remarks;
        report
    };
    conclude(args, session, of_suite, out, err)
}

/// Writes the profile to the file, then prints it.
fn conclude(
    args: &ProfileArgs,
    session: Session,
    report: impl FnOnce(Session) -> Report,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Outcome> {
    // The file is written first: measurements must not wait for a blocked terminal, nor the tables
    // for a full disk.
    let written = session.keep(args.output.as_deref());
    for warning in &session.warnings {
        // The reader of stderr may be gone.
        let _ = writeln!(err, "warning: {}", clean(warning));
    }
    let was_interrupted = session.profile.interrupted;
    let report = report(session);
    let printed = show::write(&report, args.format, out, err);
    let interrupted = written?;
    printed?;
    match was_interrupted {
        true => Err(interrupted.into()),
        false => Ok(match has_failures(&report) {
            true => Outcome::Failed,
            false => report.budgets,
        }),
    }
}

/// Devices whose energy is measured. Fails if it was requested and no counter reports it.
fn energy(args: &ProfileArgs, devices: &[String], machine: &Machine) -> Result<Counted> {
    let counted = counted(devices, &machine.hardware);
    match args.energy {
        EnergyWhen::Never => return Ok(Counted::new()),
        EnergyWhen::Auto => return Ok(counted),
        EnergyWhen::Always => {}
    }
    let counters = meter(&counted).read();
    for device in devices {
        let domains = counted.get(device).map_or(&[][..], Vec::as_slice);
        let unknown =
            |domain: &EnergyDomain| match counters.iter().find(|counter| counter.domain == *domain)
            {
                Some(counter) => counter.joules.as_ref().err(),
                None => Some(&EnergyUnknown::NoDriver),
            };
        let why = match domains {
            [] => Some(&EnergyUnknown::NoDriver),
            _ => domains.iter().find_map(unknown),
        };
        if let Some(why) = why {
            let mut gpus = machine.hardware.gpus.iter();
            let is_software =
                gpus.any(|gpu| gpu.id.as_str() == device && gpu.kind == GpuKind::Software);
            let device = Device::label(device, is_software);
            bail!("--energy: the energy of calls on {device} cannot be measured: {why}");
        }
    }
    Ok(counted)
}

/// True if an operation or anything else failed.
fn has_failures(report: &Report) -> bool {
    let mut rows = report.overview.rows.iter();
    !report.notes.is_empty() || rows.any(|row| row.failure.is_some())
}

impl From<&AbsentBackend> for Absent {
    fn from(absent: &AbsentBackend) -> Self {
        Self {
            backend: absent.backend.map(Backend::name),
            reason: absent.reason.clone(),
            remedy: absent.remedy.clone(),
        }
    }
}

/// Time between two readings of the load, and most samples per device: a few kilobytes.
const LOAD_EVERY: Duration = Duration::from_millis(250);
const LOAD_SAMPLES: usize = 64;

/// Refuses budgets of operations that will not be measured.
fn check_budgets(limits: &Limits, cells: &[Cell]) -> Result<()> {
    let measured: Vec<Operation> = cells.iter().flat_map(Cell::operations).collect();
    let idle: Vec<String> = limits
        .budgets
        .iter()
        .map(|budget| &budget.scope)
        .filter(|scope| !measured.iter().any(|operation| scope.is_for(operation)))
        .map(ToString::to_string)
        .collect();
    if idle.is_empty() {
        return Ok(());
    }
    bail!(
        "budget of {}: its operation will not be measured; remove it from the file, \
         or change --kernel, --device or --scale",
        idle.join(", ")
    )
}

/// Every kernel on every device, after checking that it fits memory.
fn kernel_cells(args: &ProfileArgs, devices: &[String], machine: &Machine) -> Result<Vec<Cell>> {
    let scale = args.scale.get();
    let on_gpu = devices.iter().any(|device| device != Device::CPU);
    let mut cells = Vec::new();
    for kernel in kernels(args) {
        let workload = Workload::new(kernel, scale)?;
        let bytes = workload.memory_bytes(on_gpu);
        check_fits(&workload.described(), bytes, machine, "--scale")?;
        cells.extend(devices.iter().map(|device| Cell::Kernel {
            kernel: kernel.to_owned(),
            scale,
            device: device.clone(),
        }));
    }
    Ok(cells)
}

/// The requested kernels, in the suite's order.
fn kernels(args: &ProfileArgs) -> Vec<&'static str> {
    let is_asked = |name: &&str| args.kernel.is_empty() || args.kernel.contains(name);
    NAMES.into_iter().filter(is_asked).collect()
}

/// Fails if a workload does not fit memory; `option` makes it smaller.
pub(super) fn check_fits(
    workload: &str,
    bytes: u64,
    machine: &Machine,
    option: &str,
) -> Result<()> {
    let available = machine.load.available_memory_bytes.get();
    let usable = machine.hardware.usable_memory_bytes.get();
    match [available, usable].into_iter().flatten().min() {
        Some(memory) if bytes > memory => {
            let [bytes, memory] = [bytes, memory].map(unit::bytes);
            bail!(
                "{workload} would take {bytes} of memory, and there are {memory}; choose a \
                 smaller {option}"
            )
        }
        _ => Ok(()),
    }
}

/// Runs all requested processes.
fn measure(
    args: &ProfileArgs,
    energy: &Counted,
    devices: &[String],
    kernels: &[Cell],
    session: &mut Session,
) -> Result<Ended> {
    let peaks = devices.iter().cloned().map(|device| Cell::Peak { device });
    let machine: Vec<Cell> = std::iter::once(Cell::Clock).chain(peaks).collect();
    let (warmup, runs) = (
        args.warmup.unwrap_or(3),
        args.runs.map_or(1, NonZeroU32::get),
    );
    let all = u64::from(runs).saturating_mul(kernels.len() as u64);
    let progress = progress(all.saturating_add(machine.len() as u64));
    for run in 0..runs {
        let again = kernels.iter().filter(|cell| !session.failed_at(cell));
        let cells: Vec<Cell> = match run {
            // The machine itself is measured once, before the first run.
            0 => machine.iter().chain(again).cloned().collect(),
            _ => again.cloned().collect(),
        };
        let request = Request {
            cells,
            warmup,
            iterations: args.iterations.get(),
            device_timeout_s: args.device_timeout.get(),
            energy: energy.clone(),
            ..Request::default()
        };
        let ended = session.run(&request, &mut |cell, is_last| {
            show_progress(&progress, cell, run, runs);
            progress.inc(is_last.into());
        })?;
        if ended == Ended::Interrupted {
            progress.finish_and_clear();
            return Ok(ended);
        }
    }
    progress.finish_and_clear();
    Ok(Ended::Complete)
}

pub(super) fn progress(steps: u64) -> ProgressBar {
    // Hidden if stderr is no terminal.
    let target = ProgressDrawTarget::stderr_with_hz(4);
    let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}");
    ProgressBar::with_draw_target(Some(steps), target)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn show_progress(progress: &ProgressBar, cell: &Cell, run: u32, runs: u32) {
    let now = match cell {
        Cell::Detect => "detecting the devices".to_owned(),
        Cell::Clock => "the clock".to_owned(),
        Cell::Peak { device } => format!("peaks of {device}"),
        Cell::Noise { work, .. } => format!("noise: {work}"),
        Cell::Kernel { kernel, device, .. } => format!("{kernel} on {device}"),
        Cell::Point(point) => format!("{} on {}", point.kernel, point.device),
        Cell::Batch(batch) => format!("{}, {}", batch.kernel, batch.strategy),
    };
    match runs {
        1 => progress.set_message(now),
        _ => progress.set_message(format!("{now}, run {} of {runs}", run + 1)),
    }
}

fn host() -> Option<String> {
    let name = std::env::var("HOSTNAME").ok();
    name.or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok())
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
}
