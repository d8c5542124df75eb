//! The result of a sweep as a page: a table, a plot and a sentence.

use std::fmt;

use breakeven_profile::unit;

use super::{BreakEven, Point, Rival, Swept, Time};
use crate::page::figures::{time, times};
use crate::page::{Block, Column, Page, Row, Table, Text, Tone, WIDTH};

impl Swept {
    /// The page: table, plot, failures and remarks, and what was found. `label` names a device.
    pub fn page(
        &self,
        label: impl Fn(&str) -> String,
        remarks: impl IntoIterator<Item = Text>,
    ) -> Page {
        let mut page = Page::default();
        page.heading(format!("{} over {}", self.name, self.over));
        if self.interrupted {
            let text = "interrupted: these are the times measured so far";
            page.say(Text::new(text, Tone::Bad));
        }
        if self.points.is_empty() {
            page.say("nothing was measured");
        } else {
            page.table(self.table(&label));
            page.blocks.extend(plot(self).map(Block::Picture));
        }
        let count = |value: u64| unit::count(value as f64);
        for point in &self.points {
            for time in &point.times {
                if let Some(failure) = &time.failure {
                    let (device, over, value) =
                        (label(&time.device), &self.over, count(point.value));
                    let text = format!("{device} failed at {over} {value}: {failure}");
                    page.say(Text::new(text, Tone::Bad));
                }
            }
        }
        if !self.not_measured.is_empty() && !self.interrupted {
            let values: Vec<String> = self.not_measured.iter().map(|size| count(*size)).collect();
            let (over, values) = (&self.over, values.join(", "));
            let text = format!("not measured, for lack of time for three rounds: {over} {values}");
            page.say(Text::new(text, Tone::Warning));
        }
        remarks.into_iter().for_each(|remark| page.say(remark));
        for rival in self.rivals.iter().filter(|_| !self.points.is_empty()) {
            let text = self.answer(rival, &label(&rival.device));
            page.say(Text::new(text, Tone::Strong));
        }
        page
    }

    fn table(&self, label: &dyn Fn(&str) -> String) -> Table {
        let mut columns = vec![Column::figures(self.over.as_str(), Column::KEPT)];
        let has_elements = self
            .points
            .iter()
            .any(|point| point.elements != point.value);
        columns.extend(has_elements.then(|| Column::figures("elements", 1)));
        for (index, device) in self.devices.iter().enumerate() {
            columns.push(Column::figures(label(device), Column::KEPT));
            columns.extend((index > 0).then(|| Column::figures("of the CPU's", 2)));
        }
        Table {
            columns,
            rows: (self.points.iter().map(|point| point.row(has_elements))).collect(),
            ..Table::default()
        }
    }

    /// The size from which the device pays, in a sentence that calls it `device`.
    pub fn answer(&self, rival: &Rival, device: &str) -> String {
        let over = &self.over;
        if rival.times.is_empty() {
            return format!("{device} was not measured together with the CPU");
        }
        let Some(break_even) = rival.break_even else {
            let pays = self.points.iter().filter(|point| {
                let own = point.times.iter().find(|time| time.device == rival.device);
                let times = own.and_then(|own| own.median_ns);
                (times.zip(point.times[0].median_ns)).is_some_and(|(own, cpu)| own < cpu)
            });
            let pays: Vec<String> = pays.map(|point| unit::count(point.value as f64)).collect();
            return match pays.is_empty() {
                true => format!("{device} is slower than the CPU at every {over}"),
                false => format!(
                    "{device} is faster than the CPU at {over} {}",
                    pays.join(", ")
                ),
            };
        };
        let wider = match break_even {
            // It may pay from the smallest value on.
            BreakEven::Unclear { not_before: None } if rival.pays_at_last() => "smaller",
            _ => "larger",
        };
        let between = match break_even {
            BreakEven::Unclear { not_before: None } => ":",
            _ => "",
        };
        let remedy = format!("try more rounds, or {wider} values");
        let text = break_even.text(over, rival.tried_to(), &remedy);
        format!("{device}{between} {text}")
    }
}

impl fmt::Display for Swept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        let page = self.page(str::to_owned, []);
        page.text(WIDTH, false, &mut text).map_err(|_| fmt::Error)?;
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

impl Point {
    /// A value and its times; for a device other than the CPU also the ratio to the CPU's.
    fn row(&self, has_elements: bool) -> Row {
        let of = |device: &Time| match device.median_ns {
            Some(ns) => time(ns),
            None if device.failure.is_some() => "failed".to_owned(),
            None => "–".to_owned(),
        };
        let mut cells = vec![Text::from(unit::count(self.value as f64))];
        cells.extend(has_elements.then(|| unit::count(self.elements as f64).into()));
        let Some((cpu, others)) = self.times.split_first() else {
            return Row::new(cells);
        };
        cells.push(of(cpu).into());
        for device in others {
            let both = device.median_ns.zip(cpu.median_ns);
            let ratio = both.map(|(own, cpu)| own / cpu);
            let tone = match ratio {
                Some(ratio) if ratio < 1.0 => Tone::Good,
                _ => Tone::Faint,
            };
            let ratio = ratio.map_or_else(String::new, |ratio| format!("{} ×", times(ratio)));
            cells.extend([of(device), ratio].map(|text| Text::new(text, tone)));
        }
        Row::new(cells)
    }
}

const PLOT_WIDTH: usize = 70;
const PLOT_HEIGHT: usize = 14;

/// Letters of the devices, the CPU's first.
const MARKS: [char; 7] = ['c', 'g', 'h', 'i', 'j', 'k', 'l'];

/// The range of one axis, as logarithms.
struct Axis {
    low: f64,
    high: f64,
    cells: usize,
}

impl Axis {
    /// None if there are no values, or all are equal.
    fn of(values: impl Iterator<Item = f64>, cells: usize) -> Option<Self> {
        let logs: Vec<f64> = values.filter(|value| *value > 0.0).map(f64::ln).collect();
        let low = logs.iter().copied().reduce(f64::min)?;
        let high = logs.iter().copied().reduce(f64::max)?;
        (high > low).then_some(Self { low, high, cells })
    }

    #[expect(clippy::cast_sign_loss, reason = "from 0 to the last cell")]
    fn cell(&self, value: f64) -> usize {
        let part = (value.ln() - self.low) / (self.high - self.low);
        (part.clamp(0.0, 1.0) * (self.cells - 1) as f64).round() as usize
    }

    fn value(&self, cell: usize) -> f64 {
        let part = cell as f64 / (self.cells - 1) as f64;
        (self.low + part * (self.high - self.low)).exp()
    }
}

/// Draws the points; nothing with fewer than two values.
fn plot(swept: &Swept) -> Option<Vec<String>> {
    let values = swept.points.iter().map(|point| point.value as f64);
    let devices = swept.devices.len().min(MARKS.len());
    let times = swept.points.iter().flat_map(|point| {
        point.times[..devices]
            .iter()
            .filter_map(|time| time.median_ns)
    });
    let (x, y) = (Axis::of(values, PLOT_WIDTH)?, Axis::of(times, PLOT_HEIGHT)?);
    let mut cells = vec![[' '; PLOT_WIDTH]; PLOT_HEIGHT];
    for rival in &swept.rivals {
        if let Some(BreakEven::From { size, .. }) = rival.break_even {
            let column = x.cell(size);
            cells.iter_mut().for_each(|row| row[column] = '┊');
        }
    }
    for point in &swept.points {
        for (time, mark) in point.times.iter().zip(MARKS) {
            if let Some(ns) = time.median_ns {
                let cell = &mut cells[PLOT_HEIGHT - 1 - y.cell(ns)][x.cell(point.value as f64)];
                *cell = if *cell == ' ' || *cell == '┊' {
                    mark
                } else {
                    '*'
                };
            }
        }
    }
    let mut lines = Vec::new();
    for (index, row) in cells.iter().enumerate() {
        let row: String = row.iter().collect();
        let level = PLOT_HEIGHT - 1 - index;
        // The ends and the middle.
        let label = match level {
            0 | 7 | 13 => time(y.value(level)),
            _ => String::new(),
        };
        lines.push(format!("{label:>8} │{}", row.trim_end()));
    }
    lines.push(format!("{:8} └{}", "", "─".repeat(PLOT_WIDTH)));
    let (first, last) = (x.value(0).round(), x.value(PLOT_WIDTH - 1).round());
    let (first, last) = (unit::count(first), unit::count(last));
    let rest = PLOT_WIDTH - first.len();
    lines.push(format!("{:10}{first}{last:>rest$}", ""));
    let marks = swept.devices.iter().zip(MARKS);
    lines.extend(marks.map(|(device, mark)| format!("{:10}{mark} {device}", "")));
    let signs = [('*', "several"), ('┊', "break-even")];
    let drawn = signs
        .into_iter()
        .filter(|(sign, _)| cells.iter().flatten().any(|cell| cell == sign));
    lines.extend(drawn.map(|(sign, what)| format!("{:10}{sign} {what}", "")));
    Some(lines)
}
