//! Prints a comparison, one function per format.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use breakeven_judge::gate;
use breakeven_judge::gate::{Reason, hold_budgets};
use breakeven_judge::page::figures::revision;
use breakeven_judge::page::{Page, Text, Tone};
use breakeven_judge::{OperationComparison, Outcome, Policy, ProfilerComparison, Verdict};
use breakeven_profile::profile::Profile;
use serde::Serialize;

/// The printed comparison.
pub(crate) struct Report {
    /// Baseline and current side.
    pub(crate) sources: [Source; 2],
    pub(crate) comparison: ProfilerComparison,
    /// Result of the gate, else of the budgets alone.
    pub(crate) verdict: Verdict,
    /// Reasons of the gate, shown even if no gate was requested.
    pub(crate) shown: Verdict,
    /// True if the exit code is the overall verdict.
    pub(crate) gated: bool,
}

impl Report {
    /// With a policy the gate is applied; otherwise only budgets are checked.
    pub(crate) fn new(
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

    /// The complete page.
    pub(crate) fn page(&self) -> Page {
        let mut page = Page::default();
        let sides = ["baseline", "current"].into_iter().zip(&self.sources);
        page.facts(sides.map(|(side, source)| (side, source.text())));
        page.aside(self.comparison.how_text());
        if self.comparison.common_shift.is_some() && !self.comparison.relative_to_common_shift {
            page.aside("--relative judges the changes relative to the common shift");
        }
        page.blocks.extend(self.comparison.page().blocks);
        page.list(
            Text::new("Not passed", Tone::Bad),
            beside_the_table(&self.verdict.reasons),
        );
        // The table shows the inconclusive operations.
        let alone = |reason: &&Reason| matches!(reason, Reason::MeanAlone { .. });
        let undecided: Vec<Reason> =
            (self.verdict.undecided.iter().filter(alone).cloned()).collect();
        page.list(
            Text::new("Undecided", Tone::Warning),
            beside_the_table(&undecided),
        );
        let has_passed = self.gated && self.verdict.outcome == Outcome::Passed;
        if has_passed && !self.verdict.undecided.is_empty() {
            page.aside("--require-decided ends with 3 unless every operation is decided");
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
    pub(super) fn summary(&self) -> String {
        let summary = self.comparison.get_summary().text();
        match self.gated {
            true => format!("{summary}; gate {}", self.verdict.outcome),
            false => summary,
        }
    }
}

/// The reasons that the table does not show, with the flag that changes each; operations that need
/// the same number of runs share a line.
fn beside_the_table(reasons: &[Reason]) -> Vec<String> {
    let mut inconclusive = HashMap::new();
    for reason in reasons {
        if let Reason::Inconclusive { runs_needed, .. } = reason {
            *inconclusive.entry(*runs_needed).or_insert(0) += 1;
        }
    }
    let in_words = reasons.iter().filter_map(|reason| match reason {
        Reason::Regression { .. } => None,
        Reason::Missing { .. } => Some(format!("{reason} (--allow-missing lets it pass)")),
        Reason::MeanAlone { .. } => Some(format!(
            "{reason} (--strict fails on it, --metric mean judges it)"
        )),
        Reason::Inconclusive { runs_needed, .. } => match inconclusive.remove(runs_needed)? {
            1 => Some(reason.to_string()),
            count => Some(
                Reason::Inconclusive {
                    operation: format!("{count} operations"),
                    runs_needed: *runs_needed,
                }
                .to_string(),
            ),
        },
        _ => Some(reason.to_string()),
    });
    in_words.collect()
}

/// The origin of a side.
#[derive(Serialize)]
pub(crate) struct Source {
    files: Vec<String>,
    /// Runs of the operation with the most.
    pub(super) runs: usize,
    revision: Option<String>,
    build_profile: Option<String>,
    created: Option<String>,
}

impl Source {
    pub(crate) fn of(paths: &[PathBuf], profiles: &[Profile]) -> Self {
        let runs = |profile: &Profile| {
            let operations = profile.operations.iter();
            operations
                .map(|operation| operation.runs.len())
                .max()
                .unwrap_or(0)
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
    fn text(&self) -> String {
        let files = match &self.files[..] {
            [one] => one.clone(),
            [first, others @ ..] => format!("{first} and {} more", others.len()),
            [] => String::new(),
        };
        let runs = match self.runs {
            1 => "1 run".to_owned(),
            runs => format!("{runs} runs"),
        };
        let name = self.revision.as_deref();
        let revision = name.map(|name| format!("revision {}", revision(name)));
        let build = self
            .build_profile
            .as_ref()
            .map(|name| format!("{name} build"));
        let parts = [
            Some(files),
            Some(runs),
            revision,
            build,
            self.created.clone(),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        parts.join(" · ")
    }
}

/// The verdict on an operation, in one line.
pub(super) fn said(report: &Report, operation: &OperationComparison) -> String {
    let value = |value: Option<f64>| {
        value.map_or_else(|| "none".to_owned(), |v| report.comparison.metric.text(v))
    };
    let mut said = format!(
        "{}: {} to {}",
        operation.change_type,
        value(operation.judged.baseline_value),
        value(operation.judged.current_value)
    );
    let test = operation.judged.interval.map(|_| {
        let (interval, p) = (operation.judged.interval_text(), operation.judged.p_text());
        format!("({interval}), p {p}")
    });
    let mut change = operation.judged.change_text();
    if report.comparison.relative_to_common_shift && !change.is_empty() {
        change += " relative to the common shift";
    }
    let parts = [
        (", ", change),
        (" ", test.unwrap_or_default()),
        ("; ", operation.judged.note_text()),
    ];
    for (before, part) in parts.iter().filter(|(_, part)| !part.is_empty()) {
        said.push_str(before);
        said.push_str(part);
    }
    said
}

/// Prints the page for a terminal.
pub(super) fn table(report: &Report, out: &mut dyn Write) -> Result<()> {
    crate::print::print(&report.page(), out)
}

/// Prints the page as Markdown.
pub(super) fn markdown(report: &Report, out: &mut dyn Write) -> Result<()> {
    match report.gated {
        true => writeln!(out, "### breakeven: {}\n", report.verdict.outcome)?,
        false => writeln!(out, "### breakeven\n")?,
    }
    Ok(report.page().markdown(out)?)
}
