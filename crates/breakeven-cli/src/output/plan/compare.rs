//! This machine and the described one side by side, for people.

use std::io::Write;

use anyhow::Result;
use breakeven_profile::unit;

use super::super::table::TABLE;
use super::super::text::{BOLD, FAINT, clipped_middle, left, styled, wrapped};
use super::table::{labelled, write_why};
use super::{Comparison, Plan};

/// Columns of the names on the left, and of each machine.
const NAME: usize = 12;
const COLUMN: usize = (TABLE - NAME) / 2;

pub(super) fn write(comparison: &Comparison, out: &mut dyn Write) -> Result<()> {
    let sides = [&comparison.here, &comparison.described];
    labelled("workload", &comparison.here.workload.to_string(), out)?;
    let [here, described] = sides.map(|plan| cell(&plan.name));
    let names = format!("{here}{}", described.trim_end());
    writeln!(out, "{}{}", left("", NAME), styled(&names, BOLD))?;
    let machines = sides.map(|plan| wrapped(&plan.machine.to_string(), COLUMN - 2));
    let lines = machines.iter().map(Vec::len).max().unwrap_or(0);
    for line in 0..lines {
        let name = if line == 0 { "machine" } else { "" };
        let text = |machine: &Vec<String>| machine.get(line).cloned().unwrap_or_default();
        row(name, [text(&machines[0]), text(&machines[1])], out)?;
    }
    for (name, text) in ROWS {
        row(name, sides.map(text), out)?;
    }
    for plan in sides {
        writeln!(
            out,
            "\n{}",
            styled(&clipped_middle(&plan.name, TABLE), BOLD)
        )?;
        write_why(plan, out)?;
    }
    writeln!(out)?;
    let answer = clipped_middle(&comparison.answer(), TABLE);
    Ok(writeln!(out, "{}", styled(&answer, BOLD))?)
}

/// What is told of each machine, beside what it is.
type Row = (&'static str, fn(&Plan) -> String);
const ROWS: [Row; 6] = [
    ("strategy", |plan| plan.decision.strategy.to_string()),
    ("decided by", Plan::decided_by),
    ("GPU tasks", |plan| unit::count(plan.tasks().0 as f64)),
    ("CPU tasks", |plan| unit::count(plan.tasks().1 as f64)),
    ("batch", |plan| unit::count(plan.decision.batch_size as f64)),
    ("predicted", |plan| match plan.decision.predicted_ns() {
        Some(ns) => format!("{} ({})", unit::time(ns), plan.decision.evidence()),
        None => unit::UNKNOWN.to_owned(),
    }),
];

fn row(name: &str, cells: [String; 2], out: &mut dyn Write) -> Result<()> {
    let cells = cells.map(|text| cell(&text)).concat();
    let name = styled(&left(name, NAME), FAINT);
    Ok(writeln!(out, "{name}{}", cells.trim_end())?)
}

fn cell(text: &str) -> String {
    left(&clipped_middle(text, COLUMN - 2), COLUMN)
}
