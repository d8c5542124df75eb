//! The machine's load while a profile was measured: use, memory, temperature, power and clocks of
//! each device, and the reasons of throttled clocks.

use breakeven_judge::page::figures::{of, plural, share};
use breakeven_judge::page::{Column, Page, Row, Table};
use breakeven_judge::{LoadFigures, load_figures};
use breakeven_profile::profile::Level;
use breakeven_profile::unit;

use super::Report;

/// Heads of the figures with their priority in narrow terminals.
const COLUMNS: [(&str, u8); 7] = [
    ("use", 100),
    ("others", 95),
    ("memory", 30),
    ("°C", 90),
    ("W", 80),
    ("GHz", 85),
    ("limited", 92),
];

pub(super) fn add(report: &Report, page: &mut Page) {
    let all = load_figures(&report.profile.load);
    if all.is_empty() {
        return;
    }
    page.heading("Machine while measuring");
    let columns = std::iter::once(Column::words("device", Column::KEPT));
    page.table(Table {
        columns: columns
            .chain(COLUMNS.map(|(head, wanted)| Column::figures(head, wanted)))
            .collect(),
        rows: all.iter().map(|figures| row(report, figures)).collect(),
        ..Table::default()
    });
    for figures in all.iter().filter(|figures| !figures.reasons.is_empty()) {
        let reasons = figures.reasons.iter();
        let reasons: Vec<String> = reasons
            .map(|(reason, part)| format!("{reason} in {} of the readings", share(*part)))
            .collect();
        let device = report.label(&figures.device);
        let reasons = reasons.join(", ");
        page.say(format!("{device}: clocks were throttled by: {reasons}"));
    }
    let readings = all.iter().map(|figures| figures.readings).max();
    let recorded = all.iter().map(|figures| figures.recorded_ns).max();
    page.aside(format!(
        "{} over {}",
        plural(readings.unwrap_or(0), "reading"),
        unit::time(recorded.unwrap_or(0) as f64)
    ));
    page.aside(
        "others: the fraction of the cores that other programs used; GHz: the mean clock while \
         the device was in use, else of all readings; limited: the fraction of the readings in \
         which something lowered the clocks",
    );
}

fn row(report: &Report, figures: &LoadFigures) -> Row {
    let label = report.label(&figures.device);
    let device = match &figures.name {
        Some(name) => format!("{label} {name}"),
        None => label,
    };
    let mean =
        |level: Option<Level>, text: fn(f64) -> String| of(level.map(|level| level.mean), text);
    let clock = figures.clock_hz.map(|level| level.mean);
    Row::new([
        device.into(),
        mean(figures.used, share),
        mean(figures.other_used, share),
        mean(figures.memory_bytes, bytes),
        mean(figures.temperature_celsius, |celsius| {
            format!("{celsius:.0}")
        }),
        mean(figures.power_watts, watts),
        of(figures.busy_clock_hz.or(clock), |hz| {
            format!("{:.2}", hz / 1e9)
        }),
        of(figures.limited, share),
    ])
}

#[expect(clippy::cast_sign_loss, reason = "memory in use is not negative")]
fn bytes(bytes: f64) -> String {
    unit::bytes(bytes.round() as u64).replace(' ', "")
}

fn watts(watts: f64) -> String {
    match watts {
        watts if watts.abs() < 9.95 => format!("{watts:.1}"),
        watts => format!("{watts:.0}"),
    }
}
