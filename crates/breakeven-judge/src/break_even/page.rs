//! The result of a sweep as a page: a table, a plot and a sentence.

use std::fmt;

use breakeven_profile::unit;

use super::{BreakEven, Point, Rival, Swept, Time, plot};
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
            page.blocks.extend(plot::of(self).map(Block::Picture));
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
        if rival.times.is_empty() {
            return format!("{device} was not measured together with the CPU");
        }
        let Some(break_even) = rival.break_even else {
            return format!("{device}: no values lie between these; the table compares them");
        };
        let between = match break_even {
            BreakEven::Unclear { not_before: None } => ":",
            _ => "",
        };
        let remedy = "measure longer, or try other values";
        let text = break_even.text(&self.over, rival.tried_to(), remedy);
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
