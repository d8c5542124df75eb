//! What comes after the user's series.

use std::io::Write;

use anyhow::Result;

use super::Report;
use super::table::TABLE;
use super::text::{BOLD, styled, wrapped};

/// What comes after a series, and what it was taken for.
#[derive(Debug)]
pub(crate) struct Forecast {
    /// How many points the series has.
    pub(crate) points: usize,
    /// Its first and its last.
    pub(crate) ends: [f32; 2],
    /// The points after the last.
    pub(crate) values: Vec<f32>,
}

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
    let forecast = report.forecast.as_ref()?;
    let [first, last] = forecast.ends;
    let values: Vec<String> = forecast.values.iter().map(ToString::to_string).collect();
    Some(format!(
        "the {} points after the series: {}; it has {} points, from {first} to {last}",
        values.len(),
        values.join(", "),
        forecast.points,
    ))
}
