//! For a report or a CI summary.

use std::io::Write;

use anyhow::Result;
use breakeven_judge::{Held, Row};
use breakeven_profile::stats::Summary;
use breakeven_profile::unit;

use super::text::{giga, share};
use super::verdicts::{finding_text, targets_text, targets_title, winner_text};
use super::{Report, environment, executions, forecast};

pub(super) fn write(report: &Report, out: &mut dyn Write) -> Result<()> {
    let environment = &report.profile.environment;
    if let Some(cpu) = &environment.cpu {
        writeln!(out, "- cpu: {}", escaped(&environment::cpu_text(cpu)))?;
    }
    for gpu in &environment.gpus {
        let driver = gpu.driver.as_deref().unwrap_or("driver unknown");
        writeln!(
            out,
            "- gpu: {}, {}",
            escaped(&report.label(&gpu.id)),
            escaped(driver)
        )?;
    }
    for absent in &report.absent {
        writeln!(out, "- none: {}", escaped(&absent.to_string()))?;
    }
    write_times(report, out)?;
    executions::write_markdown(report, out)?;
    forecast::write_markdown(report, out)?;
    write_peaks(report, out)?;
    write_verdicts(report, out)
}

pub(super) fn table(heads: &[&str], rows: &[Vec<String>], out: &mut dyn Write) -> Result<()> {
    writeln!(out, "\n| {} |", heads.join(" | "))?;
    writeln!(out, "|{}", "---|".repeat(heads.len()))?;
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| escaped(cell)).collect();
        writeln!(out, "| {} |", cells.join(" | "))?;
    }
    Ok(())
}

/// Text that stays in its cell.
pub(super) fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn write_times(report: &Report, out: &mut dyn Write) -> Result<()> {
    let mut rows = Vec::new();
    for row in &report.overview.rows {
        let label = report.label(&row.device);
        // On a GPU the rates are those of its kernel.
        let rates = row.phases.is_empty();
        if let Some(summary) = &row.summary {
            rows.push(times(row, &label, summary, row.calls_per_s, rates));
        }
        if let Some(failure) = &row.failure {
            let text = format!("failed: {}: {}", failure.kind, failure.message);
            rows.push(vec![row.operation.clone(), label.clone(), text]);
        }
        if let Some(first) = row.first_call_ns {
            let name = format!("{label}: first call");
            rows.push(vec![row.operation.clone(), name, unit::time(first)]);
        }
        if let Some(medians) = &row.between_runs {
            let name = format!("{label}: medians of {} runs", medians.count);
            rows.push(times(row, &name, medians, None, false));
        }
        for (phase, summary) in &row.phases {
            let name = format!("{label}: {phase}");
            rows.push(times(row, &name, summary, None, phase == "kernel"));
        }
    }
    let heads = [
        "operation",
        "device",
        "mean",
        "± dev",
        "min",
        "median",
        "p95",
        "max",
        "CV",
        "calls/s",
        "GB/s (of peak)",
        "GFLOP/s (of peak)",
    ];
    table(&heads, &rows, out)
}

fn times(
    row: &Row,
    label: &str,
    summary: &Summary,
    calls_per_s: Option<f64>,
    rates: bool,
) -> Vec<String> {
    let r = &row.roofline;
    let rate = |rate, share| {
        if rates {
            giga(rate, share)
        } else {
            String::new()
        }
    };
    vec![
        row.operation.clone(),
        label.to_owned(),
        unit::time(summary.mean),
        summary.deviation.map_or_else(String::new, unit::time),
        unit::time(summary.min),
        unit::time(summary.median),
        unit::time(summary.p95),
        unit::time(summary.max),
        summary.cv.map_or_else(String::new, share),
        calls_per_s.map_or_else(String::new, unit::per_s),
        rate(r.bytes_per_s, r.bytes_share),
        rate(r.flops_per_s, r.flops_share),
    ]
}

fn write_peaks(report: &Report, out: &mut dyn Write) -> Result<()> {
    let peaks = &report.profile.evidence.peaks;
    if peaks.is_empty() {
        return Ok(());
    }
    let heads: Vec<&str> = std::iter::once("measured peaks")
        .chain(environment::PEAK_HEADS)
        .collect();
    let rows: Vec<Vec<String>> = peaks
        .iter()
        .map(|peak| {
            let mut row = vec![report.label(&peak.device)];
            row.extend(environment::peak_cells(peak));
            row
        })
        .collect();
    table(&heads, &rows, out)
}

fn write_verdicts(report: &Report, out: &mut dyn Write) -> Result<()> {
    let overview = &report.overview;
    if !overview.winners.is_empty() {
        writeln!(out, "\n**Winners**\n")?;
        for winner in &overview.winners {
            let (device, text) = winner_text(report, winner);
            writeln!(
                out,
                "- {}: **{}** {}",
                escaped(&report.operation(&winner.operation, winner.size)),
                escaped(&device),
                escaped(&text)
            )?;
        }
    }
    writeln!(out, "\n**Bottlenecks**\n")?;
    if overview.findings.is_empty() {
        writeln!(out, "- none")?;
    }
    for finding in &overview.findings {
        let who = report.who(&finding.operation, finding.size, &finding.device);
        let (cause, next) = (&finding.cause, &finding.next_step);
        writeln!(
            out,
            "- {}: {}. Cause: {cause}. Next: {next}.",
            escaped(&who),
            finding_text(finding)
        )?;
    }
    writeln!(out, "\n**{}**\n", targets_title(&report.thresholds))?;
    for row in &overview.rows {
        if let Some(targets) = row.targets {
            let who = report.who(&row.operation, row.size, &row.device);
            writeln!(out, "- {}: {}", escaped(&who), targets_text(targets))?;
        }
    }
    let budgets = overview
        .rows
        .iter()
        .filter_map(|row| Some((row, row.budget?, row.summary?)));
    for (index, (row, held, summary)) in budgets.enumerate() {
        let Held { max_ns, standing } = held;
        if index == 0 {
            writeln!(out, "\n**Budgets**\n")?;
        }
        let who = report.who(&row.operation, row.size, &row.device);
        let used = unit::percent(summary.mean / max_ns);
        writeln!(
            out,
            "- {}: {standing}, {used} of {}",
            escaped(&who),
            unit::time(max_ns)
        )?;
    }
    for note in &report.notes {
        writeln!(out, "\n{}", escaped(note))?;
    }
    for remark in &report.remarks {
        writeln!(out, "\n{}", escaped(remark))?;
    }
    if report.profile.interrupted {
        writeln!(out, "\ninterrupted: not all that was asked for is here")?;
    }
    Ok(())
}
