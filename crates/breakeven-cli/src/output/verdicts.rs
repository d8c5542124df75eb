//! Below the main table: winners, bottlenecks, targets, budgets.

use std::io::Write;

use anyhow::Result;
use breakeven_judge::bottleneck::Targets;
use breakeven_judge::{Finding, FindingKind, Held, Standing, Thresholds, Winner};
use breakeven_profile::unit;
use unicode_width::UnicodeWidthStr;

use super::Report;
use super::table::TABLE;
use super::text::{
    BAD, BOLD, FAINT, GOOD, WARNING, clipped, clipped_middle, left, right, styled, wrapped,
};

pub(super) fn write(report: &Report, out: &mut dyn Write) -> Result<()> {
    write_winners(report, out)?;
    write_findings(report, out)?;
    write_targets(report, out)?;
    write_budgets(report, out)?;
    for note in &report.notes {
        writeln!(out, "{}", styled(note, BAD))?;
    }
    for remark in &report.remarks {
        for line in wrapped(remark, TABLE) {
            writeln!(out, "{}", styled(&line, FAINT))?;
        }
    }
    if report.profile.interrupted {
        writeln!(
            out,
            "{}",
            styled("interrupted: not all that was asked for is here", WARNING)
        )?;
    }
    Ok(())
}

fn head(text: &str, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "\n{}", styled(text, BOLD))?;
    Ok(())
}

fn write_winners(report: &Report, out: &mut dyn Write) -> Result<()> {
    if report.overview.winners.is_empty() {
        return Ok(());
    }
    head("Winners", out)?;
    let lines: Vec<_> = report
        .overview
        .winners
        .iter()
        .map(|winner| {
            let operation = report.operation(&winner.operation, winner.size);
            (winner.clear, operation, winner_text(report, winner))
        })
        .collect();
    let widest = |widths: &mut dyn Iterator<Item = usize>| widths.max().unwrap_or(0);
    let name = widest(&mut lines.iter().map(|(_, operation, _)| operation.width())).min(24);
    let device = widest(&mut lines.iter().map(|(_, _, (device, _))| device.width())).min(26);
    for (clear, operation, (label, text)) in &lines {
        let style = if *clear { GOOD } else { WARNING };
        let operation = left(&clipped(operation, name), name);
        let label = styled(&left(&clipped_middle(label, device), device), style);
        let text = clipped(text, TABLE - name - device - 4);
        writeln!(out, "{operation}  {label}  {text}")?;
    }
    if report
        .overview
        .winners
        .iter()
        .any(|winner| !winner.over_runs)
    {
        let note = "with 95 % intervals within one run; how much runs differ, --runs 5 tells";
        writeln!(out, "{}", styled(note, FAINT))?;
    }
    Ok(())
}

/// The winner's device and how far ahead it is.
pub(super) fn winner_text(report: &Report, winner: &Winner) -> (String, String) {
    let interval = winner.interval.map_or_else(String::new, |[lower, upper]| {
        format!(" ({} to {})", times(lower), times(upper))
    });
    let how = if winner.clear {
        "faster than"
    } else {
        "but not clearly against"
    };
    let next = report.label(&winner.runner_up);
    let text = format!("{}×{interval} {how} {next}", times(winner.ratio));
    (report.label(&winner.device), text)
}

fn times(ratio: f64) -> String {
    match ratio {
        r if r < 9.95 => format!("{r:.2}"),
        r if r < 99.5 => format!("{r:.1}"),
        r if r < 99_999.5 => format!("{r:.0}"),
        r => format!("{r:.1e}"),
    }
}

fn write_findings(report: &Report, out: &mut dyn Write) -> Result<()> {
    head("Bottlenecks", out)?;
    if report.overview.findings.is_empty() {
        writeln!(out, "{}", styled("none", GOOD))?;
    }
    for finding in report.overview.findings.iter().take(MOST_FINDINGS) {
        let who = report.who(&finding.operation, finding.size, &finding.device);
        let what = finding_text(finding);
        writeln!(
            out,
            "{} {}",
            left(&clipped_middle(&who, 48), 48),
            styled(&what, WARNING)
        )?;
        for (name, text) in [("cause", &finding.cause), ("next", &finding.next_step)] {
            for (index, line) in wrapped(text, 88).iter().enumerate() {
                let name = if index == 0 { name } else { "" };
                writeln!(out, "    {} {line}", left(name, 5))?;
            }
        }
    }
    let more = report.overview.findings.len().saturating_sub(MOST_FINDINGS);
    if more > 0 {
        let note = format!(
            "and {more} more, of operations that take less of the time; --format json has all"
        );
        writeln!(out, "{}", styled(&note, FAINT))?;
    }
    Ok(())
}

/// Findings in the table; the rest is counted.
const MOST_FINDINGS: usize = 8;

/// What a finding says, with its figure.
pub(super) fn finding_text(finding: &Finding) -> String {
    match finding.what {
        FindingKind::Slow => {
            let limit = unit::time(finding.threshold);
            format!("slow: {} (over {limit})", unit::time(finding.value))
        }
        FindingKind::HighVariance => {
            let limit = unit::percent(finding.threshold);
            format!(
                "high variance: CV {} (over {limit})",
                unit::percent(finding.value)
            )
        }
        FindingKind::Outliers => format!(
            "outliers: max is {:.1} × mean (over {})",
            finding.value, finding.threshold
        ),
    }
}

fn write_targets(report: &Report, out: &mut dyn Write) -> Result<()> {
    head(&targets_title(&report.thresholds), out)?;
    for row in &report.overview.rows {
        if let Some(targets) = row.targets {
            let style = if targets.all() { GOOD } else { WARNING };
            let who = report.who(&row.operation, row.size, &row.device);
            let share = unit::percent(row.share_of_total);
            let text = left(&targets_text(targets), 24);
            writeln!(
                out,
                "{} {} {} of the time",
                left(&clipped_middle(&who, 48), 48),
                styled(&text, style),
                right(&share, 7)
            )?;
        }
    }
    Ok(())
}

pub(super) fn targets_title(thresholds: &Thresholds) -> String {
    format!(
        "Targets (mean < {}, CV < {}, > {})",
        unit::time(thresholds.target_mean_ns),
        unit::percent(thresholds.target_cv),
        unit::per_s(thresholds.target_per_s)
    )
}

pub(super) fn targets_text(targets: Targets) -> String {
    let missed: Vec<&str> = [
        (targets.mean, "mean"),
        (targets.cv, "CV"),
        (targets.rate, "rate"),
    ]
    .into_iter()
    .filter_map(|(met, name)| (!met).then_some(name))
    .collect();
    match missed.as_slice() {
        [] => "met".to_owned(),
        missed => format!("missed: {}", missed.join(", ")),
    }
}

fn write_budgets(report: &Report, out: &mut dyn Write) -> Result<()> {
    head("Budgets", out)?;
    let mut any = false;
    for row in &report.overview.rows {
        if let (Some(Held { max_ns, standing }), Some(summary)) = (row.budget, row.summary) {
            any = true;
            let style = match standing {
                Standing::Within => GOOD,
                Standing::Near => WARNING,
                Standing::Over => BAD,
            };
            let who = report.who(&row.operation, row.size, &row.device);
            let used = unit::percent(summary.mean / max_ns);
            let text = left(&standing.to_string(), 7);
            writeln!(
                out,
                "{} {} {used} of {}",
                left(&clipped_middle(&who, 48), 48),
                styled(&text, style),
                unit::time(max_ns)
            )?;
        }
    }
    for budget in &report.unmatched {
        let text = format!("{budget}: holds nothing, no such operation has samples");
        writeln!(out, "{}", styled(&clipped(&text, TABLE), BAD))?;
    }
    if !any && report.unmatched.is_empty() {
        let note = match report.budgets_given {
            true => "the file gives none",
            false => {
                "none apply: the suite's own are for discrete GPUs at default sizes; --budget FILE.toml"
            }
        };
        writeln!(out, "{}", styled(note, FAINT))?;
    }
    Ok(())
}
