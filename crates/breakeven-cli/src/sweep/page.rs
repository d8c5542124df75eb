//! Prints the result of a sweep: words and figures.

use std::io::Write;

use anyhow::Result;
use breakeven_judge::break_even::{BreakEven, Point, Swept};
use breakeven_judge::page::{Page, Text, Tone};
use breakeven_profile::profile::{self, Device};
use serde::Serialize;

use super::Measured;
use crate::sweep::{SweepArgs, SweepFormat};

/// What stands for the size in a command.
pub(super) const SIZE: &str = "{n}";

/// Prints the result in the requested format.
pub(super) fn write(args: &SweepArgs, measured: &Measured, out: &mut dyn Write) -> Result<()> {
    match args.format {
        SweepFormat::Table => crate::print::print(&page(measured), out),
        SweepFormat::Json => write_json(args, measured, out),
        SweepFormat::Csv => write_csv(args, &measured.swept, out),
    }?;
    Ok(out.flush()?)
}

pub(super) fn page(measured: &Measured) -> Page {
    let (swept, session) = (&measured.swept, &measured.session);
    let faint = |text: String| Text::new(text, Tone::Faint);
    let unsupported = session.unsupported().map(faint);
    let notes = session.notes.iter().map(|note| Text::new(note, Tone::Bad));
    let remark = measured.remark.map(|remark| faint(remark.to_owned()));
    let mut page = swept.page(
        |device| session.profile.device_label(device),
        unsupported.chain(notes).chain(remark),
    );
    if swept.rivals.is_empty() && !swept.points.is_empty() {
        let hardware = &measured.machine.hardware;
        page.aside("no GPU was measured, so there is no break-even");
        // There are GPUs, but only the CPU was requested.
        for absent in hardware.absent.iter().filter(|_| hardware.gpus.is_empty()) {
            page.aside(absent.to_string());
        }
    }
    page
}

/// The result as JSON.
#[derive(Serialize)]
struct Document<'f> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<&'f str>,
    /// The commands of the CPU and the GPU, with their name.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'f str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commands: Option<[&'f str; 2]>,
    over: &'f str,
    interrupted: bool,
    points: &'f [Point],
    /// Values for which the time limit left no time.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    not_measured: &'f [u64],
    break_even: Vec<JsonBreakEven<'f>>,
    evidence: &'f [profile::BreakEven],
}

/// In values of the swept quantity; `evidence` has elements. No answer if no values lie between
/// those measured.
#[derive(Serialize)]
struct JsonBreakEven<'f> {
    device: &'f str,
    over_device: &'static str,
    #[serde(flatten)]
    break_even: Option<BreakEven>,
}

fn write_json(args: &SweepArgs, measured: &Measured, out: &mut dyn Write) -> Result<()> {
    let (found, session) = (&measured.swept, &measured.session);
    let break_even = found.rivals.iter().map(|rival| JsonBreakEven {
        device: &rival.device,
        over_device: Device::CPU,
        break_even: rival.break_even,
    });
    let document = Document {
        kernel: args.kernel,
        name: args.cpu.as_ref().map(|_| &*found.name),
        commands: args
            .cpu
            .as_deref()
            .zip(args.gpu.as_deref())
            .map(<[&str; 2]>::from),
        over: &found.over,
        interrupted: session.profile.interrupted,
        points: &found.points,
        not_measured: &found.not_measured,
        break_even: break_even.collect(),
        evidence: &session.profile.evidence.break_even,
    };
    crate::print::document(&document, out)
}

fn write_csv(args: &SweepArgs, found: &Swept, out: &mut dyn Write) -> Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record([
        args.kernel.map_or("name", |_| "kernel"),
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
                found.name.clone(),
                found.over.clone(),
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
