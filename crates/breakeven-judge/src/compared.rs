//! A comparison as it is printed: the sides, the table, the verdict and its reasons.

use std::collections::HashMap;
use std::path::PathBuf;

use breakeven_profile::profile::Profile;
use serde::Serialize;

use crate::compare::{ChangeType, OperationComparison, ProfilerComparison};
use crate::gate::{Outcome, Policy, Reason, Verdict, gate, hold_budgets};
use crate::page::figures::{plural, revision};
use crate::page::{Page, Text, Tone};

/// A comparison as it is printed: its sides, and the verdict on it.
#[derive(Debug, Clone)]
#[must_use]
pub struct Compared {
    /// Baseline and current side.
    pub sources: [Source; 2],
    /// The comparison.
    pub comparison: ProfilerComparison,
    /// Result of the gate, else of the budgets alone.
    pub verdict: Verdict,
    /// Reasons of the gate, shown even if no gate was requested.
    pub shown: Verdict,
    /// True if the exit code is the overall verdict.
    pub gated: bool,
}

impl Compared {
    /// With a policy the gate is applied; otherwise only budgets are checked.
    pub fn new(
        sources: [Source; 2],
        comparison: ProfilerComparison,
        policy: Option<Policy>,
    ) -> Self {
        let shown = gate(&comparison, policy.unwrap_or_default());
        Self {
            sources,
            verdict: match policy {
                Some(_) => shown.clone(),
                None => hold_budgets(&comparison),
            },
            shown,
            comparison,
            gated: policy.is_some(),
        }
    }

    /// The complete page. `hint` says how the user can change what is judged; the library knows no
    /// flags.
    pub fn page(&self, hint: fn(Hint) -> Option<&'static str>) -> Page {
        let mut page = Page::default();
        let sides = ["baseline", "current"].into_iter().zip(&self.sources);
        page.facts(sides.map(|(side, source)| (side, source.text())));
        page.aside(self.comparison.how_text());
        let is_relative = self.comparison.relative_to_common_shift;
        let is_shifted = self.comparison.common_shift.is_some() && !is_relative;
        if let Some(text) = hint(Hint::CommonShift).filter(|_| is_shifted) {
            page.aside(text);
        }
        page.blocks.extend(self.comparison.page().blocks);
        page.list(
            Text::new("Not passed", Tone::Bad),
            in_words(&self.verdict.reasons, hint),
        );
        // The table shows the inconclusive operations.
        let alone = |reason: &&Reason| matches!(reason, Reason::MeanAlone { .. });
        let undecided: Vec<Reason> =
            (self.verdict.undecided.iter().filter(alone).cloned()).collect();
        page.list(
            Text::new("Undecided", Tone::Warning),
            in_words(&undecided, hint),
        );
        let has_passed = self.gated && self.verdict.outcome == Outcome::Passed;
        let is_partial = has_passed && !self.verdict.undecided.is_empty();
        if let Some(text) = hint(Hint::Undecided).filter(|_| is_partial) {
            page.aside(text);
        }
        let tone = match self.verdict.outcome {
            Outcome::Passed => Tone::Good,
            Outcome::Inconclusive => Tone::Warning,
            Outcome::Mismatched | Outcome::Failed => Tone::Bad,
        };
        page.heading(match self.gated {
            true => Text::new(self.summary(), tone),
            false => self.summary().into(),
        });
        page
    }

    /// The number of operations per verdict, and the gate's outcome, in one line.
    pub fn summary(&self) -> String {
        let mut summary = self.comparison.get_summary().text();
        let mut below = self.comparison.by_weight();
        below.retain(|OperationComparison { judged, .. }| {
            let is_worse = |ratio: f64| ratio.ln() * judged.metric.worse() > 0.0;
            let is_unchanged = judged.change_type == ChangeType::NoChange;
            is_unchanged && judged.is_significant && judged.ratio.is_some_and(is_worse)
        });
        if let Some(worst) = below.first() {
            let (count, name, change) = (below.len(), worst.name(), worst.judged.change_text());
            summary += &format!("; {count} worse by less than the threshold ({name} {change})");
        }
        match self.gated {
            true => format!("{summary}; gate {}", self.verdict.outcome),
            false => summary,
        }
    }
}

/// What a page reports and the user can have judged otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// Most operations changed alike.
    CommonShift,
    /// An operation is missing on the current side.
    Missing,
    /// A mean became worse, and the judged medians do not show it.
    MeanAlone,
    /// The gate passed with undecided operations.
    Undecided,
}

/// The reasons in words, with what changes each.
fn in_words(reasons: &[Reason], hint: fn(Hint) -> Option<&'static str>) -> Vec<String> {
    let reasons = beside_the_table(reasons).into_iter();
    let in_words = reasons.map(|reason| {
        let hint = match &reason {
            Reason::Missing { .. } => hint(Hint::Missing),
            Reason::MeanAlone { .. } => hint(Hint::MeanAlone),
            _ => None,
        };
        let hint = hint.map_or_else(String::new, |hint| format!(" ({hint})"));
        format!("{reason}{hint}")
    });
    in_words.collect()
}

/// The reasons, unless the table shows them all; inconclusive operations that need the
/// same number of runs are one reason.
fn beside_the_table(reasons: &[Reason]) -> Vec<Reason> {
    let is_regression = |reason: &Reason| matches!(reason, Reason::Regression { .. });
    let is_inconclusive = |reason: &Reason| matches!(reason, Reason::Inconclusive { .. });
    if reasons.iter().all(is_regression) || reasons.iter().all(is_inconclusive) {
        return Vec::new();
    }
    let mut inconclusive = HashMap::new();
    for reason in reasons {
        if let Reason::Inconclusive { runs_needed, .. } = reason {
            *inconclusive.entry(*runs_needed).or_insert(0) += 1;
        }
    }
    let beside = reasons.iter().filter_map(|reason| match reason {
        Reason::Inconclusive { runs_needed, .. } => match inconclusive.remove(runs_needed)? {
            1 => Some(reason.clone()),
            count => Some(Reason::Inconclusive {
                operation: format!("{count} operations"),
                runs_needed: *runs_needed,
            }),
        },
        _ => Some(reason.clone()),
    });
    beside.collect()
}

/// The origin of a side.
#[derive(Debug, Clone, Serialize)]
#[must_use]
pub struct Source {
    files: Vec<String>,
    /// Runs of the operation with the most.
    pub runs: usize,
    revision: Option<String>,
    build_profile: Option<String>,
    created: Option<String>,
}

impl Source {
    /// The side of these profiles, which were read from the files at `paths`.
    pub fn of(paths: &[PathBuf], profiles: &[Profile]) -> Self {
        let runs = |profile: &Profile| {
            let runs = profile.operations.iter().map(|each| each.runs.len());
            runs.max().unwrap_or(0)
        };
        let first = profiles.first();
        let environment = first.map(|profile| &profile.environment);
        Self {
            files: paths
                .iter()
                .map(|path| path.display().to_string())
                .collect(),
            runs: profiles.iter().map(runs).sum(),
            revision: environment.and_then(|environment| environment.revision.clone()),
            build_profile: environment.and_then(|environment| environment.build_profile.clone()),
            created: first.and_then(|profile| profile.created.clone()),
        }
    }

    /// One line: files, runs, revision, build, time.
    pub fn text(&self) -> String {
        let files = match &self.files[..] {
            [one] => one.clone(),
            [first, others @ ..] => format!("{first} and {} more", others.len()),
            [] => String::new(),
        };
        let mut parts = vec![files, plural(self.runs as u64, "run")];
        let name = self.revision.as_deref();
        parts.extend(name.map(|name| format!("revision {}", revision(name))));
        let build = self.build_profile.as_ref();
        parts.extend(build.map(|name| format!("{name} build")));
        parts.extend(self.created.clone());
        parts.join(" · ")
    }
}
