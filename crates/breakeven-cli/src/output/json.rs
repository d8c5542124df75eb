//! Everything, for programs.

use std::io::Write;

use anyhow::Result;
use breakeven::hardware::AbsentBackend;
use breakeven_judge::Overview;
use breakeven_profile::profile::{Environment, Evidence};
use serde::Serialize;

use super::Report;

#[derive(Serialize)]
struct Document<'r> {
    generator: &'r Option<String>,
    created: &'r Option<String>,
    interrupted: bool,
    environment: &'r Environment,
    absent: &'r [AbsentBackend],
    evidence: &'r Evidence,
    #[serde(flatten)]
    overview: &'r Overview,
    notes: &'r [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    forecast: Option<&'r [f32]>,
}

pub(super) fn write(report: &Report, out: &mut dyn Write) -> Result<()> {
    let document = Document {
        generator: &report.profile.generator,
        created: &report.profile.created,
        interrupted: report.profile.interrupted,
        environment: &report.profile.environment,
        absent: &report.absent,
        evidence: &report.profile.evidence,
        overview: &report.overview,
        notes: &report.notes,
        forecast: report
            .forecast
            .as_ref()
            .map(|forecast| &forecast.values[..]),
    };
    super::document(&document, out)
}
