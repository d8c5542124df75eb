//! `breakeven show`: the tables of a profile file.

use std::io::Write;

use anyhow::Result;

use super::input::Input;
use crate::args::ShowArgs;
use crate::exit::Ending;
use crate::output::{self, Report};

pub(crate) fn run(args: &ShowArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Ending> {
    let limits = super::limits(args.budget.as_deref())?;
    let profile = Input::new(&args.input, err).read(&args.file)?;
    let report = Report::new(profile, limits);
    output::write(&report, args.format, out, err)?;
    // Showing a failure is no failure.
    Ok(Ending::Judged(report.budgets))
}
