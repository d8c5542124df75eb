//! `breakeven export`: a profile in the format of another tool.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::slice::from_ref;

use anyhow::{Result, bail};
use breakeven_judge::compare;
use breakeven_judge::compare::Options;
use breakeven_judge::export::chrome::Verdict;
use breakeven_judge::export::{self, ExportError};
use breakeven_profile::file;
use breakeven_profile::profile::Profile;

use super::input::Input;
use crate::args::{ExportArgs, ExportFormat, Format};
use crate::exit::Ending;
use crate::output::{self, Report};

pub(crate) fn run(args: &ExportArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Ending> {
    let target = args.output.as_deref();
    let target = target.filter(|path| *path != Path::new("-"));
    if args.compare.is_some() && args.to != ExportFormat::Chrome {
        bail!("--compare has a place in --to chrome only; breakeven compare prints verdicts");
    }
    if let Some(path) = target {
        file::check_writable(path)?;
        let itself = fs::canonicalize(path).ok();
        if itself.is_some() && itself == fs::canonicalize(&args.file).ok() {
            let path = path.display();
            bail!("{path}: is the profile itself; name another file");
        }
    }
    let mut input = Input::new(&args.input, err);
    let profile = input.read(&args.file)?;
    let tables = matches!(args.to, ExportFormat::Markdown | ExportFormat::Csv);
    if tables && profile.operations.is_empty() {
        bail!(
            "{}: the profile holds no operations to make a table of; measure again, or give \
             --to chrome for a timeline, --to collapsed for stacks",
            args.file.display()
        );
    }
    let verdicts = args
        .compare
        .as_deref()
        .map(|baseline| verdicts(&input.read(baseline)?, &profile));
    let verdicts = verdicts.transpose()?.unwrap_or_default();
    let name = |error: anyhow::Error| {
        let is_input = |error: &_| matches!(error, ExportError::Empty | ExportError::TooLong);
        let of = match error.downcast_ref().is_some_and(is_input) {
            true => Some(&*args.file),
            false => target,
        };
        match of {
            Some(path) => error.context(path.display().to_string()),
            None => error,
        }
    };
    match target {
        Some(path) => file::replace(path, |file| {
            write(profile, args.to, &verdicts, file).map_err(name)
        })?,
        None => write(profile, args.to, &verdicts, out).map_err(name)?,
    }
    Ok(Ending::Done)
}

/// What a comparison with the defaults says of the profile's operations.
fn verdicts(baseline: &Profile, profile: &Profile) -> Result<Vec<Verdict>> {
    let compared = compare(from_ref(baseline), from_ref(profile), &Options::default());
    let operations = compared?.operations;
    Ok(operations.iter().map(Verdict::from).collect())
}

fn write(
    profile: Profile,
    format: ExportFormat,
    verdicts: &[Verdict],
    out: &mut dyn Write,
) -> Result<()> {
    match format {
        ExportFormat::Chrome => export::chrome::write(&profile, verdicts, out)?,
        ExportFormat::Speedscope => export::speedscope::write(&profile, out)?,
        ExportFormat::Collapsed => export::collapsed::write(&profile, out)?,
        ExportFormat::Flamegraph => export::flamegraph::write(&profile, out)?,
        ExportFormat::Markdown => show(profile, Format::Markdown, out)?,
        ExportFormat::Csv => show(profile, Format::Csv, out)?,
    }
    Ok(())
}

/// What `breakeven show` prints.
fn show(profile: Profile, format: Format, out: &mut dyn Write) -> Result<()> {
    let report = Report::new(profile, None);
    // Without budgets and notes nothing is said beside the tables.
    output::write(&report, format, out, &mut io::sink())
}
