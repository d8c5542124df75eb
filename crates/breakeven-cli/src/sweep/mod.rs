//! `breakeven sweep`: measures time over size on the CPU and on GPUs, of a kernel or of two
//! commands, and finds the break-evens.

use std::io::Write;

use anyhow::{Result, bail};
use breakeven_judge::Outcome;
use breakeven_judge::break_even::Swept;
use breakeven_judge::page::is_obeyed;
use breakeven_profile::file;

use crate::engine::session::{Machine, Session};
use crate::exit::Ending;
use crate::print::unless_closed;
use crate::sweep::args::SweepArgs;

pub(crate) mod args;
#[cfg(unix)]
mod commands;
mod constant;
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

pub(crate) fn run(args: &SweepArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Ending> {
    if let Some(source) = &args.check {
        return constant::check(source, out);
    }
    let measured = measure(args)?;
    // Written first: measurements must not wait for a blocked terminal.
    let written = measured.session.keep(args.output.as_deref());
    let printed = match args.emit {
        Some(_) => crate::print::print(&page::page(&measured), err),
        None => page::write(args, &measured, out),
    };
    let interrupted = written?;
    unless_closed(printed)?;
    if measured.swept.interrupted {
        return Err(interrupted.into());
    }
    let constant = args
        .emit
        .map(|language| constant::emit(args, &measured, language));
    if let Some(Some(constant)) = &constant {
        unless_closed(out.write_all(constant.as_bytes()).map_err(Into::into))?;
    }
    for warning in &measured.session.warnings {
        // The reader of stderr may be gone.
        let _ = writeln!(err, "warning: {warning}");
    }
    let failed = measured.swept.has_failed() || !measured.session.notes.is_empty();
    if constant == Some(None) {
        let _ = writeln!(
            err,
            "error: the times do not decide, so there is no constant; try a longer --time-limit, or more --rounds"
        );
        return Ok(Ending::Judged(Outcome::Inconclusive));
    }
    Ok(Ending::Measured {
        failed,
        budgets: Outcome::Passed,
    })
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
