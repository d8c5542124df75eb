//! The machine's load and the programs' figures: what `breakeven monitor` draws as lines,
//! and prints with `--once`.

mod bar;
mod cpu;
mod gpu;
mod program;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::VecDeque;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use breakeven::hardware::Fact;
use breakeven::hardware::sensors::{ClockLimit, GpuReading, Reading};
use breakeven_judge::page::figures::plural;
use breakeven_profile::{machine, unit};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use serde::Serialize;
use unicode_width::UnicodeWidthChar as _;

use crate::engine::programs::{ProgramReading, ProgramsReading, UnreadProgram};

/// Readings that the sparklines show.
const KEPT: usize = 256;

/// The displayed data: the last reading, and the use before it.
pub(crate) struct Load {
    /// The processor's name and its cores.
    pub(crate) machine: String,
    /// Time between two readings.
    pub(crate) interval: Duration,
    pub(crate) last: Option<Reading>,
    /// The programs that publish, or the attached one.
    pub(crate) programs: ProgramsReading,
    /// The attached process: its figures come first and complete.
    pub(crate) attached: Option<u32>,
    /// The CPU's use, the newest first.
    cpu: VecDeque<Fact<f64>>,
    /// The use of every GPU by its address, in the order of detection.
    gpus: Vec<(String, VecDeque<Fact<f64>>)>,
}

impl Load {
    pub(crate) fn new(machine: String, interval: Duration, attached: Option<u32>) -> Self {
        Self {
            machine,
            interval,
            last: None,
            programs: ProgramsReading::default(),
            attached,
            cpu: VecDeque::new(),
            gpus: Vec::new(),
        }
    }

    /// The processor's name, and its cores.
    pub(crate) fn machine_here() -> String {
        let cpu = machine::cpu(Path::new("/"));
        let model = cpu.model.as_deref().unwrap_or("unknown processor");
        let cores = cpu.logical_cores.unwrap_or(1);
        match cpu.usable_cores.filter(|&usable| usable < cores as f64) {
            Some(usable) => format!("{model}, {usable} of {cores} cores usable"),
            None => format!("{model}, {}", plural(cores, "core")),
        }
    }

    /// Adds a reading.
    pub(crate) fn take(&mut self, reading: Reading, programs: ProgramsReading) {
        let keep = |curve: &mut VecDeque<_>, used| {
            curve.push_front(used);
            curve.truncate(KEPT);
        };
        keep(&mut self.cpu, reading.cpu.used);
        for gpu in &reading.gpus {
            let address = address(gpu);
            let index = match self.gpus.iter().position(|(known, _)| *known == address) {
                Some(index) => index,
                None => {
                    self.gpus.push((address, VecDeque::new()));
                    self.gpus.len() - 1
                }
            };
            keep(&mut self.gpus[index].1, gpu.load.gpu_use);
        }
        self.last = Some(reading);
        self.programs = programs;
    }

    /// The view, at most `width` columns wide.
    pub(crate) fn lines(&self, width: usize) -> Vec<Line<'static>> {
        let Some(reading) = &self.last else {
            return vec![Line::from("reading the sensors …")];
        };
        let mut machine = self.of_machine(reading, width);
        let mut programs = program::lines(&self.programs, self.attached, width);
        let lines = match self.attached {
            Some(_) => {
                // A blank line separates the two.
                programs.remove(0);
                programs.push(Line::default());
                programs.append(&mut machine);
                programs
            }
            None => {
                machine.append(&mut programs);
                machine
            }
        };
        lines.into_iter().map(|line| fit(line, width)).collect()
    }

    /// The reading as JSON: the machine's, and `programs`.
    pub(crate) fn document(&self) -> impl Serialize {
        Document {
            reading: self.last.as_ref(),
            programs: &self.programs.programs,
            programs_left_out: &self.programs.left_out,
            programs_beyond: self.programs.beyond,
        }
    }

    fn of_machine(&self, reading: &Reading, width: usize) -> Vec<Line<'static>> {
        let mut lines = cpu::lines(&self.machine, &reading.cpu, &self.cpu, width);
        for gpu in &reading.gpus {
            let address = address(gpu);
            let curve = self.gpus.iter().find(|(known, _)| *known == address);
            lines.push(Line::default());
            let empty = VecDeque::new();
            let curve = curve.map_or(&empty, |(_, curve)| curve);
            lines.extend(gpu::lines(gpu, curve, width));
        }
        if let Some(seconds) = reading.nvml_silent_s {
            lines.push(Line::default());
            let silent = unit::time(seconds * 1e9);
            let text = format!("NVIDIA's driver has not answered for {silent}");
            lines.push(Line::styled(text, Style::from(Color::Red)));
        } else if reading.gpus.is_empty() {
            lines.push(Line::default());
            let why = "no GPU whose driver reports its load (NVML, amdgpu, i915, xe)";
            lines.push(Line::styled(why, dim()));
        }
        lines
    }
}

/// A reading as JSON.
#[derive(Serialize)]
struct Document<'r> {
    #[serde(flatten)]
    reading: Option<&'r Reading>,
    programs: &'r [ProgramReading],
    programs_left_out: &'r [UnreadProgram],
    programs_beyond: usize,
}

/// Prints the view as wide as the terminal.
pub(crate) fn print(load: &Load, out: &mut dyn Write) -> Result<()> {
    for line in load.lines(crate::print::width()) {
        let text: String = line.iter().map(|span| &*span.content).collect();
        writeln!(out, "{}", text.trim_end())?;
    }
    Ok(())
}

/// What identifies a GPU from reading to reading.
fn address(gpu: &GpuReading) -> String {
    gpu.load.pci.to_string()
}

/// The text in at most `width` columns; a longer one ends in `…`.
fn cut(text: &str, width: usize) -> String {
    fit(Line::from(text.to_owned()), width).to_string()
}

/// The line in at most `width` columns; a longer one ends in `…`.
fn fit(line: Line<'static>, width: usize) -> Line<'static> {
    if line.width() <= width {
        return line;
    }
    let Some(mut left) = width.checked_sub(1) else {
        return Line::default();
    };
    let mut spans = Vec::new();
    for span in line.spans {
        let fits = |c: &char| {
            let columns = c.width().unwrap_or(0);
            let rest = left.checked_sub(columns);
            left = rest.unwrap_or(left);
            rest.is_some()
        };
        let mut text: String = span.content.chars().take_while(fits).collect();
        let is_whole = text.len() == span.content.len();
        if !is_whole {
            text.push('…');
        }
        spans.push(Span::styled(text, span.style));
        if !is_whole {
            break;
        }
    }
    Line {
        spans,
        style: line.style,
        alignment: line.alignment,
    }
}

fn dim() -> Style {
    Style::from(Modifier::DIM)
}

/// The heading of a device.
fn heading(name: &str, text: String) -> Line<'static> {
    let name = Span::styled(name.to_owned(), Style::from(Modifier::BOLD));
    Line::from(vec![name, Span::raw("  "), Span::raw(text)])
}

/// A reading with its unit, or `unknown`.
fn text_of<T>(fact: &Fact<T>, text: impl FnOnce(&T) -> String) -> String {
    fact.known().map_or_else(|| "unknown".to_owned(), text)
}

/// `61 °C · 45 W · 2.40 GHz`: the known figures, and which are unknown.
fn figures(known: &[(&str, Option<String>)]) -> Vec<Span<'static>> {
    let figures = known.iter().filter_map(|(_, figure)| figure.clone());
    let mut text = figures.collect::<Vec<_>>().join(" · ");
    let missing: Vec<_> = (known.iter())
        .filter(|(_, figure)| figure.is_none())
        .map(|(name, _)| *name)
        .collect();
    let mut spans = Vec::new();
    if !missing.is_empty() && !text.is_empty() {
        text.push_str(" · ");
    }
    spans.push(Span::raw(text));
    if !missing.is_empty() {
        spans.push(Span::styled(
            format!("unknown: {}", missing.join(", ")),
            dim(),
        ));
    }
    spans
}

/// Figures and the reasons of throttling, on a separate line if there is no room.
fn with_limits(
    figures: Vec<Span<'static>>,
    limits: &Fact<Vec<ClockLimit>>,
    width: usize,
) -> Vec<Line<'static>> {
    let slowing = limits.known().into_iter().flatten();
    let slowing = slowing.filter(|limit| limit.slows());
    let slowing: Vec<_> = slowing.map(|limit| limit.name()).collect();
    let mut line = Line::from(figures);
    if slowing.is_empty() {
        return vec![line];
    }
    let text = format!("slowed by: {}", slowing.join(", "));
    let why = Span::styled(text, Style::from(Color::Yellow));
    if line.width() + 3 + why.width() > width {
        return vec![line, Line::from(why)];
    }
    line.push_span(" · ");
    line.push_span(why);
    vec![line]
}

fn hz(hz: f64) -> String {
    format!("{:.2} GHz", hz / 1e9)
}

fn watts(watts: f64) -> String {
    format!("{watts:.0} W")
}
