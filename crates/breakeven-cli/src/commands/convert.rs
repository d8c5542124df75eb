//! `breakeven convert`: files of other tools as a profile, a profile in the format of another
//! tool.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Result, bail};
use breakeven_import::Format as Read;
use breakeven_judge::export::{self, ExportError};
use breakeven_profile::file;
use breakeven_profile::profile::Profile;

use super::compare::distinct;
use super::input::{Input, with_flags};
use crate::args::{ConvertArgs, ConvertFormat, Format};
use crate::exit::Ending;
use crate::output::{self, Report, unless_closed};

pub(crate) fn run(args: &ConvertArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Ending> {
    if args.list {
        unless_closed(list(out))?;
        return Ok(Ending::Done);
    }
    let target = args.output.as_deref();
    let target = target.filter(|path| *path != Path::new("-"));
    let inputs = distinct(&args.files)?;
    if let Some(path) = target {
        file::check_writable(path)?;
        let itself = path.canonicalize();
        if itself.is_ok_and(|itself| inputs.contains(&itself)) {
            bail!(
                "{}: is the profile itself; name another file",
                path.display()
            );
        }
    }
    let profile = Profile::join(Input::new(&args.input, err).read_all(&args.files)?)?;
    let files = args.files.iter().map(|file| file.display().to_string());
    let files = files.collect::<Vec<_>>().join(", ");
    let is_table = matches!(args.to, ConvertFormat::Markdown | ConvertFormat::Csv);
    if is_table && profile.operations.is_empty() {
        bail!(
            "{files}: the profile holds no operations to make a table of; measure again, or give \
             --to chrome for a timeline, --to collapsed for stacks"
        );
    }
    let name = |error: anyhow::Error| {
        let is_input = |error: &_| matches!(error, ExportError::Empty | ExportError::TooLong);
        match (error.downcast_ref().is_some_and(is_input), target) {
            (true, _) => error.context(files.clone()),
            (false, Some(path)) => error.context(path.display().to_string()),
            (false, None) => error,
        }
    };
    match target {
        Some(path) => file::replace(path, |file| write(profile, args.to, file).map_err(name))?,
        None => write(profile, args.to, out).map_err(name)?,
    }
    Ok(Ending::Done)
}

fn write(profile: Profile, format: ConvertFormat, out: &mut dyn Write) -> Result<()> {
    match format {
        ConvertFormat::Profile => file::write_to(&profile, out)?,
        ConvertFormat::Chrome => export::chrome::write(&profile, out)?,
        ConvertFormat::Speedscope => export::speedscope::write(&profile, out)?,
        ConvertFormat::Collapsed => export::collapsed::write(&profile, out)?,
        ConvertFormat::Flamegraph => export::flamegraph::write(&profile, out)?,
        ConvertFormat::Markdown => show(profile, Format::Markdown, out)?,
        ConvertFormat::Csv => show(profile, Format::Csv, out)?,
    }
    Ok(())
}

/// What `breakeven show` prints.
fn show(profile: Profile, format: Format, out: &mut dyn Write) -> Result<()> {
    let report = Report::new(profile, None);
    // Without budgets and notes nothing is said beside the tables.
    output::write(&report, format, out, &mut io::sink())
}

fn list(out: &mut dyn Write) -> Result<()> {
    let width = Read::all().map(|format| format.name().len()).max();
    let width = width.unwrap_or_default();
    for format in Read::all() {
        let about = with_flags(format.about());
        writeln!(out, "{:width$}  {about}", format.name())?;
    }
    Ok(())
}
