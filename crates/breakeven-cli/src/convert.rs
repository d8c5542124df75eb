//! `breakeven convert`: converts files of other tools to a profile, and a profile to the format of
//! another tool.

use breakeven_judge::Outcome;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use breakeven_import::Format as Read;
use breakeven_judge::export::{self, ExportError};
use breakeven_profile::file;
use breakeven_profile::profile::Profile;
use clap::{Args, ValueEnum};

use crate::input::{Input, distinct, not_among};
use crate::show::{self, Report};
use crate::values::{Format, by_extension};

#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// Profile files, or files of other tools; runs of further files are added
    #[arg(value_name = "FILE", required_unless_present = "list")]
    pub(crate) files: Vec<PathBuf>,

    /// Format to write [default: profile; csv or markdown for FILE.csv, FILE.md]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: Option<ConvertFormat>,

    /// File to write; it is replaced in one step [default: -, standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// List the formats that are read
    #[arg(long, exclusive = true)]
    pub(crate) list: bool,

    #[command(flatten)]
    pub(crate) input: crate::input::InputArgs,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConvertFormat {
    /// A profile file
    #[default]
    Profile,
    /// Trace of single calls, for Perfetto and chrome://tracing
    Chrome,
    /// For speedscope.app
    Speedscope,
    /// One line per call path, for the tools around flamegraph.pl
    Collapsed,
    /// Flame graph as SVG, for a browser
    Flamegraph,
    /// Call paths for pprof, packed with gzip
    Pprof,
    /// Bencher Metric Format: the figures of each operation
    Bmf,
    /// The tables of `breakeven show`
    Markdown,
    /// The figures of `breakeven show`
    Csv,
}

pub(crate) fn run(args: &ConvertArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Outcome> {
    if args.list {
        list(out)?;
        return Ok(Outcome::Passed);
    }
    let target = args.output.as_deref();
    let target = target.filter(|path| *path != Path::new("-"));
    let figures = [("csv", ConvertFormat::Csv), ("md", ConvertFormat::Markdown)];
    let by_name = || by_extension(target?, &figures);
    let to = args.to.or_else(by_name).unwrap_or_default();
    let inputs = distinct(&args.files)?;
    if let Some(path) = target {
        file::check_writable(path)?;
        not_among(path, &inputs)?;
    }
    let mut input = Input::new(&args.input, err);
    let profile = Profile::join(input.read_all(&args.files)?)?;
    input.finish()?;
    let files = args.files.iter().map(|file| file.display().to_string());
    let files = files.collect::<Vec<_>>().join(", ");
    let is_table = matches!(to, ConvertFormat::Markdown | ConvertFormat::Csv);
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
        Some(path) => file::replace(path, |file| write(profile, to, file).map_err(name))?,
        None => write(profile, to, out).map_err(name)?,
    }
    Ok(Outcome::Passed)
}

fn write(profile: Profile, format: ConvertFormat, out: &mut dyn Write) -> Result<()> {
    match format {
        ConvertFormat::Profile => file::write_to(&profile, out)?,
        ConvertFormat::Chrome => export::chrome(&profile, out)?,
        ConvertFormat::Speedscope => export::speedscope(&profile, out)?,
        ConvertFormat::Collapsed => export::collapsed(&profile, out)?,
        ConvertFormat::Flamegraph => export::flamegraph(&profile, out)?,
        ConvertFormat::Pprof => export::pprof(&profile, out)?,
        ConvertFormat::Bmf => export::bmf(&profile, out)?,
        ConvertFormat::Markdown => show(profile, Format::Markdown, out)?,
        ConvertFormat::Csv => show(profile, Format::Csv, out)?,
    }
    Ok(())
}

/// What `breakeven show` prints.
fn show(profile: Profile, format: Format, out: &mut dyn Write) -> Result<()> {
    let report = Report::new(profile, None);
    // Without budgets and notes only the tables are printed.
    show::write(&report, format, out, &mut io::sink())
}

fn list(out: &mut dyn Write) -> Result<()> {
    let width = Read::all().map(|format| format.name().len()).max();
    let width = width.unwrap_or_default();
    for format in Read::all() {
        writeln!(out, "{:width$}  {}", format.name(), format.about())?;
    }
    Ok(())
}
