//! A program that publishes its figures.

use std::collections::BTreeMap;

use breakeven_judge::page::figures::{per_s, plural, share, time};
use breakeven_judge::page::shown;
use breakeven_profile::unit;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

use super::{dim, heading};
use crate::engine::programs::{OperationReading, ProgramReading, ProgramsReading, Quantiles};

/// Most operations and decisions that are shown per program.
const MOST_OPERATIONS: usize = 6;
const MOST_DECISIONS: usize = 2;

/// Longest name, characters.
const MOST_OF_NAME: usize = 120;

/// Columns of a figure and the space before it.
const FIGURE: usize = 8;

/// All programs; only the attached one is shown in full.
pub(super) fn lines(
    programs: &ProgramsReading,
    attached: Option<u32>,
    width: usize,
) -> Vec<Line<'static>> {
    let (operations, decisions) = match attached {
        Some(_) => (usize::MAX, usize::MAX),
        None => (MOST_OPERATIONS, MOST_DECISIONS),
    };
    let mut lines = Vec::new();
    for program in &programs.programs {
        lines.push(Line::default());
        lines.extend(of_one(program, operations, decisions, width));
    }
    let mut rest = Vec::new();
    for program in &programs.left_out {
        let text = format!("process {}: {}", program.pid, shown(&program.why, 200));
        rest.push(Line::styled(text, Style::from(Color::Red)));
    }
    if programs.beyond > 0 {
        let more = plural(programs.beyond as u64, "more program");
        rest.push(Line::styled(format!("{more}, not queried"), dim()));
    }
    if programs.programs.is_empty() && rest.is_empty() {
        let text = match attached {
            Some(pid) => format!("process {pid} does not publish its figures any more"),
            None => "no program publishes its figures (BREAKEVEN_MONITOR=1)".to_owned(),
        };
        rest.push(Line::styled(text, dim()));
    }
    if !rest.is_empty() {
        lines.push(Line::default());
        lines.extend(rest);
    }
    lines
}

fn of_one(
    program: &ProgramReading,
    operations: usize,
    decisions: usize,
    width: usize,
) -> Vec<Line<'static>> {
    let (name, pid) = (shown(&program.name, MOST_OF_NAME), program.pid);
    let since = unit::time(program.since_s * 1e9);
    let mut lines = vec![
        heading(
            "program",
            format!("{name} (process {pid}), published for {since}"),
        ),
        totals(program),
    ];
    lines.extend(failures(program));
    if !program.operations.is_empty() {
        lines.push(heads(width));
    }
    let all = program.operations.iter();
    lines.extend(all.take(operations).map(|operation| row(operation, width)));
    let more = program.operations.len().saturating_sub(operations);
    if more > 0 {
        let more = plural(more as u64, "more operation");
        lines.push(Line::styled(format!("{more}: --attach {pid}"), dim()));
    }
    for decision in program.decisions.iter().take(decisions) {
        let ago = format!("{:>8} ago  ", time(decision.ago_s * 1e9));
        let text = Span::raw(shown(&decision.text, usize::MAX));
        lines.push(Line::from(vec![Span::styled(ago, dim()), text]));
    }
    lines
}

/// `batches 112 /s, 48 210 in all · tasks cpu 40%, gpu 60%`.
fn totals(program: &ProgramReading) -> Line<'static> {
    let rate = program.batches_per_s.map(unit::per_s);
    let rate = rate.map(|rate| format!("{rate}, ")).unwrap_or_default();
    let batches = unit::count(program.stats.batches as f64);
    let mut text = format!("batches  {rate}{batches} in all");
    let shares = shares(&program.stats.tasks);
    if !shares.is_empty() {
        text += &format!(" · tasks  {shares}");
    }
    Line::from(text)
}

/// Failures, if there are any.
fn failures(program: &ProgramReading) -> Option<Line<'static>> {
    let stats = &program.stats;
    let incomplete = program.operations.iter().map(|each| each.incomplete);
    let incomplete = incomplete.fold(0, u64::saturating_add);
    let mut parts = Vec::new();
    if incomplete > 0 {
        parts.push(format!("{} incomplete", unit::count(incomplete as f64)));
    }
    if stats.fallback_tasks > 0 {
        parts.push(format!(
            "{} fell back",
            plural(stats.fallback_tasks, "task")
        ));
    }
    if stats.recalled_tasks > 0 {
        parts.push(format!("{} recalled", plural(stats.recalled_tasks, "task")));
    }
    for (device, count) in &program.quarantines {
        let device = shown(device, MOST_OF_NAME);
        parts.push(format!("{}: {device}", plural(*count, "quarantine")));
    }
    for (kind, count) in &stats.device_errors {
        let (kind, count) = (shown(kind, MOST_OF_NAME), unit::count(*count as f64));
        parts.push(format!("{kind}: {count}"));
    }
    let text = format!("failures {}", parts.join(" · "));
    (!parts.is_empty()).then(|| Line::styled(text, Style::from(Color::Yellow)))
}

/// Columns of an operation's name.
fn name_width(width: usize) -> usize {
    (width / 3).clamp(10, 48)
}

fn heads(width: usize) -> Line<'static> {
    let name = name_width(width);
    let figures = ["batch/s", "p50", "p95", "p99"].map(|head| format!("{head:>FIGURE$}"));
    let text = format!("{:<name$}{}  tasks", "operation", figures.concat());
    Line::styled(text, dim())
}

fn row(operation: &OperationReading, width: usize) -> Line<'static> {
    let name = super::cut(&shown(&operation.name, MOST_OF_NAME), name_width(width));
    let pad = name_width(width).saturating_sub(Span::raw(&*name).width());
    let of_latency =
        |quantile: fn(&Quantiles) -> f64| operation.latency.map(|all| time(quantile(&all) * 1e9));
    let figures = [
        operation.batches_per_s.map(per_s),
        of_latency(|all| all.p50_s),
        of_latency(|all| all.p95_s),
        of_latency(|all| all.p99_s),
    ];
    let figures = figures.map(|figure| format!("{:>FIGURE$}", figure.unwrap_or_else(unknown)));
    let mut text = format!("{name}{}{}  ", " ".repeat(pad), figures.concat());
    text += &shares(&operation.tasks);
    if operation.fallback_tasks > 0 {
        text += &format!(" · {} fell back", plural(operation.fallback_tasks, "task"));
    }
    Line::from(text)
}

fn unknown() -> String {
    unit::UNKNOWN.to_owned()
}

/// The fraction of the tasks that each device did, the largest first.
fn shares(tasks: &BTreeMap<String, u64>) -> String {
    let all: f64 = tasks.values().map(|tasks| *tasks as f64).sum();
    let mut tasks: Vec<_> = tasks.iter().collect();
    tasks.sort_by_key(|(_, tasks)| std::cmp::Reverse(**tasks));
    let of_one = |(device, tasks): (&String, &u64)| {
        let part = share(*tasks as f64 / all.max(1.0));
        format!("{} {part}", shown(device, MOST_OF_NAME))
    };
    let shares: Vec<_> = tasks.into_iter().map(of_one).collect();
    shares.join(", ")
}
