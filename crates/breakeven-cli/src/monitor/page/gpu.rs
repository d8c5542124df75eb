//! A GPU.

use std::collections::VecDeque;

use breakeven::hardware::Fact;
use breakeven::hardware::sensors::{GpuReading, GpuState};
use breakeven_judge::page::clean;
use breakeven_profile::unit;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

use super::bar::{curve, rest_width, row};
use super::cpu::memory;
use super::{dim, figures, heading, hz, text_of, watts, with_limits};

/// Most processes that are named; the rest is counted.
const MOST_PROCESSES: usize = 8;

pub(super) fn lines(
    gpu: &GpuReading,
    before: &VecDeque<Fact<f64>>,
    width: usize,
) -> Vec<Line<'static>> {
    let load = &gpu.load;
    let name = text_of(&load.name, |name| clean(name));
    let from = format!(
        "{name} ({}, {})",
        gpu.source.name(),
        clean(&load.pci.to_string())
    );
    let mut lines = vec![heading("gpu", from)];
    let silent;
    let state = match gpu.state {
        GpuState::Current => None,
        GpuState::Silent { seconds } => {
            silent = format!(
                "its driver has not answered for {}; these are its last figures",
                unit::time(seconds * 1e9)
            );
            Some(&*silent)
        }
        GpuState::Lost => Some("lost: its driver cannot reach it any more"),
    };
    if let Some(state) = state {
        lines.push(Line::styled(state.to_owned(), Style::from(Color::Red)));
    }
    if gpu.state == GpuState::Lost {
        return lines;
    }
    lines.push(row(
        "use",
        load.gpu_use.get(),
        curve(before, rest_width(width)),
        width,
    ));
    lines.push(memory(
        load.memory_used_bytes,
        load.memory_total_bytes,
        width,
    ));
    let of = |now: Fact<f64>, most: Fact<f64>, text: fn(f64) -> String| {
        let most = most.get().map(|most| format!(" of {}", text(most)));
        now.get().map(|now| text(now) + &most.unwrap_or_default())
    };
    let memory_clock = gpu
        .memory_clock_hz
        .get()
        .map(|clock| format!("memory {}", hz(clock)));
    let figures = figures(&[
        (
            "temperature",
            load.temperature_celsius
                .get()
                .map(|celsius| format!("{celsius} °C")),
        ),
        ("power", of(gpu.power_watts, gpu.power_limit_watts, watts)),
        ("clock", of(gpu.clock_hz, gpu.clock_max_hz, hz)),
        ("memory clock", memory_clock),
    ]);
    lines.extend(with_limits(figures, &gpu.limits, width));
    match gpu.processes.known() {
        None => lines.push(Line::styled("processes: unknown", dim())),
        Some(processes) => {
            for process in processes.iter().take(MOST_PROCESSES) {
                let name = text_of(&process.name, |name| clean(name));
                let bytes = text_of(&process.memory_bytes, |bytes| unit::bytes(*bytes));
                lines.push(Line::from(vec![
                    Span::styled(format!("{:>8} ", process.pid), dim()),
                    Span::raw(format!("{name}  {bytes}")),
                ]));
            }
            if processes.len() > MOST_PROCESSES {
                let more = processes.len() - MOST_PROCESSES;
                lines.push(Line::styled(format!("         and {more} more"), dim()));
            }
        }
    }
    lines
}
