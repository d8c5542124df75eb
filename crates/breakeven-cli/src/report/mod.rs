//! `breakeven report`: a profile as one HTML page.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use breakeven_judge::advise::ProfilerOptimizer;
use breakeven_judge::compare::Options;
use breakeven_judge::{Compared, Source, compare};
use breakeven_profile::file;
use breakeven_profile::profile::Profile;
use breakeven_report::Words;
use clap::Args;

use crate::compare::page::flag;
use crate::exit::Ending;
use crate::input::{Input, distinct};
use crate::show::{Report, report_unmatched};

mod history;

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Profile files, or files of other tools; the runs of several files are merged
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Profiles to compare against, with their runs merged; the page then has verdicts
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) baseline: Vec<PathBuf>,

    /// A history (`breakeven history`): how the operations developed, what changed and when
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,

    /// Budgets for means and memory
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) budget: Option<PathBuf>,

    /// The page's title [default: the names of the files]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,

    /// HTML file to write; it is replaced in one step
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) input: crate::input::InputArgs,
}

pub(crate) fn run(args: &ReportArgs, err: &mut dyn Write) -> Result<Ending> {
    let limits = crate::input::limits(args.budget.as_deref())?;
    file::check_writable(&args.output)?;
    let mut inputs = distinct(&args.files)?;
    inputs.extend(distinct(&args.baseline)?);
    if args
        .output
        .canonicalize()
        .is_ok_and(|path| inputs.contains(&path))
    {
        let path = args.output.display();
        bail!("{path}: is one of the profiles; name another file to write");
    }
    let mut input = Input::new(&args.input, err);
    let (current, baseline) = (
        input.read_all(&args.files)?,
        input.read_all(&args.baseline)?,
    );
    input.check_options()?;
    let options = Options {
        limits: limits.clone().unwrap_or_default(),
        ..Options::default()
    };
    let compared = match baseline.is_empty() {
        true => None,
        false => {
            let comparison = compare(&baseline, &current, &options)?;
            let sources = [
                Source::of(&names(&args.baseline), &baseline),
                Source::of(&names(&args.files), &current),
            ];
            Some(Compared::new(sources, comparison, None))
        }
    };
    let profile = Profile::join(current)?;
    let report = Report::new(profile, limits);
    let optimizer = ProfilerOptimizer::new(&report.profile);
    let history = match &args.history {
        Some(path) => history::series(path, &report.profile)?,
        None => Vec::new(),
    };
    let page = breakeven_report::Report {
        title: &args.title.clone().unwrap_or_else(|| title(args)),
        profile: &report.profile,
        overview: &report.overview,
        advice: optimizer.advice(),
        comparison: compared.as_ref().map(|compared| &compared.comparison),
        history: &history,
        words: Words {
            compared: compared
                .as_ref()
                .map(|compared| compared.page(flag))
                .unwrap_or_default(),
            ..report.words()
        },
    };
    file::replace(&args.output, |out| -> Result<()> {
        let path = args.output.display();
        out.write_all(page.html().as_bytes())
            .with_context(|| format!("{path} cannot be written"))
    })?;
    report_unmatched(&report, err);
    // Showing a failure is no failure; budgets count only if the user gave them.
    Ok(Ending::Judged(report.budgets))
}

/// The names of the files, without their private paths.
fn names(paths: &[PathBuf]) -> Vec<PathBuf> {
    let names = paths.iter().filter_map(|path| path.file_name());
    names.map(PathBuf::from).collect()
}

fn title(args: &ReportArgs) -> String {
    let of = |paths: &[PathBuf]| {
        let name = |path: &PathBuf| Path::new(path).display().to_string();
        match &names(paths)[..] {
            [one] => name(one),
            [first, others @ ..] => format!("{} and {} more", name(first), others.len()),
            [] => String::new(),
        }
    };
    match args.baseline.is_empty() {
        true => of(&args.files),
        false => format!("{} against {}", of(&args.files), of(&args.baseline)),
    }
}
