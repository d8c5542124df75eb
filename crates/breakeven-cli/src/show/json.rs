//! The profile file's own document, with the computed figures added.

use std::io::Write;

use anyhow::Result;
use breakeven_judge::{Finding, Winner};
use breakeven_profile::file;
use serde::Serialize;

use super::{Absent, Report};

/// Figures computed over all operations, and notes from outside the profile.
#[derive(Serialize)]
struct Further<'r> {
    absent: &'r [Absent],
    winners: &'r [Winner],
    findings: &'r [Finding],
    notes: &'r [String],
}

pub(super) fn write(report: &Report, out: &mut dyn Write) -> Result<()> {
    let further = Further {
        absent: &report.absent,
        winners: &report.overview.winners,
        findings: &report.overview.findings,
        notes: &report.notes,
    };
    let mut text = Vec::new();
    file::write_with(&report.profile, &report.overview.rows, &further, &mut text)?;
    crate::print::escaped(&String::from_utf8(text)?, out)
}
