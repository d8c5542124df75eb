//! For people, 100 columns wide.

use std::io::Write;

use anyhow::Result;
use breakeven::plan::{Candidate, ExecutionStrategy};
use breakeven_profile::unit;

use super::super::table::TABLE;
use super::super::text::{BOLD, FAINT, clipped, left, right, styled, wrapped};
use super::Plan;

/// Columns of the names on the left.
const NAME: usize = 12;

/// Columns of the candidates' strategies and of their times.
const STRATEGY: usize = 14;
const TIME: usize = 10;

pub(super) fn write(plan: &Plan, out: &mut dyn Write) -> Result<()> {
    let strategy = plan.decision.strategy.to_string();
    writeln!(out, "{}  {}", styled(&strategy, BOLD), work(plan))?;
    labelled("workload", &plan.workload.to_string(), out)?;
    labelled("machine", &plan.machine.to_string(), out)?;
    write_why(plan, out)
}

/// The way to the decision: the candidates and the reasons.
pub(super) fn write_why(plan: &Plan, out: &mut dyn Write) -> Result<()> {
    for (index, reason) in plan.reasoning().iter().enumerate() {
        labelled(if index == 0 { "why" } else { "" }, reason, out)?;
    }
    let mut candidates = plan.candidates().peekable();
    if candidates.peek().is_some() {
        let heads = [
            left("candidates", NAME),
            left("", STRATEGY),
            right("predicted", TIME),
        ];
        let heads = format!("{}  evidence", heads.concat());
        writeln!(out, "{}", styled(&heads, FAINT))?;
    }
    for (candidate, ns) in candidates {
        writeln!(out, "{}{}", left("", NAME), row(plan, candidate, ns))?;
    }
    for note in &plan.notes {
        labelled("note", note, out)?;
    }
    Ok(())
}

/// How many tasks each side gets, and how large a batch is.
fn work(plan: &Plan) -> String {
    let (gpu, cpu) = plan.tasks();
    let tasks = |tasks: usize| match tasks {
        1 => "1 task".to_owned(),
        tasks => format!("{} tasks", unit::count(tasks as f64)),
    };
    let sides = match (gpu, cpu) {
        (0, 0) => return "there is nothing to run".to_owned(),
        (0, cpu) => format!("{} on the CPU", tasks(cpu)),
        (gpu, 0) => format!("{} on the GPU", tasks(gpu)),
        (gpu, cpu) => format!("{} on the GPU, {} on the CPU", tasks(gpu), tasks(cpu)),
    };
    let batch = unit::count(plan.decision.batch_size as f64);
    format!("{sides}, {batch} per batch")
}

fn row(plan: &Plan, candidate: &Candidate, ns: f64) -> String {
    let strategy = left(&candidate.strategy.to_string(), STRATEGY);
    let time = right(&unit::time(ns), TIME);
    let evidence = candidate.evidence.to_string();
    let row = clipped(&format!("{strategy}{time}  {evidence}"), TABLE - NAME);
    let kind = |strategy: &ExecutionStrategy| std::mem::discriminant(strategy);
    match kind(&candidate.strategy) == kind(&plan.decision.strategy) {
        true => styled(&row, BOLD),
        false => row,
    }
}

/// A text with its name in front of the first line.
pub(super) fn labelled(name: &str, text: &str, out: &mut dyn Write) -> Result<()> {
    for (index, line) in wrapped(text, TABLE - NAME).into_iter().enumerate() {
        let name = if index == 0 { name } else { "" };
        let line = clipped(&line, TABLE - NAME);
        writeln!(out, "{}{line}", styled(&left(name, NAME), FAINT))?;
    }
    Ok(())
}
