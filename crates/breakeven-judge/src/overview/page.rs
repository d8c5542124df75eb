//! The main table: a block per operation, a line per device, and under a GPU a line per phase of a
//! call.

use std::iter;

use breakeven_profile::profile::{CountedEnergy, Operation, Profile};
use breakeven_profile::stats::Summary;

use super::columns::{BYTES_SHARE, CALL, COLUMNS, Cell, Column, Line, RUN_MEDIANS};
use super::{Overview, Row as Judged};
use crate::advise::CallsOf;
use crate::page::figures::{Unit, plural, share, time};
use crate::page::{self, Page, Row, Table, Text, Tone};
use crate::roofline::Roofline;

/// The columns for a recorded program, or for a benchmark.
fn shown(of_program: bool) -> impl Iterator<Item = (&'static Column, u8)> {
    let weight = move |column: &'static Column| (column, column.weights[usize::from(!of_program)]);
    COLUMNS.iter().map(weight).filter(|(_, weight)| *weight > 0)
}

/// True for a fraction of a peak, which stands in the cell of its rate.
fn is_of_peak(column: &Column) -> bool {
    matches!(column.cell, Cell::Figure(Unit::OfPeak, _))
}

fn cells(line: &Line<'_>, of_program: bool) -> Vec<Text> {
    let mut cells: Vec<Text> = Vec::new();
    for (column, _) in shown(of_program) {
        // A program's calls are counted once, not per phase.
        let is_shown = line.part == CALL || column.weights[1] > 0;
        let bound = line.rates.filter(|_| is_of_peak(column));
        let bound = bound.and_then(Roofline::of_bound);
        let text = match bound {
            // What limits a kernel stands once, by its bandwidth.
            Some(bound) if column.key == BYTES_SHARE => bound,
            Some(_) => String::new(),
            None if is_shown => column.text(line, Unit::narrow),
            None => String::new(),
        };
        match cells.last_mut().filter(|_| is_of_peak(column)) {
            Some(_) if text.is_empty() => {}
            Some(rate) => rate.text = format!("{} {text}", rate.text),
            None => cells.push(text.into()),
        }
    }
    cells
}

impl Overview {
    /// Adds the table of the operations of `profile`, which `self` was computed from.
    pub fn add_to(&self, page: &mut Page, profile: &Profile) {
        let rows = &self.rows;
        if rows.is_empty() {
            return page.say("the profile holds no operations");
        }
        let of_program = CallsOf::in_profile(profile) != CallsOf::Benchmark;
        let columns = shown(of_program).filter(|(column, _)| !is_of_peak(column));
        let columns = columns.map(|(column, weight)| match column.cell {
            Cell::Figure(Unit::BytesPerS, _) => page::Column::figures("GB/s", weight),
            Cell::Figure(Unit::FlopsPerS, _) => page::Column::figures("GFLOP/s", weight),
            _ => page::Column::figures(column.heading, weight),
        });
        page.table(Table {
            groups: "operation".to_owned(),
            columns: iter::once(page::Column::words("", page::Column::KEPT))
                .chain(columns)
                .collect(),
            rows: rows
                .iter()
                .flat_map(|row| lines(profile, row, of_program))
                .collect(),
        });
        if rows.iter().any(|row| row.roofline.bytes_share.is_some()) {
            let of_peak =
                "GB/s and GFLOP/s at the median, with the fraction of the device's measured peak";
            page.aside(match rows.iter().any(|row| row.roofline.bound.is_some()) {
                true => format!("{of_peak}, or of the resource that limits the kernel"),
                false => of_peak.to_owned(),
            });
        }
        if let Some(counters) = counters(profile) {
            page.aside(counters);
        }
    }
}

/// Which counters measured the energy of calls; `None` without energy.
fn counters(profile: &Profile) -> Option<String> {
    let energies = profile.operations.iter().filter_map(Operation::energy);
    let mut all = Vec::<String>::new();
    for CountedEnergy {
        of, how, covers, ..
    } in energies.flat_map(|energy| energy.counters)
    {
        let covers = covers.map_or_else(String::new, |covers| format!(" ({covers})"));
        let counter = format!("{} by {how}{covers}", profile.device_label(&of));
        if !all.contains(&counter) {
            all.push(counter);
        }
    }
    let all = all.join("; ");
    (!all.is_empty())
        .then(|| format!("J/call by all available counters, idle power included: {all}"))
}

impl Judged {
    /// What is measured: the operation and its workload or size.
    pub fn title(&self) -> Text {
        let size = self.key.size.map(|size| format!("size {size}"));
        let title = match self.workload.clone().or(size) {
            Some(about) => format!("{} · {about}", self.key.name),
            None => self.key.name.clone(),
        };
        Text::new(title, Tone::Strong)
    }
}

fn lines(profile: &Profile, row: &Judged, of_program: bool) -> Vec<Row> {
    let line = |name: Text, cells: Vec<Text>| Row {
        group: row.title(),
        cells: iter::once(name).chain(cells).collect(),
        notes: Vec::new(),
    };
    // Equal if each run has one call.
    let count = |summary: Option<&Summary>| summary.map(|summary| summary.count);
    let gpu = profile.gpu(&row.key.device);
    let host_clock = gpu.is_some_and(|gpu| gpu.kernel_clock.as_deref() == Some("host"));
    let parts = row.lines().filter_map(|part| {
        let name = match part.part {
            CALL => profile.device_label(&row.key.device),
            RUN_MEDIANS if of_program || count(part.summary) == count(row.summary.as_ref()) => {
                return None;
            }
            RUN_MEDIANS => format!("  medians of {}", plural(part.summary?.count, "run")),
            "kernel" if host_clock => "  kernel (host clock)".to_owned(),
            phase => format!("  {phase}"),
        };
        Some(line(name.into(), cells(&part, of_program)))
    });
    let mut lines: Vec<Row> = parts.collect();
    if let Some(recorded) = row.recording_share.filter(|_| row.mostly_recording) {
        let what = format!(
            "{} of it is the recorder's overhead: excluded from the verdicts",
            share(recorded)
        );
        lines[0].notes.push(Text::new(what, Tone::Warning));
    }
    if let Some(failure) = &row.failure {
        let what = format!("failed: {failure}");
        lines[0].notes.push(Text::new(what, Tone::Bad));
    }
    if let Some(first) = row.first_call_ns {
        let columns = shown(of_program).filter(|(column, _)| !is_of_peak(column));
        let cells = columns.map(|(column, _)| match column.key {
            "mean_ns" => Text::new(time(first), Tone::Faint),
            _ => Text::default(),
        });
        let name = Text::new("  first call", Tone::Faint);
        lines.push(line(name, cells.collect()));
    }
    lines
}
