//! `breakeven export`: a profile in the format of another tool.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::slice;

use anyhow::{Result, bail};
use breakeven_judge::compare;
use breakeven_judge::compare::Options;
use breakeven_judge::export::chrome::Verdict;
use breakeven_judge::export::{self, ExportError};
use breakeven_profile::file;
use breakeven_profile::profile::Profile;

use crate::args::{ExportArgs, ExportFormat, Format};
use crate::exit::Exit;
use crate::output::{self, Report};

pub(crate) fn run(args: &ExportArgs, out: &mut dyn Write) -> Result<Exit> {
    let target = args
        .output
        .as_deref()
        .filter(|path| *path != Path::new("-"));
    if args.compare.is_some() && args.to != ExportFormat::Chrome {
        bail!("--compare has a place in --to chrome only; breakeven compare prints verdicts");
    }
    if let Some(path) = target {
        file::check_writable(path)?;
        let itself = fs::canonicalize(path).ok();
        if itself.is_some() && itself == fs::canonicalize(&args.file).ok() {
            bail!(
                "{}: is the profile itself; name another file",
                path.display()
            );
        }
    }
    let profile = file::read(&args.file)?;
    let tables = matches!(args.to, ExportFormat::Markdown | ExportFormat::Csv);
    if tables && profile.operations.is_empty() {
        bail!(
            "{}: the profile holds no operations to make a table of; measure again, or give \
             --to chrome for a timeline, --to collapsed for stacks",
            args.file.display()
        );
    }
    let verdicts = match &args.compare {
        None => Vec::new(),
        Some(baseline) => verdicts(baseline, &profile)?,
    };
    let name = |error: anyhow::Error| match error.downcast_ref::<ExportError>() {
        Some(ExportError::Empty | ExportError::TooLong) => {
            error.context(args.file.display().to_string())
        }
        _ => match target {
            Some(path) => error.context(path.display().to_string()),
            None => error,
        },
    };
    match target {
        Some(path) => file::replace(path, |file| {
            write(profile, args.to, &verdicts, file).map_err(name)
        })?,
        None => write(profile, args.to, &verdicts, out).map_err(name)?,
    }
    Ok(Exit::Done)
}

/// What a comparison with the defaults says of the profile's operations.
fn verdicts(baseline: &Path, profile: &Profile) -> Result<Vec<Verdict>> {
    let baseline = file::read(baseline)?;
    let options = Options::default();
    let comparison = compare(
        slice::from_ref(&baseline),
        slice::from_ref(profile),
        &options,
    )?;
    Ok(comparison.operations.iter().map(Verdict::from).collect())
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
    let report = Report::new(profile, None, Vec::new(), Vec::new());
    // Without budgets and notes nothing is said beside the tables.
    output::write(&report, format, out, &mut io::sink())
}
