//! The devices' activity in a trace: busy and idle, overlap, longest operations, copies, launches,
//! streams.

use breakeven_judge::Row as Judged;
use breakeven_judge::page::figures::{giga, plural, share, time};
use breakeven_judge::page::{Column, Page, Row, Table, Text, Tone};
use breakeven_profile::profile::{Activity, Copies};
use breakeven_profile::unit;

use super::Report;

/// Most listed operations per device.
const LISTED: usize = 20;

pub(super) fn add(report: &Report, page: &mut Page) {
    let all = &report.profile.activity;
    if all.is_empty() {
        return;
    }
    page.heading("Devices over the trace");
    let rows = all.iter().flat_map(|activity| times(report, activity));
    page.table(table("device", "", ["time", "part"], rows.collect()));
    page.aside(
        "busy: at least one activity; idle: none; compute, communication: at least one such \
         kernel; copies: at least one copy or fill. Fractions are of the span. hidden by compute: \
         while a kernel computed, as a fraction of the line above.",
    );
    for (at, activity) in all.iter().enumerate() {
        // A joined profile has a device once per trace, and its operations once.
        if all[..at]
            .iter()
            .all(|earlier| earlier.device != activity.device)
        {
            page.table(longest(report, activity));
        }
    }
    page.table(copies(report, all));
    page.table(launches(report, all));
    let several = all.iter().filter(|activity| activity.streams.len() > 1);
    page.table(streams(report, several));
}

fn table<'a>(
    groups: &str,
    head: &str,
    figures: impl IntoIterator<Item = &'a str>,
    rows: Vec<Row>,
) -> Table {
    let figures = figures.into_iter();
    Table {
        groups: groups.to_owned(),
        columns: std::iter::once(Column::words(head, Column::KEPT))
            .chain(figures.map(|head| Column::figures(head, 1)))
            .collect(),
        rows,
    }
}

/// A time, and its fraction of another.
fn part(ns: u64, of: u64) -> String {
    match ns {
        0 => String::new(),
        ns => format!("{} {}", time(ns as f64), fraction(ns, of)),
    }
}

fn fraction(ns: u64, of: u64) -> String {
    match of {
        0 => unit::UNKNOWN.to_owned(),
        of => share(ns as f64 / of as f64),
    }
}

fn times(report: &Report, activity: &Activity) -> Vec<Row> {
    let group = report.label(&activity.device);
    let row = |name: &str, ns: u64, part: String| Row {
        group: Text::new(group.clone(), Tone::Strong),
        ..Row::new([name.to_owned(), time(ns as f64), part])
    };
    let of_span = |name, ns| row(name, ns, fraction(ns, activity.span_ns));
    let hidden = |ns, of| row("  hidden by compute", ns, fraction(ns, of));
    let mut rows = vec![
        row("span", activity.span_ns, String::new()),
        of_span("busy", activity.busy_ns),
        of_span("idle", activity.idle_ns()),
        of_span("compute", activity.compute_ns),
    ];
    for (name, ns, overlap) in [
        (
            "communication",
            activity.communication_ns,
            activity.communication_overlap_ns,
        ),
        ("copies", activity.copy_ns, activity.copy_overlap_ns),
    ] {
        if ns > 0 {
            rows.extend([of_span(name, ns), hidden(overlap, ns)]);
        }
    }
    rows
}

fn longest(report: &Report, activity: &Activity) -> Table {
    // Ranges surround operations, and have no time of their own.
    let on_it = |row: &&Judged| row.key.device == activity.device && row.own_ns > 0.0;
    let mut ran: Vec<&Judged> = report.overview.rows.iter().filter(on_it).collect();
    ran.sort_by(|a, b| b.total_ns.total_cmp(&a.total_ns));
    let all: f64 = ran.iter().map(|row| row.total_ns).sum();
    let left = ran.len().saturating_sub(LISTED);
    let group = format!(
        "{}: {} ran",
        report.label(&activity.device),
        plural(activity.kernels, "kernel")
    );
    let line = |cells: [String; 4]| Row {
        group: Text::new(group.clone(), Tone::Strong),
        ..Row::new(cells)
    };
    let cells = |name: String, rows: &[&Judged]| {
        let calls = rows.iter().map(|row| row.calls as f64).sum::<f64>();
        let total: f64 = rows.iter().map(|row| row.total_ns).sum();
        let part = if all > 0.0 {
            share(total / all)
        } else {
            String::new()
        };
        line([name, unit::count(calls), time(total), part])
    };
    let mut rows: Vec<Row> = (ran.iter().take(LISTED))
        .map(|row| cells(row.key.name.clone(), &[row]))
        .collect();
    if left > 0 {
        rows.push(cells(
            format!("{} more", unit::count(left as f64)),
            &ran[LISTED..],
        ));
    }
    table("device", "", ["calls", "total", "share"], rows)
}

fn copies(report: &Report, all: &[Activity]) -> Table {
    let row = |device: &str, copies: &Copies| {
        let bytes = copies.bytes.map_or_else(String::new, unit::bytes);
        let each = copies
            .bytes
            .zip(Some(copies.count).filter(|count| *count > 0));
        let mean = each.map_or_else(String::new, |(bytes, count)| unit::bytes(bytes / count));
        Row {
            group: Text::new(report.label(device), Tone::Strong),
            ..Row::new([
                copies.direction.clone(),
                unit::count(copies.count as f64),
                time(copies.total_ns as f64),
                bytes,
                mean,
                giga(copies.bytes_per_s(), None),
            ])
        }
    };
    let rows = all.iter().flat_map(|activity| {
        let copies = activity.copies.iter();
        copies.map(|copies| row(&activity.device, copies))
    });
    let heads = ["count", "total", "bytes", "mean size", "GB/s"];
    table("device", "copies", heads, rows.collect())
}

fn launches(report: &Report, all: &[Activity]) -> Table {
    let rows = all.iter().filter_map(|activity| {
        let launches = activity.launches.as_ref()?;
        Some(Row::new([
            report.label(&activity.device),
            unit::count(launches.calls as f64),
            time(launches.call_total_ns as f64),
            time(launches.call_median_ns),
            time(launches.delay_median_ns),
            time(launches.delay_max_ns as f64),
            part_of(launches.shorter, launches.kernels),
        ]))
    });
    let heads = [
        "calls",
        "total",
        "median",
        "then waited",
        "at most",
        "shorter than call",
    ];
    table("", "launches", heads, rows.collect())
}

/// A count, and its fraction of another.
fn part_of(count: u64, of: u64) -> String {
    format!("{} {}", unit::count(count as f64), fraction(count, of))
}

fn streams<'a>(report: &Report, all: impl Iterator<Item = &'a Activity>) -> Table {
    let rows = all.flat_map(|activity| {
        let label = report.label(&activity.device);
        activity.streams.iter().map(move |stream| Row {
            group: Text::new(label.clone(), Tone::Strong),
            ..Row::new([
                format!("stream {}", stream.stream),
                unit::count(stream.kernels as f64),
                unit::count(stream.copies as f64),
                part(stream.busy_ns, activity.span_ns),
            ])
        })
    });
    table("device", "", ["kernels", "copies", "busy"], rows.collect())
}
