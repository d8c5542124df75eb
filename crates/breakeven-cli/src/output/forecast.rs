//! What comes after the user's series.

use std::io::Write;

use anyhow::Result;

use super::Report;
use super::table::TABLE;
use super::text::{BOLD, styled, wrapped};

pub(super) fn write(report: &Report, out: &mut dyn Write) -> Result<()> {
    let Some(text) = text(report) else {
        return Ok(());
    };
    writeln!(out, "\n{}", styled("Forecast", BOLD))?;
    for line in wrapped(&text, TABLE) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

pub(super) fn write_markdown(report: &Report, out: &mut dyn Write) -> Result<()> {
    if let Some(text) = text(report) {
        writeln!(out, "\nForecast: {text}")?;
    }
    Ok(())
}

fn text(report: &Report) -> Option<String> {
    let values: Vec<String> = (report.forecast.as_ref()?.iter())
        .map(ToString::to_string)
        .collect();
    Some(format!(
        "the {} points after the series: {}",
        values.len(),
        values.join(", ")
    ))
}
