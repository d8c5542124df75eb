//! For programs, with all evidence.

use std::io::Write;

use anyhow::Result;
use breakeven_judge::advise::{Advice, Realised, RuleScore};
use serde::Serialize;

use super::{AdviceReport, RealisedReport};

#[derive(Serialize)]
struct AdviceDocument<'r> {
    #[serde(flatten)]
    advice: &'r Advice,
    left_out: usize,
    scores: &'r [RuleScore],
}

#[derive(Serialize)]
struct RealisedDocument<'r> {
    #[serde(flatten)]
    realised: &'r Realised,
    counted: bool,
    scores: &'r [RuleScore],
}

pub(super) fn write_advice(report: &AdviceReport, out: &mut dyn Write) -> Result<()> {
    let document = AdviceDocument {
        advice: &report.advice,
        left_out: report.left_out,
        scores: &report.scores,
    };
    document_of(&document, out)
}

pub(super) fn write_realised(report: &RealisedReport, out: &mut dyn Write) -> Result<()> {
    let document = RealisedDocument {
        realised: &report.realised,
        counted: report.counted,
        scores: &report.scores,
    };
    document_of(&document, out)
}

fn document_of(document: &impl Serialize, out: &mut dyn Write) -> Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    writeln!(out)?;
    Ok(())
}
