//! Audits a gate: replays past results through a rule such as `mean > 5%` and through
//! [`compare`](compare()), and estimates the smallest change that each sees.
//!
//! A rule compares each entry with the one before it. An alarm *came back by itself* if the median
//! of up to [`AROUND`] entries after it is within the rule's threshold, or within twice its own
//! error, of the median of as many before it. The smallest change that a rule sees in four of five is (1 + threshold) / q − 1, with
//! q the 20 % quantile of the ratios of neighbouring entries, without changes that stayed. For
//! `compare` it follows from the noise between entries, as known from the past: the estimate must
//! be beyond the threshold and significant (Welch's t-test on logarithms).

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use breakeven_profile::profile::{OperationKey, Profile};
use breakeven_profile::stats::{Summary, median, quantile_of_sorted};
use breakeven_stats::smallest_seen;
use serde::Serialize;

use crate::compare::{
    ChangeType, CompareError, FEWEST_RUNS, Metric, Options, Threshold, compare, planned_runs,
};
use crate::history::History;
use crate::page::figures::plural;
use crate::page::{Column, Page, Row, Table};

/// Entries on each side of an alarm that show whether the change stayed.
pub const AROUND: usize = 10;

/// Earlier entries from which `compare` takes the noise.
const PAST: usize = 50;

/// The probability with which a change is to be seen.
const POWER: f64 = 0.8;

/// Most runs per side that are suggested; beside more noise, a larger threshold.
const MOST_RUNS: u64 = 20;

/// A rule that compares two results: a metric and the increase from which it is a regression.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rule {
    /// The metric's name, as it was given.
    pub name: String,
    /// The metric; of several runs their mean.
    pub metric: Metric,
    /// The smallest increase that is an alarm, as a fraction.
    pub threshold: Threshold,
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            let names = Metric::names();
            format!(
                "{text:?} is no rule; give a metric, > (no other sign is known) and a percentage \
                 with its %, as in `mean > 5%` ({names})"
            )
        };
        let (metric, above) = text.split_once('>').ok_or_else(expected)?;
        let percent = above.trim().strip_suffix('%').ok_or_else(expected)?;
        let percent = percent.trim().parse().map_err(|_| expected())?;
        let metric = metric.trim();
        if metric.is_empty() {
            return Err(expected());
        }
        Ok(Self {
            name: metric.to_owned(),
            metric: metric.into(),
            threshold: Threshold::percent(percent).map_err(|error| error.to_string())?,
        })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = 100.0 * self.threshold.as_fraction();
        write!(f, "{} > {} %", self.name, (percent * 1e6).round() / 1e6)
    }
}

/// What a judge made of the past.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Judge {
    /// Entries that it would have stopped.
    pub stopped: usize,
    /// Those of them that came back to normal by themselves, in all operations that it named.
    pub came_back: usize,
    /// The smallest change that it sees in four of five, as a fraction: the median over the
    /// operations. None if it judges none of them.
    pub sees_from: Option<f64>,
}

/// A rule and `compare`, on the same past.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Audit {
    /// The rule.
    pub rule: Rule,
    /// Entries that were compared with the one before.
    pub changes: usize,
    /// Operations with two entries or more.
    pub operations: usize,
    /// Runs per entry: their median.
    pub runs: usize,
    /// Deviation between runs, as a fraction: the median over the operations. None if too little
    /// is known.
    pub noise: Option<f64>,
    /// The rule's outcome.
    pub by_rule: Judge,
    /// The outcome of `compare`, with the rule's threshold and the entries before as its history.
    pub by_compare: Judge,
    /// Runs per side by which `compare` decides at the rule's threshold.
    pub runs_needed: Option<u64>,
    /// Threshold and runs per side that suit this noise.
    pub suggested: Option<(f64, u64)>,
}

/// An alarm of an entry: the place in the series, and the series.
type Alarm<'s> = (usize, &'s [Option<f64>]);

/// Replays entries, oldest first, through the rule and through [`compare`](compare()).
///
/// # Errors
///
/// [`CompareError`] if there are fewer than two entries, or no operation has the metric in two of
/// them.
pub fn audit(entries: &[Profile], rule: &Rule) -> Result<Audit, CompareError> {
    let series = series(entries, &rule.metric);
    if series.is_empty() {
        return Err(CompareError::NothingToAudit {
            metric: rule.metric.clone(),
            entries: entries.len(),
        });
    }
    let limit = rule.threshold.as_fraction().ln_1p();
    let (mut by_rule, mut by_compare) = (Judge::default(), Judge::default());
    for at in 1..entries.len() {
        let alarms: Vec<Alarm<'_>> = (series.values())
            .filter(|logs| difference(logs, at).is_some_and(|change| change > limit))
            .map(|logs| (at, &logs[..]))
            .collect();
        by_rule.count(&alarms, limit);
        let options = Options {
            threshold: rule.threshold,
            metric: rule.metric.clone(),
            history: entries[at.saturating_sub(PAST)..at - 1].to_vec(),
            ..Options::default()
        };
        // Entries without a common operation say nothing.
        let Ok(found) = compare(&entries[at - 1..at], &entries[at..=at], &options) else {
            continue;
        };
        let worse = found.operations.iter();
        let worse = worse.filter(|each| each.change_type == ChangeType::Regression);
        let alarms: Vec<Alarm<'_>> = worse
            .filter_map(|each| Some((at, &series.get(&each.key)?[..])))
            .collect();
        by_compare.count(&alarms, limit);
    }
    let runs = typical_runs(entries);
    by_rule.sees_from = middle(series.values().filter_map(|logs| seen_by_rule(logs, limit)));
    let (past, alpha) = (History::of(entries, &rule.metric), Options::default().alpha);
    let judged = |key: &&OperationKey| runs >= FEWEST_RUNS || past.knows(key);
    let judged = series
        .keys()
        .filter(judged)
        .filter_map(|key| past.noise(key));
    by_compare.sees_from =
        middle(judged.map(|noise| smallest_seen(noise, runs, limit, [alpha, POWER]).exp_m1()));
    let noise = middle(
        series
            .keys()
            .filter_map(|key| past.noise(key))
            .map(|noise| noise.deviation),
    );
    let planned = |threshold| Some(planned_runs(noise?, threshold, alpha)?.runs);
    // The rule's threshold, or the first larger one that a reasonable number of runs decides.
    let larger = [0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0].into_iter();
    let larger = larger.filter_map(|percent| Threshold::fraction(percent).ok());
    let larger = larger.filter(|each| *each > rule.threshold);
    let suggested = std::iter::once(rule.threshold)
        .chain(larger)
        .find_map(|each| {
            let runs = planned(each).filter(|runs| *runs <= MOST_RUNS)?;
            Some((each.as_fraction(), runs))
        });
    Ok(Audit {
        rule: rule.clone(),
        changes: entries.len() - 1,
        operations: series.len(),
        runs,
        noise,
        by_rule,
        by_compare,
        runs_needed: planned(rule.threshold),
        suggested,
    })
}

impl Judge {
    fn count(&mut self, alarms: &[Alarm<'_>], limit: f64) {
        if alarms.is_empty() {
            return;
        }
        self.stopped += 1;
        let back = alarms.iter().all(|(at, logs)| !stayed(logs, *at, limit));
        self.came_back += usize::from(back);
    }
}

/// Logarithms of each operation's values, an entry each, so that more is worse. Operations with
/// values in two entries or more.
fn series(entries: &[Profile], metric: &Metric) -> BTreeMap<OperationKey, Vec<Option<f64>>> {
    let mut series: BTreeMap<OperationKey, Vec<Option<f64>>> = BTreeMap::new();
    for (at, entry) in entries.iter().enumerate() {
        for operation in &entry.operations {
            let runs = operation.runs.iter();
            let values: Vec<f64> = runs
                .filter_map(|run| metric.of(operation, run, false))
                .collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let log = Some(metric.worse() * mean.ln()).filter(|log| log.is_finite());
            let logs = series.entry(operation.key()).or_default();
            logs.resize(entries.len(), None);
            logs[at] = log;
        }
    }
    series.retain(|_, logs| logs.iter().flatten().count() >= 2);
    series
}

/// The change from the entry before.
fn difference(logs: &[Option<f64>], at: usize) -> Option<f64> {
    Some(logs[at]? - logs[at - 1]?)
}

/// True if the level after an entry is beyond the limit over that before it, and by more than the
/// levels' own errors; also if no entry follows that could have come back.
fn stayed(logs: &[Option<f64>], at: usize, limit: f64) -> bool {
    let level = |logs: &[Option<f64>]| {
        let known: Vec<f64> = logs.iter().flatten().copied().collect();
        let summary = Summary::of(&known).ok()?;
        let deviation = summary.deviation.unwrap_or(0.0);
        Some((summary.median, deviation.powi(2) / known.len() as f64))
    };
    let before = level(&logs[at.saturating_sub(AROUND)..at]);
    let after = level(&logs[at + 1..logs.len().min(at + 1 + AROUND)]);
    after.zip(before).is_none_or(|(after, before)| {
        let error = (after.1 + before.1).sqrt();
        after.0 - before.0 > limit.max(2.0 * error)
    })
}

/// The smallest change that a rule sees in four of five, as a fraction.
fn seen_by_rule(logs: &[Option<f64>], limit: f64) -> Option<f64> {
    let pairs = (1..logs.len()).filter_map(|at| {
        let change = difference(logs, at)?;
        let is_step = change.abs() > limit && stayed(logs, at, limit);
        (!is_step).then_some(change)
    });
    let mut noise: Vec<f64> = pairs.collect();
    noise.sort_by(f64::total_cmp);
    let low = quantile_of_sorted(&noise, 1.0 - POWER)?;
    Some((limit - low).max(0.0).exp_m1())
}

/// The median of the entries' runs.
fn typical_runs(entries: &[Profile]) -> usize {
    let operations = entries.iter().flat_map(|entry| &entry.operations);
    let mut runs: Vec<usize> = operations.map(|each| each.runs.len()).collect();
    runs.sort_unstable();
    runs.get(runs.len() / 2).map_or(1, |runs| (*runs).max(1))
}

fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    median(&values.collect::<Vec<_>>()).ok()
}

impl Audit {
    /// The audit in a table, with what suits this noise.
    pub fn page(&self) -> Page {
        let percent = |fraction: f64| format!("{:.1} %", 100.0 * fraction);
        let mut page = Page::default();
        let entries = plural(self.changes as u64 + 1, "result");
        page.say(format!(
            "{entries} of {}, each compared with the one before",
            plural(self.operations as u64, "operation")
        ));
        let judges = [&self.by_rule, &self.by_compare];
        let row = |what: &str, text: &dyn Fn(&Judge) -> String| {
            Row::new(std::iter::once(what.to_owned()).chain(judges.map(text)))
        };
        page.table(Table {
            columns: vec![
                Column::words("", Column::KEPT),
                Column::figures(self.rule.to_string(), Column::KEPT),
                Column::figures("breakeven compare", Column::KEPT),
            ],
            rows: vec![
                row("results stopped", &|judge| {
                    format!("{} of {}", judge.stopped, self.changes)
                }),
                row("of these, gone again by themselves", &|judge| {
                    judge.came_back.to_string()
                }),
                row("smallest change found in 80 % of cases", &|judge| {
                    judge
                        .sees_from
                        .map_or_else(|| "too few runs".to_owned(), percent)
                }),
            ],
            ..Table::default()
        });
        let noise = self.noise.map_or_else(|| "not known".to_owned(), percent);
        page.facts([
            ("noise between runs", noise),
            ("runs per result", self.runs.to_string()),
        ]);
        let at = percent(self.rule.threshold.as_fraction());
        page.say(match (self.suggested, self.runs_needed) {
            (Some((threshold, runs)), _) => {
                format!(
                    "With {}, compare decides at {}.",
                    per_side(runs),
                    percent(threshold)
                )
            }
            (None, Some(runs)) => format!("To decide at {at}, compare needs {}.", per_side(runs)),
            (None, None) => format!("The past does not say how many runs decide at {at}."),
        });
        page
    }
}

fn per_side(runs: u64) -> String {
    format!("{} per side", plural(runs, "run"))
}
