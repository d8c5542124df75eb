//! The devices' activity in a trace: busy and idle, overlap, copies, launches.

use breakeven_judge::page::figures::{giga, share, time};
use breakeven_judge::page::{Page, Row};
use breakeven_profile::profile::{Activity, Copies};
use breakeven_profile::unit;

use super::{Report, figures, grouped};

pub(super) fn add(report: &Report, page: &mut Page) {
    let all = &report.profile.activity;
    if all.is_empty() {
        return;
    }
    page.heading("Devices over the trace");
    let rows = all.iter().flat_map(|activity| times(report, activity));
    page.table(figures("device", "", ["time", "part"], rows));
    page.aside(
        "busy: at least one activity; idle: none; compute, communication: at least one such \
         kernel; copies: at least one copy or fill. Fractions are of the span. hidden by compute: \
         while a kernel computed, as a fraction of the line above.",
    );
    let heads = ["count", "total", "bytes", "mean size", "GB/s"];
    let rows = all.iter().flat_map(|activity| {
        let label = report.label(&activity.device);
        let all = activity.copies.iter();
        all.map(move |copies| grouped(&label, copies_cells(copies)))
    });
    page.table(figures("device", "copies", heads, rows));
    launches(report, page);
}

/// A fraction, unknown of nothing.
fn fraction(part: u64, of: u64) -> String {
    match of {
        0 => unit::UNKNOWN.to_owned(),
        of => share(part as f64 / of as f64),
    }
}

fn times(report: &Report, activity: &Activity) -> Vec<Row> {
    let label = report.label(&activity.device);
    let row = |name: &str, ns: u64, part: String| {
        grouped(&label, [name.to_owned(), time(ns as f64), part])
    };
    let of_span = |name, ns| row(name, ns, fraction(ns, activity.span_ns));
    let mut rows = vec![
        row("span", activity.span_ns, String::new()),
        of_span("busy", activity.busy_ns),
        of_span("idle", activity.idle_ns()),
        of_span("compute", activity.compute_ns),
    ];
    let hidden = activity.communication_overlap_ns;
    for (name, ns, hidden) in [
        ("communication", activity.communication_ns, hidden),
        ("copies", activity.copy_ns, activity.copy_overlap_ns),
    ] {
        if ns > 0 {
            let hidden = row("  hidden by compute", hidden, fraction(hidden, ns));
            rows.extend([of_span(name, ns), hidden]);
        }
    }
    rows
}

fn copies_cells(copies: &Copies) -> [String; 6] {
    let bytes = |bytes: Option<u64>| bytes.map_or_else(String::new, unit::bytes);
    let mean = copies
        .bytes
        .and_then(|bytes| bytes.checked_div(copies.count));
    [
        copies.direction.clone(),
        unit::count(copies.count as f64),
        time(copies.total_ns as f64),
        bytes(copies.bytes),
        bytes(mean),
        copies.bytes_per_s().map_or_else(String::new, giga),
    ]
}

fn launches(report: &Report, page: &mut Page) {
    let rows = report.profile.activity.iter().filter_map(|activity| {
        let launches = activity.launches.as_ref()?;
        let shorter = fraction(launches.shorter, launches.kernels);
        Some(Row::new([
            report.label(&activity.device),
            unit::count(launches.calls as f64),
            time(launches.call_total_ns as f64),
            time(launches.call_median_ns),
            time(launches.delay_median_ns),
            time(launches.delay_max_ns as f64),
            format!("{} {shorter}", unit::count(launches.shorter as f64)),
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
    page.table(figures("", "launches", heads, rows));
}
