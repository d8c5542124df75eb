//! `breakeven baseline accept`: what was measured becomes the baseline.

use std::io::Write;
use std::slice::from_ref;

use anyhow::{Result, bail};
use breakeven_judge::compare::Options;
use breakeven_judge::gate::hold_budgets;
use breakeven_judge::page::clean;
use breakeven_judge::{CompareError, compare};
use breakeven_profile::file;
use breakeven_profile::profile::{Profile, Run};

use super::compare::distinct;
use super::input::Input;
use crate::args::{AcceptArgs, CompareFormat};
use crate::exit::Ending;
use crate::output::compare::{self as print, Report, Source};
use crate::output::unless_closed;

pub(crate) fn run(args: &AcceptArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Ending> {
    if !args.dry_run {
        file::check_writable(&args.baseline)?;
    }
    distinct(&args.current)?;
    let current = Profile::join(Input::new(&args.input, err).read_all(&args.current)?)?;
    check(&current, args.allow_interrupted)?;
    let has_baseline = args.baseline.try_exists()?;
    let changes = has_baseline.then(|| changes(args, &current)).transpose()?;
    if !args.dry_run {
        // Before printing: a closed terminal must not keep the old baseline.
        file::write(&current, &args.baseline)?;
    }
    unless_closed(write(args, changes, out))?;
    Ok(Ending::Done)
}

/// Refuses what later runs could not be compared against.
fn check(current: &Profile, allow_interrupted: bool) -> Result<()> {
    if current.operations.is_empty() {
        bail!("there are no operations in it; measure before accepting");
    }
    if current.interrupted && !allow_interrupted {
        bail!("measuring was interrupted; measure again, or give --allow-interrupted");
    }
    for operation in &current.operations {
        let key = operation.key();
        if let Some(failure) = &operation.failure {
            bail!("{key} failed: {failure}; a baseline needs it measured");
        }
        if operation.samples_ns().next().is_none() {
            bail!("{key} has no samples; a baseline needs it measured");
        }
        if operation.runs.iter().any(is_zero) {
            bail!(
                "{key}: a run has a median of 0 ns, so nothing could be compared with it; \
                 measure more work in a call"
            );
        }
    }
    Ok(())
}

fn is_zero(run: &Run) -> bool {
    let zeros = run.samples_ns.iter().filter(|ns| **ns == 0.0).count();
    2 * zeros > run.samples_ns.len()
}

/// What changes against the existing baseline, or why that cannot be said.
type Changes = Result<Report, CompareError>;

fn changes(args: &AcceptArgs, current: &Profile) -> Result<Changes> {
    let baseline = file::read(&args.baseline)?;
    let (before, after) = (from_ref(&baseline), from_ref(current));
    let compared = compare(before, after, &Options::default());
    if let Err(why @ CompareError::NothingInCommon { .. }) = compared {
        let name = args.baseline.display();
        bail!(
            "{name}: is the baseline of other operations, and stays: {why}; delete the file to \
             begin anew, or name another (--baseline)"
        );
    }
    Ok(compared.map(|comparison| {
        let verdict = hold_budgets(&comparison);
        let before = Source::of(from_ref(&args.baseline), before);
        let sources = [before, Source::of(&args.current, after)];
        Report {
            sources,
            comparison,
            verdict,
            gated: false,
        }
    }))
}

fn write(args: &AcceptArgs, changes: Option<Changes>, out: &mut dyn Write) -> Result<()> {
    let name = args.baseline.display();
    match changes {
        None => writeln!(out, "{name}: there was no baseline")?,
        Some(Ok(report)) => print::write(&report, CompareFormat::Table, out)?,
        Some(Err(why)) => writeln!(
            out,
            "not compared with the old baseline: {}",
            clean(&why.to_string())
        )?,
    }
    match args.dry_run {
        true => writeln!(out, "\n{name}: not written, as asked for")?,
        false => writeln!(out, "\n{name}: written")?,
    }
    out.flush()?;
    Ok(())
}
