//! The main table, 100 columns wide: a block per operation, a line per device,
//! and under a GPU a line per part of a call.

use std::io::Write;

use anyhow::Result;
use breakeven_judge::Row;
use breakeven_judge::overview::Roofline;
use breakeven_profile::stats::Summary;
use unicode_width::UnicodeWidthStr;

use super::Report;
use super::text::{
    BAD, BOLD, FAINT, WARNING, clipped, clipped_middle, giga, left, per_s, right, share, styled,
    time,
};

/// Columns of the whole table.
pub(super) const TABLE: usize = 100;

/// Columns of the first column and of the figures after it.
const NAME: usize = 26;
const WIDTHS: [usize; 10] = [7, 7, 7, 7, 7, 7, 5, 7, 10, 10];
const HEADS: [&str; 10] = [
    "mean", "± dev", "min", "median", "p95", "max", "CV", "call/s", "GB/s", "GFLOP/s",
];

pub(super) fn write(report: &Report, out: &mut dyn Write) -> Result<()> {
    let rows = &report.overview.rows;
    if rows.is_empty() {
        writeln!(out, "\nthe profile holds no operations")?;
        return Ok(());
    }
    writeln!(
        out,
        "\n{}",
        styled(&line("", &HEADS.map(str::to_owned)), FAINT)
    )?;
    let mut before: Option<(&str, Option<u64>)> = None;
    for row in rows {
        let key = (row.operation.as_str(), row.size);
        if before != Some(key) {
            writeln!(out, "{}", title(row))?;
            before = Some(key);
        }
        write_row(report, row, out)?;
    }
    if rows.iter().any(|row| row.roofline.bytes_share.is_some()) {
        let note = "GB/s and GFLOP/s at the median, with their share of the device's measured peak";
        writeln!(out, "{}", styled(note, FAINT))?;
    }
    Ok(())
}

pub(super) fn title(row: &Row) -> String {
    let name = clipped(&row.operation, TABLE / 2);
    let size = row.size.map(|size| format!("size {size}"));
    match row.workload.clone().or(size) {
        Some(about) => {
            let room = TABLE - name.width() - 3;
            format!("{} · {}", styled(&name, BOLD), clipped(&about, room))
        }
        None => styled(&name, BOLD),
    }
}

fn write_row(report: &Report, row: &Row, out: &mut dyn Write) -> Result<()> {
    let label = report.label(&row.device);
    if let Some(summary) = &row.summary {
        // On a GPU the rates are those of its kernel, a few lines below.
        let kernel = row.phases.iter().any(|(phase, _)| phase == "kernel");
        let rates = if kernel {
            Roofline::default()
        } else {
            row.roofline
        };
        writeln!(out, "{}", figures(&label, summary, row.calls_per_s, &rates))?;
    }
    if let Some(medians) = &row.between_runs {
        let name = format!("  medians of {} runs", medians.count);
        writeln!(
            out,
            "{}",
            figures(&name, medians, None, &Roofline::default())
        )?;
    }
    for (phase, summary) in &row.phases {
        let host_clock = report
            .profile
            .gpu(&row.device)
            .is_some_and(|gpu| gpu.kernel_clock.as_deref() == Some("host"));
        let (name, rates) = match phase.as_str() {
            "kernel" if host_clock => ("  kernel (host clock)".to_owned(), row.roofline),
            "kernel" => ("  kernel".to_owned(), row.roofline),
            other => (format!("  {other}"), Roofline::default()),
        };
        writeln!(out, "{}", figures(&name, summary, None, &rates))?;
    }
    if let Some(first) = row.first_call_ns {
        let mut cells = HEADS.map(|_| String::new());
        cells[0] = time(first);
        writeln!(out, "{}", styled(&line("  first call", &cells), FAINT))?;
    }
    if let Some(part) = row.recording_share.filter(|_| row.mostly_recording) {
        let what = format!("  {} of it was recording: in no verdict", share(part));
        writeln!(out, "{}", styled(&what, WARNING))?;
    }
    if let Some(failure) = &row.failure {
        let what = format!("{label}: {}: {}", failure.kind, failure.message);
        writeln!(out, "{}", styled(&format!("{} {what}", "failed"), BAD))?;
    }
    Ok(())
}

fn figures(name: &str, summary: &Summary, calls_per_s: Option<f64>, rates: &Roofline) -> String {
    let optional =
        |value: Option<f64>, text: fn(f64) -> String| value.map_or_else(|| "–".to_owned(), text);
    line(
        name,
        &[
            time(summary.mean),
            optional(summary.deviation, time),
            time(summary.min),
            time(summary.median),
            time(summary.p95),
            time(summary.max),
            optional(summary.cv, share),
            calls_per_s.map_or_else(String::new, per_s),
            giga(rates.bytes_per_s, rates.bytes_share),
            giga(rates.flops_per_s, rates.flops_share),
        ],
    )
}

fn line(name: &str, cells: &[String; 10]) -> String {
    let mut line = left(&clipped_middle(name, NAME), NAME);
    for (cell, width) in cells.iter().zip(WIDTHS) {
        line.push_str(&right(cell, width));
    }
    line.trim_end().to_owned()
}
