//! Every figure of an operation, a row each: `show` prints them as a table, as Markdown and as
//! CSV, and the page of `breakeven report` has them in its table.

use std::fmt::Display;
use std::iter;

use breakeven_profile::profile::Executions;
use breakeven_profile::stats::Summary;

use super::Row;
use crate::budget::{Held, Limited};
use crate::page::figures::Unit;
use crate::roofline::Roofline;

/// The name for complete calls.
pub(super) const CALL: &str = "call";

/// The name for the medians of the runs.
pub(super) const RUN_MEDIANS: &str = "run_medians";

/// What a line of figures is about.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct Line<'r> {
    /// The operation on its device.
    pub row: &'r Row,
    /// `call` for complete calls, `run_medians`, or the name of a phase.
    pub part: &'r str,
    /// The times, if there are any.
    pub summary: Option<&'r Summary>,
    /// The rates, if they belong to this line.
    pub rates: Option<&'r Roofline>,
}

/// A column.
#[must_use]
pub struct Column {
    /// Its name in the CSV and in the page's address.
    pub key: &'static str,
    /// Its place in the CSV, from 1; 0 if it is not there. A new one comes last, because scripts
    /// count columns.
    pub csv: u8,
    /// Its heading; empty if only the CSV has it.
    pub heading: &'static str,
    /// Explanation of the column.
    pub about: &'static str,
    /// Weight in a narrow terminal, of a recorded program and of a benchmark; 0 if it says nothing
    /// there.
    pub weights: [u8; 2],
    /// How to get its cell.
    pub cell: Cell,
}

/// How to get a cell.
#[derive(Clone, Copy)]
pub enum Cell {
    /// A number in a unit.
    Figure(Unit, fn(&Line<'_>) -> Option<f64>),
    /// A text.
    Word(fn(&Line<'_>) -> Option<String>),
}

const fn figure(
    key: &'static str,
    csv: u8,
    [heading, about]: [&'static str; 2],
    weights: [u8; 2],
    unit: Unit,
    value: fn(&Line<'_>) -> Option<f64>,
) -> Column {
    Column {
        key,
        csv,
        heading,
        about,
        weights,
        cell: Cell::Figure(unit, value),
    }
}

const fn word(key: &'static str, csv: u8, text: fn(&Line<'_>) -> Option<String>) -> Column {
    Column {
        key,
        csv,
        heading: "",
        about: "",
        weights: [0; 2],
        cell: Cell::Word(text),
    }
}

/// A figure that only the CSV has.
const NO_TABLE: [&str; 2] = [""; 2];

/// All columns, in the order of the tables.
#[rustfmt::skip]
pub static COLUMNS: [Column; 39] = [
    word("operation", 1, |line| Some(line.row.operation.clone())),
    word("device", 2, |line| Some(line.row.device.clone())),
    word("software_gpu", 3, |line| Some(line.row.software_gpu.to_string())),
    figure("size", 4, ["size", "elements in one call's input"], [0; 2], Unit::Count, |line| count(line.row.size)),
    word("part", 5, |line| Some(line.part.to_owned())),
    figure("runs", 6, ["runs", "processes that measured it"], [0; 2], Unit::Count, |line| Some(line.row.runs as f64)),
    figure("calls", 7, ["calls", "measured calls of all runs"], [90, 0], Unit::Count, |line| count(Some(line.summary?.count))),
    figure("total_ns", 32, ["total", "time of all calls"], [95, 0], Unit::Time, |line| Some(line.summary?.total)),
    figure("own_ns", 0, ["own", "time of all calls without that of the operations inside"], [85, 0], Unit::Time, |line| Some(line.timed()?.own_ns)),
    figure("share_of_total", 0, ["share", "fraction of the profile's time, of own times"], [92, 0], Unit::Share, |line| Some(line.timed()?.share_of_total)),
    figure("mean_ns", 8, ["mean", "mean time of a call"], [50, 95], Unit::Time, |line| Some(line.summary?.mean)),
    figure("deviation_ns", 9, ["± dev", "standard deviation of the calls"], [15, 70], Unit::Time, |line| line.summary?.deviation),
    figure("min_ns", 10, ["min", "shortest call"], [10, 30], Unit::Time, |line| Some(line.summary?.min)),
    figure("median_ns", 11, ["median", "median of the calls"], [45, 90], Unit::Time, |line| Some(line.summary?.median)),
    figure("p95_ns", 12, ["p95", "time that 95 % of the calls stay within"], [30, 40], Unit::Time, |line| Some(line.summary?.p95)),
    figure("p99_ns", 13, ["p99", "time that 99 % of the calls stay within"], [80, 15], Unit::Time, |line| Some(line.summary?.p99)),
    figure("max_ns", 14, ["max", "longest call"], [20, 35], Unit::Time, |line| Some(line.summary?.max)),
    figure("cv", 15, ["CV", "standard deviation as a fraction of the mean"], [25, 80], Unit::Share, |line| line.summary?.cv),
    figure("calls_per_s", 16, ["call/s", "calls per second at the mean"], [5, 20], Unit::PerS, |line| line.call()?.calls_per_s),
    figure("items_per_s", 17, NO_TABLE, [0; 2], Unit::PerS, |line| line.call()?.items_per_s),
    figure("memory_bytes", 0, ["memory", "memory that a call holds at its peak"], [75, 0], Unit::Bytes, |line| count(line.timed()?.memory_bytes)),
    figure("joules_per_call", 34, ["J/call", "energy of a call, idle power included"], [47, 75], Unit::Joules, |line| line.call()?.joules_per_call),
    figure("idle_joules_per_call", 35, NO_TABLE, [0; 2], Unit::Joules, |line| line.call()?.idle_joules_per_call),
    figure("gpu_use", 0, ["GPU use", "fraction of the GPU's units that a call keeps busy"], [70, 12], Unit::Share, |line| line.timed()?.gpu_use),
    figure("bytes_per_s", 18, ["bandwidth", "bytes per second at the median"], [40, 85], Unit::BytesPerS, |line| line.rates?.bytes_per_s),
    figure("bytes_share", 19, ["of peak", "bandwidth as a fraction of the device's measured peak"], [40, 85], Unit::OfPeak, |line| line.rates?.bytes_share),
    figure("flops_per_s", 20, ["arithmetic", "floating-point operations per second at the median"], [35, 86], Unit::FlopsPerS, |line| line.rates?.flops_per_s),
    figure("flops_share", 21, ["of peak", "arithmetic as a fraction of the device's measured peak"], [35, 86], Unit::OfPeak, |line| line.rates?.flops_share),
    figure("first_call_ns", 22, NO_TABLE, [0; 2], Unit::Time, |line| line.call()?.first_call_ns),
    figure("budget_ns", 23, NO_TABLE, [0; 2], Unit::Time, |line| Some(line.budget()?.max)),
    word("budget", 24, |line| Some(line.budget()?.standing.to_string())),
    word("failure", 25, |line| Some(line.call()?.failure.as_ref()?.to_string())),
    word("strategy", 26, |line| Some(line.executed()?.strategy().to_owned())),
    word("decided_by", 27, |line| Some(listed(line.executed()?.decisions(), ", "))),
    figure("gpu_tasks", 28, NO_TABLE, [0; 2], Unit::Count, |line| count(line.executed()?.gpu_tasks)),
    figure("predicted_ns", 29, NO_TABLE, [0; 2], Unit::Time, |line| line.executed()?.predicted_ns),
    figure("fallback_tasks", 30, NO_TABLE, [0; 2], Unit::Count, |line| count(line.executed()?.fallback_tasks())),
    word("device_errors", 31, |line| Some(line.executed()?.errors())),
    word("device_tasks", 33, |line| Some(listed(line.executed()?.device_tasks.iter().map(|(id, tasks)| (id, *tasks)), "; "))),
];

fn count(count: Option<u64>) -> Option<f64> {
    count.map(|count| count as f64)
}

/// `rule 1, model 22`.
fn listed<N: Display>(each: impl IntoIterator<Item = (N, u64)>, between: &str) -> String {
    let each = each
        .into_iter()
        .map(|(name, count)| format!("{name} {count}"));
    each.collect::<Vec<_>>().join(between)
}

impl Column {
    /// The cell as a number, if it is one.
    pub fn value(&self, line: &Line<'_>) -> Option<f64> {
        match self.cell {
            Cell::Figure(_, value) => value(line),
            Cell::Word(_) => None,
        }
    }

    /// The cell with its unit.
    pub fn text(&self, line: &Line<'_>) -> String {
        self.as_text(line, Unit::text)
    }

    /// The cell for the CSV: a number without its unit.
    pub fn plain(&self, line: &Line<'_>) -> String {
        self.as_text(line, |_, value| value.to_string())
    }

    pub(super) fn as_text(&self, line: &Line<'_>, text: fn(Unit, f64) -> String) -> String {
        let cell = match self.cell {
            Cell::Figure(unit, value) => value(line).map(|value| text(unit, value)),
            Cell::Word(word) => word(line),
        };
        cell.unwrap_or_default()
    }
}

impl Row {
    /// The lines of a table: complete calls, the medians of the runs, and each phase.
    pub fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        // Rates belong to the phase that computes: the kernel if there is one.
        let kernel = self.phases.iter().find(|(phase, _)| phase == "kernel");
        let computes = kernel.map_or(CALL, |(phase, _)| phase);
        let medians = self.between_runs.iter();
        let medians = medians.map(|medians| (RUN_MEDIANS, Some(medians)));
        let phases = self.phases.iter();
        let phases = phases.map(|(phase, summary)| (phase.as_str(), Some(summary)));
        let parts = iter::once((CALL, self.summary.as_ref())).chain(medians);
        parts.chain(phases).map(move |(part, summary)| Line {
            row: self,
            part,
            summary,
            rates: (part == computes).then_some(&self.roofline),
        })
    }

    /// The one line of a table without phases.
    pub fn line(&self) -> Line<'_> {
        Line {
            row: self,
            part: CALL,
            summary: self.summary.as_ref(),
            rates: Some(&self.roofline),
        }
    }
}

impl<'r> Line<'r> {
    fn call(&self) -> Option<&'r Row> {
        (self.part == CALL).then_some(self.row)
    }

    /// The operation, of complete calls with samples.
    fn timed(&self) -> Option<&'r Row> {
        self.summary.and(self.call())
    }

    fn budget(&self) -> Option<&'r Held> {
        let mut budgets = self.call()?.budgets.iter();
        budgets.find(|held| held.limited == Limited::Mean)
    }

    fn executed(&self) -> Option<&'r Executions> {
        self.call()?.executions.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::COLUMNS;

    #[test]
    fn each_place_of_the_csv_has_one_column() {
        let mut places: Vec<u8> = COLUMNS.iter().map(|column| column.csv).collect();
        places.retain(|place| *place > 0);
        places.sort_unstable();
        assert!(
            places.iter().copied().eq(1..=places.len() as u8),
            "{places:?}"
        );
    }
}
