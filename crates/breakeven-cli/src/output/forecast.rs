//! What comes after the user's series.

use std::io::Write;

use anyhow::Result;

use super::Report;
use super::table::TABLE;
use super::text::{BOLD, styled, wrapped};

/// What comes after a series, and what it was taken for.
#[derive(Debug)]
pub(crate) struct Forecast {
    series: Vec<f32>,
    pub(super) values: Vec<f32>,
}

impl Forecast {
    /// Fails where the series is too short or has no unique fit.
    pub(crate) fn of(series: &[f32]) -> Result<Self, breakeven::Error> {
        let values = breakeven::suite::forecast(series)?;
        let series = series.to_vec();
        Ok(Self { series, values })
    }
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
    let (first, last) = (forecast.series.first()?, forecast.series.last()?);
    let values: Vec<String> = forecast.values.iter().map(ToString::to_string).collect();
    Some(format!(
        "the {} points after the series: {}; it has {} points, from {first} to {last}",
        values.len(),
        values.join(", "),
        forecast.series.len(),
    ))
}
