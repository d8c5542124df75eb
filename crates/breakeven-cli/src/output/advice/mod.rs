//! Advice and what it was worth as text, one format per file.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use breakeven_judge::advise::{
    Advice, Followed, OptimizationSuggestion, Outcome, Realised, RuleScore, ScoreBook,
};
use breakeven_profile::unit;

use super::device_label;
use crate::args::AdviseFormat;

mod json;
mod markdown;
mod table;

/// Everything that is printed about a profile's advice.
pub(crate) struct AdviceReport {
    /// The advice, with only the suggestions that are shown.
    advice: Advice,
    /// Suggestions that are not shown.
    left_out: usize,
    critical_only: bool,
    /// What all of it comes to.
    conclusion: String,
    scores: Vec<RuleScore>,
}

/// Everything that is printed about what advice was worth.
pub(crate) struct RealisedReport {
    pub(crate) realised: Realised,
    /// The scores with this pair in them.
    pub(crate) scores: Vec<RuleScore>,
    /// False where the pair was counted before, or cannot be.
    pub(crate) counted: bool,
    pub(crate) kept_in: Option<PathBuf>,
}

impl AdviceReport {
    pub(crate) fn new(
        advice: Advice,
        shown: Vec<OptimizationSuggestion>,
        critical_only: bool,
        scores: &ScoreBook,
    ) -> Self {
        let rules = shown.iter().map(|each| each.rule);
        let shown_rules: std::collections::BTreeSet<_> = rules.collect();
        Self {
            left_out: advice.suggestions.len() - shown.len(),
            critical_only,
            conclusion: advice.conclusion(),
            scores: shown_rules
                .into_iter()
                .filter_map(|rule| scores.of(rule))
                .collect(),
            advice: Advice {
                suggestions: shown,
                ..advice
            },
        }
    }

    fn score(&self, suggestion: &OptimizationSuggestion) -> Option<&RuleScore> {
        let mut scores = self.scores.iter();
        scores.find(|score| score.rule == suggestion.rule)
    }

    /// What is not shown, and how to see it.
    fn more(&self) -> Option<String> {
        let all = self.left_out + self.advice.suggestions.len();
        match (self.left_out, self.critical_only) {
            (0, _) => None,
            (more, true) => Some(format!("{more} more without --critical")),
            (more, false) => Some(format!("{more} more: --top {all}")),
        }
    }
}

impl RealisedReport {
    /// What all advice that was followed came to.
    fn conclusion(&self) -> String {
        let outcomes = &self.realised.outcomes;
        let time = |ms: f64| unit::time(ms * 1e6);
        let whole = format!(
            "The whole took {} and takes {}.",
            time(self.realised.before_ms),
            time(self.realised.after_ms)
        );
        if outcomes.is_empty() {
            return format!("There was no advice on the first profile. {whole}");
        }
        let followed: Vec<&Outcome> = outcomes
            .iter()
            .filter(|each| each.followed == Followed::Yes)
            .collect();
        let gained: f64 = followed.iter().filter_map(|each| each.realised_ms).sum();
        let mut text = format!("Followed: {} of {}", followed.len(), outcomes.len());
        if !followed.is_empty() {
            text.push_str(&format!(", gained {}", time(gained)));
            let predicted: f64 = followed.iter().filter_map(|each| each.predicted_ms).sum();
            if predicted > 0.0 {
                text.push_str(&format!(" where {} was predicted", time(predicted)));
            }
        }
        format!("{text}. {whole}")
    }

    /// What became of the score.
    fn of_scores(&self) -> Option<String> {
        let path = self.kept_in.as_ref()?.display();
        Some(match self.counted {
            true => format!("Scores kept in {path}"),
            false => format!("Scores in {path}: this pair was counted before"),
        })
    }
}

/// An operation and its device, with its size.
fn who(operation: &str, device: &str, software_gpu: bool, size: Option<u64>) -> String {
    let size = size.map_or_else(String::new, |size| format!(" (size {size})"));
    format!(
        "{operation}{size} on {}",
        device_label(device, software_gpu)
    )
}

/// What an outcome gained, with its interval.
fn gained(outcome: &Outcome) -> String {
    let time = |ms: f64| unit::time(ms * 1e6);
    match (outcome.realised_ms, outcome.realised_range_ms) {
        (None, _) => unit::UNKNOWN.to_owned(),
        (Some(ms), None) => time(ms),
        (Some(ms), Some([least, most])) => {
            format!("{} ({} to {})", time(ms), time(least), time(most))
        }
    }
}

fn followed(outcome: &Outcome) -> &'static str {
    match outcome.followed {
        Followed::Yes => "yes",
        Followed::No => "no",
        Followed::Unknown => "unknown",
    }
}

/// Prints the advice on a profile.
pub(crate) fn write_advice(
    report: &AdviceReport,
    format: AdviseFormat,
    out: &mut dyn Write,
) -> Result<()> {
    match format {
        AdviseFormat::Table => table::write_advice(report, out),
        AdviseFormat::Json => json::write_advice(report, out),
        AdviseFormat::Markdown => markdown::write_advice(report, out),
    }
}

/// Prints what advice was worth.
pub(crate) fn write_realised(
    report: &RealisedReport,
    format: AdviseFormat,
    out: &mut dyn Write,
) -> Result<()> {
    match format {
        AdviseFormat::Table => table::write_realised(report, out),
        AdviseFormat::Json => json::write_realised(report, out),
        AdviseFormat::Markdown => markdown::write_realised(report, out),
    }
}
