//! For a report or a CI summary.

use std::io::Write;

use anyhow::Result;
use breakeven_profile::unit;

use super::super::markdown::{escaped, table};
use super::{AdviceReport, RealisedReport, followed, gained, who};

pub(super) fn write_advice(report: &AdviceReport, out: &mut dyn Write) -> Result<()> {
    let advice = &report.advice;
    writeln!(out, "**{}**", escaped(&report.conclusion))?;
    let unknown = || unit::UNKNOWN.to_owned();
    let rows: Vec<Vec<String>> = advice
        .suggestions
        .iter()
        .map(|each| {
            let time = |ms: Option<f64>| ms.map_or_else(unknown, |ms| unit::time(ms * 1e6));
            vec![
                each.rank.to_string(),
                each.priority.to_string(),
                each.kind.to_string(),
                who(&each.operation, &each.device, each.software_gpu, each.size),
                time(each.saved_ms),
                each.saved_share.map_or_else(unknown, unit::percent),
                time(Some(each.current_time_ms)),
                time(each.estimated_time_ms),
            ]
        })
        .collect();
    if !rows.is_empty() {
        let heads = [
            "",
            "priority",
            "type",
            "operation",
            "saves",
            "of the whole",
            "a call",
            "then",
        ];
        table(&heads, &rows, out)?;
        writeln!(out)?;
    }
    for each in &advice.suggestions {
        let overlap = each.overlap_text();
        let score = report.score(each).map(ToString::to_string);
        let extra: String = overlap
            .into_iter()
            .chain(score)
            .map(|text| format!(" ({text})"))
            .collect();
        writeln!(
            out,
            "{}. {}. Do: {}. Gain: {}{}.",
            each.rank,
            escaped(&each.description),
            escaped(&each.implementation_hint),
            escaped(&each.expected_improvement),
            escaped(&extra)
        )?;
    }
    let notes = report.more().into_iter().chain(advice.caveats());
    for (index, note) in notes.enumerate() {
        let gap = if index == 0 { "\n" } else { "" };
        writeln!(out, "{gap}- {}", escaped(&note))?;
    }
    if !advice.overruled.is_empty() {
        writeln!(
            out,
            "\nNot advised, because something measured overruled the rule of thumb:\n"
        )?;
    }
    for each in &advice.overruled {
        let who = who(&each.operation, &each.device, each.software_gpu, each.size);
        let evidence: Vec<String> = each.evidence.iter().map(ToString::to_string).collect();
        let text = format!("{}, {who}: {}", each.rule, evidence.join("; "));
        writeln!(out, "- {}", escaped(&text))?;
    }
    Ok(())
}

pub(super) fn write_realised(report: &RealisedReport, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "**{}**", escaped(&report.conclusion()))?;
    let rows: Vec<Vec<String>> = report
        .realised
        .outcomes
        .iter()
        .map(|each| {
            let predicted = each.predicted_ms.map(|ms| unit::time(ms * 1e6));
            vec![
                each.rank.to_string(),
                each.kind.to_string(),
                who(&each.operation, &each.device, each.software_gpu, each.size),
                followed(each).to_owned(),
                each.sign.clone(),
                predicted.unwrap_or_else(|| unit::UNKNOWN.to_owned()),
                gained(each),
            ]
        })
        .collect();
    if !rows.is_empty() {
        let heads = [
            "",
            "type",
            "operation",
            "followed",
            "sign",
            "predicted",
            "gained",
        ];
        table(&heads, &rows, out)?;
    }
    let warnings = report.realised.warnings.iter().cloned();
    let scores = report
        .scores
        .iter()
        .map(|score| format!("{}: {score}", score.rule));
    for (index, note) in warnings.chain(scores).enumerate() {
        let gap = if index == 0 { "\n" } else { "" };
        writeln!(out, "{gap}- {}", escaped(&note))?;
    }
    Ok(())
}
