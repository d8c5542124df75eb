//! For people, 100 columns wide.

use std::io::Write;

use anstyle::Style;
use anyhow::Result;
use breakeven_judge::advise::{Followed, OptimizationSuggestion, Overruled, Priority};
use breakeven_profile::unit;

use super::super::table::TABLE;
use super::super::text::{
    BAD, BOLD, FAINT, GOOD, WARNING, clipped_middle, left, right, styled, wrapped,
};
use super::{AdviceReport, RealisedReport, followed, gained, who};

/// Columns of the rank, of what stands before a type, and of the type.
const RANK: usize = 3;
const MARK: usize = 8;
const KIND: usize = 15;

/// Columns before the texts under a suggestion.
const INDENT: usize = 11;

/// Measurements that overruled a rule of thumb, at most so many.
const OVERRULED: usize = 5;

pub(super) fn write_advice(report: &AdviceReport, out: &mut dyn Write) -> Result<()> {
    for suggestion in &report.advice.suggestions {
        write_suggestion(report, suggestion, out)?;
    }
    if report.critical_only && report.advice.suggestions.is_empty() && report.left_out > 0 {
        writeln!(out, "Nothing saves a quarter of the time by itself.")?;
    }
    if let Some(more) = report.more() {
        writeln!(out, "{}", styled(&format!("… {more}"), FAINT))?;
    }
    paragraph(&report.conclusion, BOLD, out)?;
    for caveat in report.advice.caveats() {
        paragraph(&caveat, FAINT, out)?;
    }
    write_overruled(&report.advice.overruled, out)
}

fn write_suggestion(
    report: &AdviceReport,
    suggestion: &OptimizationSuggestion,
    out: &mut dyn Write,
) -> Result<()> {
    let style = match suggestion.priority {
        Priority::Critical => BAD,
        Priority::High => WARNING,
        Priority::Medium => BOLD,
        Priority::Low => FAINT,
    };
    let priority = suggestion.priority.to_string();
    let who = who(
        &suggestion.operation,
        &suggestion.device,
        suggestion.software_gpu,
        suggestion.size,
    );
    head(
        suggestion.rank,
        (&priority, style),
        &suggestion.kind.to_string(),
        &who,
        out,
    )?;
    labelled("why", &suggestion.description, out)?;
    labelled("do", &suggestion.implementation_hint, out)?;
    labelled("gains", &suggestion.expected_improvement, out)?;
    if let Some(overlap) = suggestion.overlap_text() {
        labelled("", &overlap, out)?;
    }
    if let Some(score) = report.score(suggestion) {
        labelled("score", &score.to_string(), out)?;
    }
    Ok(())
}

fn write_overruled(overruled: &[Overruled], out: &mut dyn Write) -> Result<()> {
    if overruled.is_empty() {
        return Ok(());
    }
    let title = "\nNot advised, because something measured overruled the rule of thumb";
    writeln!(out, "{}", styled(title, BOLD))?;
    for each in overruled.iter().take(OVERRULED) {
        let who = who(&each.operation, &each.device, each.software_gpu, each.size);
        let evidence: Vec<String> = each.evidence.iter().map(ToString::to_string).collect();
        let who = clipped_middle(&who, TABLE - KIND - 2);
        writeln!(out, "{}  {who}", left(&each.rule.to_string(), KIND))?;
        labelled("", &evidence.join("; "), out)?;
    }
    if overruled.len() > OVERRULED {
        let more = format!("… {} more: --format json", overruled.len() - OVERRULED);
        writeln!(out, "{}", styled(&more, FAINT))?;
    }
    Ok(())
}

pub(super) fn write_realised(report: &RealisedReport, out: &mut dyn Write) -> Result<()> {
    for outcome in &report.realised.outcomes {
        let style = match outcome.followed {
            Followed::Yes => GOOD,
            Followed::No => WARNING,
            Followed::Unknown => FAINT,
        };
        let who = who(
            &outcome.operation,
            &outcome.device,
            outcome.software_gpu,
            outcome.size,
        );
        head(
            outcome.rank,
            (followed(outcome), style),
            &outcome.kind.to_string(),
            &who,
            out,
        )?;
        labelled("sign", &outcome.sign, out)?;
        if outcome.followed == Followed::Yes {
            let predicted = outcome.predicted_ms.map(|ms| unit::time(ms * 1e6));
            let predicted = predicted.as_deref().unwrap_or("nothing");
            let text = format!("{}; predicted was {predicted}", gained(outcome));
            labelled("gained", &text, out)?;
        }
    }
    paragraph(&report.conclusion(), BOLD, out)?;
    for warning in &report.realised.warnings {
        paragraph(warning, WARNING, out)?;
    }
    if let Some(scores) = report.of_scores() {
        // A path is not to be broken.
        writeln!(out, "\n{}", styled(&scores, FAINT))?;
    }
    for score in &report.scores {
        writeln!(out, "{}  {score}", left(&score.rule.to_string(), KIND))?;
    }
    Ok(())
}

fn head(
    rank: usize,
    (mark, style): (&str, Style),
    kind: &str,
    who: &str,
    out: &mut dyn Write,
) -> Result<()> {
    let room = TABLE - RANK - MARK - KIND - 3;
    writeln!(
        out,
        "{} {} {} {}",
        right(&rank.to_string(), RANK),
        styled(&left(mark, MARK), style),
        left(kind, KIND),
        styled(&clipped_middle(who, room), BOLD)
    )?;
    Ok(())
}

/// A text under a suggestion, with what it is in front of its first line.
fn labelled(label: &str, text: &str, out: &mut dyn Write) -> Result<()> {
    for (index, line) in wrapped(text, TABLE - INDENT).into_iter().enumerate() {
        let label = if index == 0 { label } else { "" };
        let label = left(&format!("    {label}"), INDENT);
        let line = clipped_middle(&line, TABLE - INDENT);
        writeln!(out, "{}{line}", styled(&label, FAINT))?;
    }
    Ok(())
}

fn paragraph(text: &str, style: Style, out: &mut dyn Write) -> Result<()> {
    for line in wrapped(text, TABLE) {
        writeln!(out, "{}", styled(&line, style))?;
    }
    Ok(())
}
