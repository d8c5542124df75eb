//! `breakeven sweep`: measures time over size on the CPU and on GPUs, of a kernel or of two
//! commands, and finds the break-evens.

use std::io::Write;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use breakeven_judge::Outcome;
use breakeven_judge::break_even::Swept;
use breakeven_judge::page::is_obeyed;
use breakeven_profile::file;
use clap::{ArgGroup, Args, ValueEnum};

use crate::engine::session::{Machine, Session};
use crate::engine::suite::Over;
use crate::exit::failed_if;
use crate::values::{count, one_or_more};

#[cfg(unix)]
mod commands;
mod constant;
mod executions;
mod kernel;
pub(crate) mod page;

/// What a sweep has measured.
struct Measured {
    swept: Swept,
    session: Session,
    machine: Machine,
    /// What the times include.
    remark: Option<&'static str>,
}

pub(crate) fn run(args: &SweepArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Outcome> {
    if let Some(source) = &args.check {
        return constant::check(source, out);
    }
    let mut measured = measure(args)?;
    // Written first: measurements must not wait for a blocked terminal.
    let written = measured.session.keep(args.output.as_deref());
    let printed = match args.emit {
        Some(_) => crate::print::print(&page::page(&measured), err),
        None => page::write(args, &measured, out),
    };
    let interrupted = written?;
    printed?;
    if measured.swept.interrupted {
        return Err(interrupted.into());
    }
    let constant = args
        .emit
        .map(|language| constant::emit(args, &measured, language));
    if let Some(Some(constant)) = &constant {
        out.write_all(constant.as_bytes())?;
    }
    let taught = match args.kernel {
        Some(kernel) => executions::teach(args, &kernel::Axis::of(kernel, args)?, &mut measured),
        // A command at a size is no batch of tasks.
        None => Ok(()),
    };
    for warning in &measured.session.warnings {
        // The reader of stderr may be gone.
        let _ = writeln!(err, "warning: {warning}");
    }
    taught?;
    let failed = measured.swept.has_failed() || !measured.session.notes.is_empty();
    if constant == Some(None) {
        let _ = writeln!(
            err,
            "error: the times do not decide, so there is no constant; try a longer --time-limit, or more --rounds"
        );
        return Ok(Outcome::Inconclusive);
    }
    Ok(failed_if(failed))
}

/// Checks the arguments and measures.
fn measure(args: &SweepArgs) -> Result<Measured> {
    let check_output = || {
        Ok(args
            .output
            .as_deref()
            .map_or(Ok(()), file::check_writable)?)
    };
    let texts = [&args.cpu, &args.gpu, &args.name].into_iter().flatten();
    if args.emit.is_some() && texts.clone().any(|text| text.contains(is_obeyed)) {
        bail!(
            "--emit: a comment in a source file cannot hold a command with line breaks or control \
             characters; put the command into a script"
        );
    }
    if let Some(kernel) = args.kernel {
        let axis = kernel::Axis::of(kernel, args)?;
        check_output()?;
        return kernel::measure(args, &axis);
    }
    let (Some(cpu), Some(gpu)) = (&args.cpu, &args.gpu) else {
        bail!("give a kernel, or two commands: --cpu 'CMD {{n}}' --gpu 'CMD {{n}}'");
    };
    #[cfg(unix)]
    return commands::measure(args, [cpu, gpu], check_output);
    #[cfg(not(unix))]
    bail!("commands are measured on Unix systems; kernels are here: {cpu:?}, {gpu:?}");
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("measured").required(true).args(["kernel", "cpu", "gpu", "check"]).multiple(true)))]
pub(crate) struct SweepArgs {
    /// Kernel to measure
    #[arg(value_name = "KERNEL", value_parser = crate::values::kernel)]
    #[arg(conflicts_with_all = ["cpu", "gpu"])]
    pub(crate) kernel: Option<&'static str>,

    /// Command to measure in place of a kernel, on the CPU, in quotes; {n} is the size. If one of
    /// the two has shell syntax (`|`, `>`, `;` …), `sh -c` runs both
    #[arg(long, value_name = "CMD", requires_all = ["gpu", "from", "to"])]
    pub(crate) cpu: Option<String>,

    /// The command that does the same on the GPU
    #[arg(long, value_name = "CMD", requires = "cpu")]
    pub(crate) gpu: Option<String>,

    /// Name of the commands' operation and constant [default: the name of the CPU's program]
    #[arg(long, requires = "cpu")]
    pub(crate) name: Option<String>,

    /// What the sweep varies [default: size, if the kernel has one]
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with = "cpu")]
    pub(crate) over: Option<Over>,

    /// First value, as in 500, 64k, 10M or 1G [default: by the kernel]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) from: Option<NonZeroU64>,

    /// Last value [default: by the kernel]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) to: Option<NonZeroU64>,

    /// GPUs to compare with the CPU: all, gpu, ids separated by commas, or cpu for none
    #[arg(long, alias = "devices", value_name = "DEVICES", default_value = "all")]
    #[arg(conflicts_with = "cpu")]
    pub(crate) device: String,

    /// Rounds over all points of a kernel, each in a fresh process, or over those points of the
    /// commands that decide; an interval needs 3 or more [default: 5 of a kernel, 10 of commands]
    #[arg(long, value_name = "N", value_parser = one_or_more::<NonZeroU32>)]
    pub(crate) rounds: Option<NonZeroU32>,

    /// Stop after this time, as in 60s; sizes for which it does not suffice are left out, and a
    /// command that still runs is ended
    #[arg(long, value_name = "T", default_value = "60s", value_parser = crate::values::time)]
    #[arg(conflicts_with = "kernel")]
    pub(crate) time_limit: Duration,

    /// Measured calls per point, device and round; fewer if they would exceed 0.2 s
    #[arg(long, value_name = "N", default_value = "7", value_parser = one_or_more::<NonZeroU32>)]
    #[arg(conflicts_with = "cpu")]
    pub(crate) iterations: NonZeroU32,

    /// Warm-up calls before measuring
    #[arg(long, value_name = "N", default_value = "2", conflicts_with = "cpu")]
    pub(crate) warmup: u32,

    /// File to write the profile to: all samples, and the break-even as evidence
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: SweepFormat,

    /// Print the break-even as a constant for a program; the table goes to stderr. Exit code 3 if
    /// the times do not decide
    #[arg(long, value_enum, value_name = "LANGUAGE", conflicts_with = "format")]
    pub(crate) emit: Option<Language>,

    /// Measure the constants of --emit in this source file again, by running the commands that
    /// stand above them. Exit code 1 if an interval excludes one, 3 if the times do not decide
    #[arg(long, value_name = "FILE", exclusive = true)]
    pub(crate) check: Option<PathBuf>,

    /// Time after which an unresponsive GPU counts as hung, whole seconds
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = crate::values::seconds)]
    #[arg(conflicts_with = "cpu")]
    pub(crate) device_timeout: NonZeroU32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SweepFormat {
    /// Table and plot, as wide as the terminal
    #[default]
    Table,
    /// JSON
    Json,
    /// One line per value and device; times in ns
    Csv,
}

/// Languages of a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    Rust,
    C,
    Cpp,
    Python,
}
