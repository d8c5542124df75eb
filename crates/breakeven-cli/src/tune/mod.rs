//! `breakeven tune`: searches and saves the fastest launch configurations of kernels.

use std::io::Write;
use std::num::NonZeroUsize;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use breakeven::tune::{Fate, Tried, Tuned, TunedKernel, Tuner};
use breakeven::{DeviceError, DeviceErrorKind, kernels};
use breakeven_judge::Outcome;
use breakeven_judge::page::figures::plural;
use breakeven_judge::page::{Column, Page, Row, Table, Text, Tone};
use breakeven_profile::unit;
use clap::Args;

use crate::engine::suite::{Problem, Workload};
use crate::engine::supervisor::interruption;
use crate::exit::{Interrupted, failed_if};
use crate::print::{page_or_document, print};
use crate::values::PageFormat;

#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    /// Kernels to tune [default: all]
    #[arg(value_name = "KERNEL", value_parser = crate::values::kernel)]
    pub(crate) kernels: Vec<&'static str>,

    /// Devices to tune for: gpu (every one, software GPUs too), cpu, or ids of GPUs separated by
    /// commas [default: every GPU that is not software]
    #[arg(long, alias = "devices", value_name = "DEVICES")]
    pub(crate) device: Option<String>,

    /// Time for the whole search, as in 30s or 5min
    #[arg(long, value_name = "T", default_value = "30s", value_parser = crate::values::time)]
    pub(crate) time_limit: Duration,

    /// Tune for this multiple of the default workload
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) scale: NonZeroUsize,

    /// Search again even if the fastest configuration is already known
    #[arg(long)]
    pub(crate) again: bool,

    /// Print the saved results, with all tried configurations, and search nothing
    #[arg(long, conflicts_with_all = ["again", "time_limit", "scale", "forget"])]
    pub(crate) show: bool,

    /// Delete the saved results, and search nothing
    #[arg(long, conflicts_with_all = ["again", "time_limit", "scale"])]
    pub(crate) forget: bool,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: crate::values::PageFormat,
}

/// The inputs that kernels are tuned on.
enum Place {
    Cpu,
    #[cfg(feature = "gpu")]
    Gpu(breakeven::gpu::Gpu),
}

pub(crate) fn run(args: &TuneArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Outcome> {
    if args.show || args.forget {
        return known(args, out);
    }
    let places = places(args)?;
    let names = match &args.kernels[..] {
        [] => &kernels::NAMES[..],
        names => names,
    };
    let interrupted = interruption()?;
    let (started, mut found, mut failed) = (Instant::now(), Vec::new(), false);
    let mut left = names.len() * places.len();
    for name in names {
        let problem = Workload::new(name, args.scale.get())?.build()?;
        for place in &places {
            // Time that a kernel does not use goes to the others.
            let rest = args.time_limit.saturating_sub(started.elapsed());
            let budget = rest / u32::try_from(left).unwrap_or(u32::MAX);
            left -= 1;
            match place.tune(&problem, |tuner| {
                let tuner = tuner.budget(budget).stop_on(interrupted);
                if args.again { tuner.again() } else { tuner }
            }) {
                Ok(Some(kernel)) => {
                    if args.format == PageFormat::Table {
                        write_one(&kernel, out)?;
                    }
                    found.push(kernel);
                }
                Ok(None) if args.kernels.is_empty() => {}
                Ok(None) => {
                    let place = place.name();
                    writeln!(err, "note: {name} has nothing to tune on {place}")?;
                }
                Err(_) if interrupted.load(Ordering::SeqCst) => {
                    let said = "interrupted: the results so far are kept, as are earlier ones";
                    return Err(Interrupted(said).into());
                }
                Err(error) if is_unsupported(&error) => {
                    writeln!(err, "note: {name} on {}: {error}", place.name())?;
                }
                Err(error) => {
                    failed = true;
                    writeln!(err, "error: {name} on {}: {error}", place.name())?;
                }
            }
        }
    }
    if args.format != PageFormat::Table {
        write(&found, args.format, out)?;
    }
    Ok(failed_if(failed))
}

/// True if the device lacks what the kernel needs: no failure.
fn is_unsupported(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<DeviceError>();
    error.is_some_and(|error| error.kind == DeviceErrorKind::Unsupported)
}

/// Shows or deletes the saved results.
fn known(args: &TuneArgs, out: &mut dyn Write) -> Result<Outcome> {
    let mut names = Vec::new();
    for name in &args.kernels {
        names.push(Workload::new(name, 1)?.build()?.name().to_owned());
    }
    let is_meant = |kernel: &str| {
        let name = kernel.split(", ").next().unwrap_or_default();
        names.is_empty() || names.iter().any(|named| named == name)
    };
    let tuned = Tuned::open_default();
    if args.forget {
        tuned.forget(|key| is_meant(&key.kernel))?;
        return Ok(Outcome::Passed);
    }
    let mut kernels = tuned.kernels();
    kernels.retain(|kernel| is_meant(&kernel.key.kernel));
    if kernels.is_empty() && args.format == PageFormat::Table {
        writeln!(out, "nothing is tuned yet; `breakeven tune` searches")?;
    }
    write(&kernels, args.format, out)?;
    Ok(Outcome::Passed)
}

impl Place {
    fn name(&self) -> &str {
        match self {
            Self::Cpu => "cpu",
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) => gpu.id().as_str(),
        }
    }

    /// None if the kernel has nothing to tune on that device.
    fn tune(
        &self,
        problem: &Problem,
        how: impl FnOnce(Tuner) -> Tuner,
    ) -> Result<Option<TunedKernel>> {
        Ok(match self {
            Self::Cpu => problem.tune_host(&how(Tuner::new(&Tuned::open_default())))?,
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) => problem.tune(gpu, &how(Tuner::new(&gpu.tuned())))?,
        })
    }
}

fn places(args: &TuneArgs) -> Result<Vec<Place>> {
    match args.device.as_deref() {
        Some("cpu") => Ok(vec![Place::Cpu]),
        device => gpus(device),
    }
}

#[cfg(feature = "gpu")]
fn gpus(device: Option<&str>) -> Result<Vec<Place>> {
    let found = crate::engine::session::detect(super::plan::TIMEOUT_S, "interrupted")?;
    let machine = super::plan::this_machine(&found, device)?;
    if machine.gpus.is_empty() {
        bail!(
            "there is no GPU to tune for here; `breakeven devices` says why, `--device gpu` also \
             selects a software GPU, and `--device cpu` tunes the CPU forms"
        );
    }
    let gpus = machine.gpus.iter().map(super::plan::open);
    gpus.map(|gpu| gpu.map(Place::Gpu)).collect()
}

#[cfg(not(feature = "gpu"))]
fn gpus(_: Option<&str>) -> Result<Vec<Place>> {
    bail!("this build has no GPU code: `--device cpu` tunes the CPU forms")
}

/// Most configurations that are shown of a tuned kernel, besides the default and the winner.
const SHOWN: usize = 5;

/// Summary of a tuned kernel.
pub(crate) fn write_one(kernel: &TunedKernel, out: &mut dyn Write) -> Result<()> {
    let mut page = Page::default();
    add(kernel, SHOWN, &mut page);
    print(&page, out)?;
    Ok(out.flush()?)
}

/// Kernels with all tried configurations.
pub(crate) fn write(
    kernels: &[TunedKernel],
    format: PageFormat,
    out: &mut dyn Write,
) -> Result<()> {
    let page = || {
        let mut page = Page::default();
        kernels
            .iter()
            .for_each(|kernel| add(kernel, usize::MAX, &mut page));
        page
    };
    page_or_document(format, page, || kernels, out)
}

fn add(kernel: &TunedKernel, shown: usize, page: &mut Page) {
    page.heading(answer(kernel));
    page.facts([
        ("calls of", kernel.key.size.to_string()),
        ("device", kernel.key.device.clone()),
        ("driver", kernel.key.driver.clone()),
    ]);
    let default_ns = kernel.tried.first().and_then(|tried| tried.trial.median_ns);
    let mut tried: Vec<&Tried> = kernel.tried.iter().collect();
    let time = |tried: &Tried| tried.trial.median_ns.unwrap_or(f64::INFINITY);
    tried.sort_by(|one, other| time(one).total_cmp(&time(other)));
    let is_listed =
        |(place, tried): &(usize, &Tried)| *place < shown || is_final(&tried.trial.fate);
    let listed: Vec<_> = tried
        .iter()
        .copied()
        .enumerate()
        .filter(is_listed)
        .collect();
    let hidden = tried.len() - listed.len();
    let row = |(_, tried): (usize, &Tried)| {
        let tone = if is_final(&tried.trial.fate) {
            Tone::Strong
        } else {
            Tone::Plain
        };
        let ns = tried.trial.median_ns;
        let speed = default_ns
            .zip(ns)
            .map(|(default, ns)| format!("{:.2}×", default / ns));
        let cells = [
            tried.configuration.to_string(),
            ns.map_or_else(String::new, unit::time),
            speed.unwrap_or_default(),
            tried.trial.samples.to_string(),
            fate(&tried.trial.fate),
        ];
        Row::new(cells.map(|cell| Text::new(cell, tone)))
    };
    page.table(Table {
        columns: vec![
            Column::words("configuration", Column::KEPT),
            Column::figures("median", Column::KEPT),
            Column::figures("speed", Column::KEPT),
            Column::figures("samples", 1),
            Column::words("", Column::KEPT),
        ],
        rows: listed.into_iter().map(row).collect(),
        ..Table::default()
    });
    if hidden > 0 {
        page.aside(format!(
            "{} more: `breakeven tune --show` lists them",
            plural(hidden as u64, "configuration")
        ));
    }
}

/// The result, in a line.
fn answer(kernel: &TunedKernel) -> String {
    let name = &kernel.key.kernel;
    let end = if kernel.is_complete {
        ""
    } else {
        " within the time limit; --again with a larger --time-limit continues"
    };
    match &kernel.gain {
        Some(gain) => format!(
            "{name}: {} is {:.2} times as fast as the default ({:.2} to {:.2})",
            kernel.configuration, gain.ratio, gain.lower, gain.upper
        ),
        None if kernel.is_at_roofline => {
            format!("{name}: the default is as fast as the device allows; nothing was searched")
        }
        None => format!("{name}: no configuration was faster than the default{end}"),
    }
}

fn is_final(fate: &Fate) -> bool {
    matches!(fate, Fate::Won | Fate::Kept | Fate::Beaten | Fate::Tied)
}

fn fate(fate: &Fate) -> String {
    match fate {
        Fate::Won => "used from now on".to_owned(),
        Fate::Kept => "the default, kept".to_owned(),
        Fate::Beaten => "the default".to_owned(),
        Fate::Tied => "not significantly faster than the default".to_owned(),
        Fate::Dropped(round) => format!("dropped in round {round}"),
        Fate::Failed(why) => format!("failed: {why}"),
        Fate::NotTried => "not tried".to_owned(),
    }
}
