//! The processors.

use std::collections::VecDeque;

use breakeven::hardware::Fact;
use breakeven::hardware::sensors::CpuReading;
use breakeven_judge::page::clean;
use breakeven_judge::page::figures::share;
use breakeven_profile::unit;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

use super::bar::{curve, height, rest_width, row};
use super::{dim, figures, heading, hz, text_of, watts, with_limits};

pub(super) fn lines(
    machine: &str,
    cpu: &CpuReading,
    before: &VecDeque<Fact<f64>>,
    width: usize,
) -> Vec<Line<'static>> {
    let rest = rest_width(width);
    let mut lines = vec![
        heading("cpu", clean(machine)),
        row("use", cpu.used.get(), curve(before, rest), width),
        memory(cpu.memory_used_bytes, cpu.memory_total_bytes, width),
    ];
    let state = figures(&[
        (
            "temperature",
            cpu.temperature_celsius
                .get()
                .map(|celsius| format!("{celsius:.0} °C")),
        ),
        ("power", cpu.power_watts.get().map(watts)),
        ("clock", cpu.clock_hz().get().map(hz)),
    ]);
    lines.extend(with_limits(state, &cpu.limits, width));
    let queue = text_of(&cpu.run_queue_per_core, |queue| {
        format!("{queue:.1} threads")
    });
    let pressure = text_of(&cpu.pressure, |share_of| share(*share_of));
    let waits = format!("waiting for a core: {queue} per core, {pressure} of the last 10 s");
    lines.push(Line::from(waits));
    // With two cores, the total says enough.
    if cpu.cores.len() > 2 {
        lines.extend(cores(cpu, width));
    }
    lines
}

/// Memory of a device.
pub(super) fn memory(used: Fact<u64>, total: Fact<u64>, width: usize) -> Line<'static> {
    let share = used.get().zip(total.get().filter(|&total| total > 0));
    let share = share.map(|(used, total)| used as f64 / total as f64);
    let bytes = |fact: Fact<u64>| text_of(&fact, |bytes| unit::bytes(*bytes));
    let text = format!("{} of {}", bytes(used), bytes(total));
    row("memory", share, vec![Span::raw(text)], width)
}

/// A column per core, in rows of as many as fit.
fn cores(cpu: &CpuReading, width: usize) -> Vec<Line<'static>> {
    let digits = cpu.cores.len().to_string().len();
    let per_row = width.saturating_sub(digits + 1).clamp(1, 64);
    let rows = cpu.cores.chunks(per_row);
    let rows = rows.map(|cores| {
        let first = cores.first().map_or(0, |core| core.number);
        let columns = cores.iter().map(|core| core.used.get().map_or(' ', height));
        Line::from(vec![
            Span::styled(format!("{first:>digits$} "), dim()),
            Span::styled(columns.collect::<String>(), Style::from(Color::Cyan)),
        ])
    });
    rows.collect()
}
