//! `breakeven tune`: searches and saves the fastest launch configurations of kernels.

use std::io::Write;
use std::num::NonZeroUsize;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use breakeven::kernels;
use breakeven::tune::{Tuned, TunedKernel, Tuner};
use breakeven::{DeviceError, DeviceErrorKind};
use breakeven_judge::Outcome;
use clap::Args;

use crate::engine::suite::{Problem, Workload};
use crate::engine::supervisor::interruption;
use crate::exit::{Ending, Interrupted};
use crate::tune::page::{write, write_one};
use crate::values::PageFormat;

pub(crate) mod page;

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

pub(crate) fn run(args: &TuneArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Ending> {
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
    let budgets = Outcome::Passed;
    Ok(Ending::Measured { failed, budgets })
}

/// True if the device lacks what the kernel needs: no failure.
fn is_unsupported(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<DeviceError>();
    error.is_some_and(|error| error.kind == DeviceErrorKind::Unsupported)
}

/// Shows or deletes the saved results.
fn known(args: &TuneArgs, out: &mut dyn Write) -> Result<Ending> {
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
        return Ok(Ending::Done);
    }
    let mut kernels = tuned.kernels();
    kernels.retain(|kernel| is_meant(&kernel.key.kernel));
    if kernels.is_empty() && args.format == PageFormat::Table {
        writeln!(out, "nothing is tuned yet; `breakeven tune` searches")?;
    }
    write(&kernels, args.format, out)?;
    Ok(Ending::Done)
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
