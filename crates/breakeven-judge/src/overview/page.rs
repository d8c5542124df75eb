//! The main table: a block per operation, a line per device, and under a GPU a line per phase of a
//! call.

use breakeven_profile::profile::{CountedEnergy, Operation, Profile};
use breakeven_profile::stats::Summary;
use breakeven_profile::unit;

use super::{Overview, Row as Judged};
use crate::advise::CallsOf;
use crate::page::figures::{giga, joules, of, per_s, plural, share, time};
use crate::page::{Column, Page, Row, Table, Text, Tone};
use crate::roofline::Roofline;
use crate::winner::median;

/// Heads of the figures with their priority in narrow terminals: of a recorded program, and of a
/// benchmark.
const COLUMNS: [(&str, u8, u8); 18] = [
    ("calls", 90, 2),
    ("total", 95, 1),
    ("own", 85, 1),
    ("share", 92, 3),
    ("mean", 50, 95),
    ("± dev", 15, 70),
    ("min", 10, 30),
    ("median", 45, 90),
    ("p95", 30, 40),
    ("p99", 80, 15),
    ("max", 20, 35),
    ("CV", 25, 80),
    ("call/s", 5, 20),
    ("memory", 75, 10),
    ("J/call", 47, 75),
    ("GPU use", 70, 12),
    ("GB/s", 40, 85),
    ("GFLOP/s", 35, 86),
];

/// One line of figures.
#[derive(Default)]
struct Figures<'r> {
    summary: Option<&'r Summary>,
    /// The operation, if the line is about complete calls.
    whole: Option<&'r Judged>,
    rates: Roofline,
}

impl Figures<'_> {
    fn cells(&self, of_program: bool) -> [Text; COLUMNS.len()] {
        let figure = |field: fn(&Summary) -> Option<f64>, text: fn(f64) -> String| {
            of(self.summary.and_then(field), text)
        };
        let whole = self.whole.filter(|_| self.summary.is_some());
        let program = whole.filter(|_| of_program);
        let gpu_use = whole.and_then(|row| row.gpu_use);
        [
            of(program.map(|row| row.calls as f64), unit::count),
            of(program.map(|row| row.total_ns), time),
            of(program.map(|row| row.own_ns), time),
            of(program.map(|row| row.share_of_total), share),
            figure(|s| Some(s.mean), time),
            figure(|s| s.deviation, time),
            figure(|s| Some(s.min), time),
            figure(|s| Some(s.median), time),
            figure(|s| Some(s.p95), time),
            figure(|s| Some(s.p99), time),
            figure(|s| Some(s.max), time),
            figure(|s| s.cv, share),
            of(whole.and_then(|row| row.calls_per_s), per_s),
            program
                .and_then(|row| row.memory_bytes)
                .map_or_else(String::new, unit::bytes)
                .into(),
            of(whole.and_then(|row| row.joules_per_call), joules),
            of(gpu_use, share),
            giga(self.rates.bytes_per_s, self.rates.bytes_share).into(),
            giga(self.rates.flops_per_s, self.rates.flops_share).into(),
        ]
    }
}

impl Overview {
    /// Adds the table of the operations of `profile`, which `self` was computed from.
    pub fn add_to(&self, page: &mut Page, profile: &Profile) {
        let rows = &self.rows;
        if rows.is_empty() {
            return page.say("the profile holds no operations");
        }
        let of_program = CallsOf::in_profile(profile) != CallsOf::Benchmark;
        let columns = COLUMNS.map(|(head, program, benchmark)| {
            Column::figures(head, if of_program { program } else { benchmark })
        });
        page.table(Table {
            groups: "operation".to_owned(),
            columns: [Column::words("", Column::KEPT)]
                .into_iter()
                .chain(columns)
                .collect(),
            rows: rows
                .iter()
                .flat_map(|row| lines(profile, row, of_program))
                .collect(),
        });
        if rows.iter().any(|row| row.roofline.bytes_share.is_some()) {
            page.aside(
                "GB/s and GFLOP/s at the median, with the fraction of the device's measured peak",
            );
        }
        if let Some(counters) = counters(profile) {
            page.aside(counters);
        }
    }
}

/// Which counters measured the energy of calls, and the idle power in it; `None` without energy.
fn counters(profile: &Profile) -> Option<String> {
    let energies = profile.operations.iter().filter_map(Operation::energy);
    let mut all = Vec::<(String, Vec<f64>)>::new();
    for CountedEnergy {
        of,
        how,
        covers,
        idle_watts,
        ..
    } in energies.flat_map(|energy| energy.counters)
    {
        let covers = covers.map_or_else(String::new, |covers| format!(" ({covers})"));
        let counter = format!("{} by {how}{covers}", profile.device_label(&of));
        let known = all.iter().position(|(known, _)| *known == counter);
        let known = known.unwrap_or_else(|| {
            all.push((counter, Vec::new()));
            all.len() - 1
        });
        all[known].1.extend(idle_watts);
    }
    let each = all.into_iter().map(|(counter, idle)| {
        let idle = median(idle.into_iter());
        counter + &idle.map_or_else(String::new, |watts| format!(", {watts:.1} W idle"))
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| {
        let each = each.join("; ");
        format!("J/call by all available counters, idle power included: {each}")
    })
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
    let line = |name: Text, figures: Figures<'_>| Row {
        group: row.title(),
        cells: [name]
            .into_iter()
            .chain(figures.cells(of_program))
            .collect(),
        notes: Vec::new(),
    };
    let mut lines = Vec::new();
    // On a GPU these are the kernel's rates, printed a few lines below.
    let kernel = row.phases.iter().any(|(phase, _)| phase == "kernel");
    let figures = Figures {
        summary: row.summary.as_ref(),
        whole: Some(row),
        rates: if kernel {
            Roofline::default()
        } else {
            row.roofline
        },
    };
    let mut first = line(profile.device_label(&row.key.device).into(), figures);
    if let Some(recorded) = row.recording_share.filter(|_| row.mostly_recording) {
        let what = format!(
            "{} of it is the recorder's overhead: excluded from the verdicts",
            share(recorded)
        );
        first.notes.push(Text::new(what, Tone::Warning));
    }
    if let Some(failure) = &row.failure {
        let what = format!("failed: {failure}");
        first.notes.push(Text::new(what, Tone::Bad));
    }
    lines.push(first);
    let part = |name: String, summary, rates| {
        let (summary, whole) = (Some(summary), None);
        line(
            name.into(),
            Figures {
                summary,
                whole,
                rates,
            },
        )
    };
    if let Some(medians) = row.between_runs.as_ref().filter(|_| !of_program) {
        let name = format!("  medians of {}", plural(medians.count, "run"));
        lines.push(part(name, medians, Roofline::default()));
    }
    let gpu = profile.gpu(&row.key.device);
    let host_clock = gpu.is_some_and(|gpu| gpu.kernel_clock.as_deref() == Some("host"));
    for (phase, summary) in &row.phases {
        let (name, rates) = match phase.as_str() {
            "kernel" if host_clock => ("  kernel (host clock)".to_owned(), row.roofline),
            "kernel" => ("  kernel".to_owned(), row.roofline),
            other => (format!("  {other}"), Roofline::default()),
        };
        lines.push(part(name, summary, rates));
    }
    if let Some(first) = row.first_call_ns {
        let mut line = line(Text::new("  first call", Tone::Faint), Figures::default());
        let mean = 1 + COLUMNS
            .iter()
            .position(|(head, ..)| *head == "mean")
            .unwrap_or(0);
        line.cells[mean] = Text::new(time(first), Tone::Faint);
        lines.push(line);
    }
    lines
}
