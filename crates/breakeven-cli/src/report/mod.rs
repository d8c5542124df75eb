//! `breakeven report`: a profile as one HTML page.

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use breakeven_history::{Change, History, Loaded, Sensitivity, Series, changes};
use breakeven_judge::advise::ProfilerOptimizer;
use breakeven_judge::compare::Options;
use breakeven_judge::{Compared, Outcome, Source, compare};
use breakeven_profile::file;
use breakeven_profile::profile::Profile;
use breakeven_report::{HistoryChange, HistoryPoint, HistorySeries, Words};
use clap::Args;

use crate::compare::page::flag;
use crate::history::page::state;
use crate::input::{Input, distinct, not_among};
use crate::show::{Report, report_unmatched};

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

pub(crate) fn run(args: &ReportArgs, err: &mut dyn Write) -> Result<Outcome> {
    let limits = crate::input::limits(args.budget.as_deref())?;
    file::check_writable(&args.output)?;
    let mut inputs = distinct(&args.files)?;
    inputs.extend(distinct(&args.baseline)?);
    not_among(&args.output, &inputs)?;
    let mut input = Input::new(&args.input, err);
    let (current, baseline) = (
        input.read_all(&args.files)?,
        input.read_all(&args.baseline)?,
    );
    input.finish()?;
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
        Some(path) => series(path, &report.profile)?,
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
    Ok(report.budgets)
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

/// Most values on a page, over all series: browsers and mail must cope with them.
const MOST_POINTS: usize = 20_000;

/// Values of a series that are always shown, the newest.
const LEAST_POINTS: usize = 20;

/// The series of the profile's operations, those with alerts first.
pub(super) fn series(path: &Path, profile: &Profile) -> Result<Vec<HistorySeries>> {
    let history = History::open(path)?;
    let mut loaded = history.load(&history.main_branch()?)?;
    let keys: HashSet<_> = profile.operations.iter().map(|each| each.key()).collect();
    loaded.series.retain(|series| keys.contains(&series.key));
    let found = changes(&loaded, &Sensitivity::default());
    let most = (MOST_POINTS / loaded.series.len().max(1)).max(LEAST_POINTS);
    let of = |(number, series): (usize, &Series)| {
        let found = found.iter().filter(|change| change.series == number);
        let found: Vec<&Change> = found.collect();
        let alert = found.iter().any(|change| change.is_alert());
        (alert, shown(&loaded, series, &found, most))
    };
    let mut all: Vec<_> = loaded.series.iter().enumerate().map(of).collect();
    all.sort_by_key(|(alert, series)| (!alert, series.changes.is_empty()));
    Ok(all.into_iter().map(|(_, series)| series).collect())
}

/// The newest values of a series, with their changes.
fn shown(loaded: &Loaded, series: &Series, found: &[&Change], most: usize) -> HistorySeries {
    let from = series.points.len().saturating_sub(most);
    let several = loaded
        .series
        .iter()
        .any(|other| other.machine != series.machine);
    let point = |point| {
        let entry = loaded.entry(point);
        HistoryPoint {
            commit: entry.commit.clone().unwrap_or_default(),
            time: entry.time.clone(),
            value_ns: point.value_ns,
            low_ns: point.low_ns,
            high_ns: point.high_ns,
        }
    };
    let change = |change: &&Change| {
        let [low, high] = change.interval.unwrap_or([change.ratio; 2]);
        HistoryChange {
            index: change.index - from,
            before_ns: change.levels_ns[0],
            after_ns: change.levels_ns[1],
            low: low - 1.0,
            high: high - 1.0,
            state: state(change).to_owned(),
        }
    };
    let found = found.iter().filter(|change| change.index >= from);
    HistorySeries {
        label: match several {
            true => format!("{}, {}", series.key, series.machine),
            false => series.key.to_string(),
        },
        points: series.points[from..].iter().map(point).collect(),
        changes: found.map(change).collect(),
    }
}
