//! Every figure of an operation, a row each: `show` prints them as a table, as Markdown and as
//! CSV, and the page of `breakeven report` has them in its table.

use std::fmt::Display;
use std::iter;

use breakeven_profile::profile::Executions;
use breakeven_profile::stats::Summary;

use Cell::{Figure, Word};

use super::Row;
use crate::budget::{Held, Limited};
use crate::page::figures::Unit;
use crate::roofline::Roofline;

/// The name for complete calls.
pub(super) const CALL: &str = "call";

/// The name for the medians of the runs.
pub(super) const RUN_MEDIANS: &str = "run_medians";

/// The key of the bandwidth's fraction of the peak.
pub(super) const BYTES_SHARE: &str = "bytes_share";

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

/// A column that only the CSV has.
const CSV: Column = Column {
    key: "",
    csv: 0,
    heading: "",
    about: "",
    weights: [0; 2],
    cell: Cell::Word(|_| None),
};

/// All columns, in the order of the tables.
#[rustfmt::skip]
pub static COLUMNS: [Column; 41] = [
    Column { key: "operation", csv: 1, cell: Word(|line| Some(line.row.key.name.clone())), ..CSV },
    Column { key: "device", csv: 2, cell: Word(|line| Some(line.row.key.device.clone())), ..CSV },
    Column { key: "software_gpu", csv: 3, cell: Word(|line| Some(line.row.software_gpu.to_string())), ..CSV },
    Column { key: "size", csv: 4, heading: "size", about: "elements in one call's input", weights: [0; 2], cell: Figure(Unit::Count, |line| count(line.row.key.size)) },
    Column { key: "part", csv: 5, cell: Word(|line| Some(line.part.to_owned())), ..CSV },
    Column { key: "runs", csv: 6, heading: "runs", about: "processes that measured it", weights: [0; 2], cell: Figure(Unit::Count, |line| Some(line.row.runs as f64)) },
    Column { key: "calls", csv: 7, heading: "calls", about: "measured calls of all runs", weights: [90, 0], cell: Figure(Unit::Count, |line| count(Some(line.summary?.count))) },
    Column { key: "total_ns", csv: 32, heading: "total", about: "time of all calls", weights: [95, 0], cell: Figure(Unit::Time, |line| Some(line.summary?.total)) },
    Column { key: "own_ns", csv: 0, heading: "own", about: "time of all calls without that of the operations inside", weights: [85, 0], cell: Figure(Unit::Time, |line| Some(line.timed()?.own_ns)) },
    Column { key: "share_of_total", csv: 0, heading: "share", about: "fraction of the profile's time, of own times", weights: [92, 0], cell: Figure(Unit::Share, |line| Some(line.timed()?.share_of_total)) },
    Column { key: "mean_ns", csv: 8, heading: "mean", about: "mean time of a call", weights: [50, 95], cell: Figure(Unit::Time, |line| Some(line.summary?.mean)) },
    Column { key: "deviation_ns", csv: 9, heading: "± dev", about: "standard deviation of the calls", weights: [15, 70], cell: Figure(Unit::Time, |line| line.summary?.deviation) },
    Column { key: "min_ns", csv: 10, heading: "min", about: "shortest call", weights: [10, 30], cell: Figure(Unit::Time, |line| Some(line.summary?.min)) },
    Column { key: "median_ns", csv: 11, heading: "median", about: "median of the calls", weights: [45, 90], cell: Figure(Unit::Time, |line| Some(line.summary?.median)) },
    Column { key: "p95_ns", csv: 12, heading: "p95", about: "time that 95 % of the calls stay within", weights: [30, 40], cell: Figure(Unit::Time, |line| Some(line.summary?.p95)) },
    Column { key: "p99_ns", csv: 13, heading: "p99", about: "time that 99 % of the calls stay within", weights: [80, 15], cell: Figure(Unit::Time, |line| Some(line.summary?.p99)) },
    Column { key: "max_ns", csv: 14, heading: "max", about: "longest call", weights: [20, 35], cell: Figure(Unit::Time, |line| Some(line.summary?.max)) },
    Column { key: "cv", csv: 15, heading: "CV", about: "standard deviation as a fraction of the mean", weights: [25, 80], cell: Figure(Unit::Share, |line| line.summary?.cv) },
    Column { key: "calls_per_s", csv: 16, heading: "call/s", about: "calls per second at the mean", weights: [5, 20], cell: Figure(Unit::PerS, |line| line.call()?.calls_per_s) },
    Column { key: "items_per_s", csv: 17, cell: Figure(Unit::PerS, |line| line.call()?.items_per_s), ..CSV },
    Column { key: "memory_bytes", csv: 0, heading: "memory", about: "memory that a call holds at its peak", weights: [75, 0], cell: Figure(Unit::Bytes, |line| count(line.timed()?.memory_bytes)) },
    Column { key: "joules_per_call", csv: 34, heading: "J/call", about: "energy of a call, idle power included", weights: [47, 75], cell: Figure(Unit::Joules, |line| line.call()?.joules_per_call) },
    Column { key: "idle_joules_per_call", csv: 35, cell: Figure(Unit::Joules, |line| line.call()?.idle_joules_per_call), ..CSV },
    Column { key: "gpu_use", csv: 0, heading: "GPU use", about: "fraction of the GPU's units that a call keeps busy", weights: [70, 12], cell: Figure(Unit::Share, |line| line.timed()?.gpu_use) },
    Column { key: "bytes_per_s", csv: 18, heading: "bandwidth", about: "bytes per second at the median", weights: [40, 85], cell: Figure(Unit::BytesPerS, |line| line.rates?.bytes_per_s) },
    Column { key: BYTES_SHARE, csv: 19, heading: "of peak", about: "bandwidth as a fraction of the device's measured peak", weights: [40, 85], cell: Figure(Unit::OfPeak, |line| line.rates?.bytes_share) },
    Column { key: "flops_per_s", csv: 20, heading: "arithmetic", about: "floating-point operations per second at the median", weights: [35, 86], cell: Figure(Unit::FlopsPerS, |line| line.rates?.flops_per_s) },
    Column { key: "flops_share", csv: 21, heading: "of peak", about: "arithmetic as a fraction of the device's measured peak", weights: [35, 86], cell: Figure(Unit::OfPeak, |line| line.rates?.flops_share) },
    Column { key: "bound", csv: 36, cell: Word(|line| Some(line.rates?.bound?.to_string())), ..CSV },
    Column { key: "bound_share", csv: 37, cell: Figure(Unit::Share, |line| line.rates?.bound_share), ..CSV },
    Column { key: "first_call_ns", csv: 22, cell: Figure(Unit::Time, |line| line.call()?.first_call_ns), ..CSV },
    Column { key: "budget_ns", csv: 23, cell: Figure(Unit::Time, |line| Some(line.budget()?.max)), ..CSV },
    Column { key: "budget", csv: 24, cell: Word(|line| Some(line.budget()?.standing.to_string())), ..CSV },
    Column { key: "failure", csv: 25, cell: Word(|line| Some(line.call()?.failure.as_ref()?.to_string())), ..CSV },
    Column { key: "strategy", csv: 26, cell: Word(|line| Some(line.executed()?.strategy().to_owned())), ..CSV },
    Column { key: "decided_by", csv: 27, cell: Word(|line| Some(listed(line.executed()?.decisions(), ", "))), ..CSV },
    Column { key: "gpu_tasks", csv: 28, cell: Figure(Unit::Count, |line| count(line.executed()?.gpu_tasks)), ..CSV },
    Column { key: "predicted_ns", csv: 29, cell: Figure(Unit::Time, |line| line.executed()?.predicted_ns), ..CSV },
    Column { key: "fallback_tasks", csv: 30, cell: Figure(Unit::Count, |line| count(line.executed()?.fallback_tasks())), ..CSV },
    Column { key: "device_errors", csv: 31, cell: Word(|line| Some(line.executed()?.errors())), ..CSV },
    Column { key: "device_tasks", csv: 33, cell: Word(|line| Some(listed(line.executed()?.device_tasks.iter().map(|(id, tasks)| (id, *tasks)), "; "))), ..CSV },
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
            Figure(_, value) => value(line),
            Word(_) => None,
        }
    }

    /// The cell, with a number's text by `text`; empty if there is none.
    pub fn text(&self, line: &Line<'_>, text: fn(Unit, f64) -> String) -> String {
        let cell = match self.cell {
            Figure(unit, value) => value(line).map(|value| text(unit, value)),
            Word(word) => word(line),
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
