//! Plots time over value in the terminal, both logarithmic.

use breakeven_profile::unit;

use super::{BreakEven, Swept};
use crate::page::figures::time;

const WIDTH: usize = 70;
const HEIGHT: usize = 14;

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
pub(super) fn of(swept: &Swept) -> Option<Vec<String>> {
    let values = swept.points.iter().map(|point| point.value as f64);
    let devices = swept.devices.len().min(MARKS.len());
    let times = swept.points.iter().flat_map(|point| {
        point.times[..devices]
            .iter()
            .filter_map(|time| time.median_ns)
    });
    let (x, y) = (Axis::of(values, WIDTH)?, Axis::of(times, HEIGHT)?);
    let mut cells = vec![[' '; WIDTH]; HEIGHT];
    for rival in &swept.rivals {
        if let Some(BreakEven::From { size, .. }) = rival.break_even {
            let column = x.cell(size);
            cells.iter_mut().for_each(|row| row[column] = '┊');
        }
    }
    for point in &swept.points {
        for (time, mark) in point.times.iter().zip(MARKS) {
            if let Some(ns) = time.median_ns {
                let cell = &mut cells[HEIGHT - 1 - y.cell(ns)][x.cell(point.value as f64)];
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
        let level = HEIGHT - 1 - index;
        // The ends and the middle.
        let label = match level {
            0 | 7 | 13 => time(y.value(level)),
            _ => String::new(),
        };
        lines.push(format!("{label:>8} │{}", row.trim_end()));
    }
    lines.push(format!("{:8} └{}", "", "─".repeat(WIDTH)));
    let (first, last) = (x.value(0).round(), x.value(WIDTH - 1).round());
    let (first, last) = (unit::count(first), unit::count(last));
    let rest = WIDTH - first.len();
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
