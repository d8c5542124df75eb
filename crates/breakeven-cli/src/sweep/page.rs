//! Prints the result of a sweep: words, figures and a plot.

use std::io::Write;

use anyhow::Result;
use breakeven::hardware::HardwareCapabilities;
use breakeven_judge::break_even::BreakEven;
use breakeven_judge::page::figures::{time, times};
use breakeven_judge::page::{Block, Column, Page, Row, Table, Text, Tone};
use breakeven_profile::profile::{self, Device};
use breakeven_profile::unit;
use serde::Serialize;

use crate::engine::session::Session;
use crate::sweep::args::SweepFormat;
use crate::sweep::{Found, Point, Rival, Time};

/// Prints the result in the requested format.
pub(crate) fn write(
    found: &Found,
    session: &Session,
    hardware: &HardwareCapabilities,
    format: SweepFormat,
    out: &mut dyn Write,
) -> Result<()> {
    match format {
        SweepFormat::Table => crate::print::print(&page(found, session, hardware), out),
        SweepFormat::Json => write_json(found, session, out),
        SweepFormat::Csv => write_csv(found, out),
    }?;
    Ok(out.flush()?)
}

fn page(found: &Found, session: &Session, hardware: &HardwareCapabilities) -> Page {
    let mut page = Page::default();
    page.heading(format!("{} over {}", found.kernel, found.over));
    if session.profile.interrupted {
        let text = "interrupted: these are the times measured so far";
        page.say(Text::new(text, Tone::Bad));
    }
    if found.points.is_empty() {
        page.say("nothing was measured");
        return page;
    }
    let heads = [found.over.name(), "elements", "cpu"];
    let gpus = found.devices.iter().skip(1);
    let gpus = gpus.flat_map(|device| {
        [
            Column::figures(session.profile.device_label(device), Column::KEPT),
            Column::figures("of the CPU's", 2),
        ]
    });
    page.table(Table {
        columns: (heads.into_iter())
            .map(|head| Column::figures(head, if head == "elements" { 1 } else { Column::KEPT }))
            .chain(gpus)
            .collect(),
        rows: found.points.iter().map(row).collect(),
        ..Table::default()
    });
    page.blocks
        .extend(crate::sweep::plot::of(found).map(Block::Picture));
    for point in &found.points {
        for time in &point.times {
            if let Some(failure) = &time.failure {
                let text = format!(
                    "{} failed at {} {}: {failure}",
                    session.profile.device_label(&time.device),
                    found.over,
                    unit::count(point.value as f64)
                );
                page.say(Text::new(text, Tone::Bad));
            }
        }
    }
    session.unsupported().for_each(|what| page.aside(what));
    for note in &session.notes {
        page.say(Text::new(note, Tone::Bad));
    }
    for rival in &found.rivals {
        let text = format!(
            "{} {}",
            session.profile.device_label(&rival.device),
            answer(found, rival)
        );
        page.say(Text::new(text, Tone::Strong));
    }
    if found.rivals.is_empty() {
        page.aside("no GPU was measured, so there is no break-even");
        // There are GPUs, but only the CPU was requested.
        for absent in hardware.absent.iter().filter(|_| hardware.gpus.is_empty()) {
            page.aside(absent.to_string());
        }
    }
    page
}

/// A value and its times; for a GPU also the ratio to the CPU's.
fn row(point: &Point) -> Row {
    let of = |device: &Time| match device.median_ns {
        Some(ns) => time(ns),
        None if device.failure.is_some() => "failed".to_owned(),
        None => "–".to_owned(),
    };
    let cpu = &point.times[0];
    let mut cells = vec![
        unit::count(point.value as f64).into(),
        unit::count(point.elements as f64).into(),
        Text::from(of(cpu)),
    ];
    for device in &point.times[1..] {
        let both = device.median_ns.zip(cpu.median_ns);
        let ratio = both.map(|(gpu, cpu)| gpu / cpu);
        let tone = match ratio {
            Some(ratio) if ratio < 1.0 => Tone::Good,
            _ => Tone::Faint,
        };
        let ratio = ratio.map_or_else(String::new, |ratio| format!("{} ×", times(ratio)));
        cells.extend([of(device), ratio].map(|text| Text::new(text, tone)));
    }
    Row::new(cells)
}

/// The value from which the device pays.
fn answer(found: &Found, rival: &Rival) -> String {
    let over = found.over;
    if rival.times.is_empty() {
        return "was not measured".to_owned();
    }
    let count = |value: f64| unit::count(value.round());
    let Some(break_even) = rival.break_even else {
        let pays = found.points.iter().filter(|point| {
            let own = point.times.iter().find(|time| time.device == rival.device);
            let times = own.and_then(|own| own.median_ns);
            (times.zip(point.times[0].median_ns)).is_some_and(|(gpu, cpu)| gpu < cpu)
        });
        let pays: Vec<String> = pays.map(|point| count(point.value as f64)).collect();
        return match pays.is_empty() {
            true => format!("is slower than the CPU at every {over}"),
            false => format!("is faster than the CPU at {over} {}", pays.join(", ")),
        };
    };
    let largest = rival.times.last().map_or(f64::NAN, |times| times.size);
    let wider = match break_even {
        // It may pay from the smallest value on.
        BreakEven::Unclear { not_before: None } if rival.pays_at_last() => "a smaller --from",
        _ => "a larger --to",
    };
    let remedy = format!("try more --rounds, or {wider}");
    break_even.text(over.name(), largest, &remedy)
}

/// The result as JSON.
#[derive(Serialize)]
struct Document<'f> {
    kernel: &'f str,
    over: &'f str,
    interrupted: bool,
    points: &'f [Point],
    break_even: Vec<JsonBreakEven<'f>>,
    evidence: &'f [profile::BreakEven],
}

/// In values of the swept quantity; `evidence` has elements.
#[derive(Serialize)]
struct JsonBreakEven<'f> {
    device: &'f str,
    over_device: &'static str,
    /// `from`, `always`, `never`, `within`, `unclear` or, if no values lie between those measured,
    /// `fixed`.
    answer: &'static str,
    value: Option<f64>,
    /// The 95 % interval of `value`; for `within`, the first and the last value at which it pays.
    interval: Option<[f64; 2]>,
    tried_to: f64,
}

fn write_json(found: &Found, session: &Session, out: &mut dyn Write) -> Result<()> {
    let break_even = found.rivals.iter().map(|rival| {
        let (answer, value, interval) = match rival.break_even {
            None => ("fixed", None, None),
            Some(BreakEven::From { size, interval }) => ("from", Some(size), Some(interval)),
            Some(BreakEven::Always { tried_from }) => ("always", Some(tried_from), None),
            Some(BreakEven::Never { .. }) => ("never", None, None),
            Some(BreakEven::Within { smallest, largest }) => {
                ("within", None, Some([smallest, largest]))
            }
            Some(BreakEven::Unclear { not_before }) => ("unclear", not_before, None),
        };
        JsonBreakEven {
            device: &rival.device,
            over_device: Device::CPU,
            answer,
            value,
            interval,
            tried_to: rival.times.last().map_or(0.0, |times| times.size),
        }
    });
    let document = Document {
        kernel: found.kernel,
        over: found.over.name(),
        interrupted: session.profile.interrupted,
        points: &found.points,
        break_even: break_even.collect(),
        evidence: &session.profile.evidence.break_even,
    };
    crate::print::document(&document, out)
}

fn write_csv(found: &Found, out: &mut dyn Write) -> Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record([
        "kernel",
        "over",
        "value",
        "elements",
        "device",
        "rounds",
        "median_ns",
        "min_ns",
        "max_ns",
        "cpu_ratio",
        "failure",
    ])?;
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    for point in &found.points {
        for time in &point.times {
            let (rounds, median) = (&time.rounds_ns, time.median_ns);
            if rounds.is_empty() && time.failure.is_none() {
                continue;
            }
            let ratio = median.zip(point.times[0].median_ns);
            csv.write_record([
                found.kernel.to_owned(),
                found.over.name().to_owned(),
                point.value.to_string(),
                point.elements.to_string(),
                time.device.clone(),
                rounds.len().to_string(),
                number(median),
                number(rounds.iter().copied().reduce(f64::min)),
                number(rounds.iter().copied().reduce(f64::max)),
                number(ratio.map(|(own, cpu)| own / cpu)),
                (time.failure.as_ref()).map_or_else(String::new, ToString::to_string),
            ])?;
        }
    }
    csv.flush()?;
    Ok(())
}
