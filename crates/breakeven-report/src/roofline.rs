//! Achieved performance of operations compared with their devices' peaks, over arithmetic
//! intensity.

use breakeven_judge::page::figures::plural;
use breakeven_judge::page::shown;
use breakeven_profile::unit;
use serde_json::{Value, json};

use crate::Report;
use crate::operations::{label, pairs};
use crate::part::{MOST_NAME, Part, number};
use crate::sections;

/// Most operations drawn per device, those that use most of the time.
const MOST_DOTS: usize = 500;

/// Most devices.
const MOST_DEVICES: usize = 16;

/// None without measured peaks, or operations whose bytes and flops are known.
pub(crate) fn part(report: &Report<'_>) -> Option<Part> {
    let mut part = Part::new(sections::ROOFLINE);
    let mut data = Vec::new();
    for peak in report.profile.evidence.peaks.iter().take(MOST_DEVICES) {
        let Some(flops_per_s) = peak.flops_per_s.filter(|flops| *flops > 0.0) else {
            continue;
        };
        let cached = peak.memory.iter().map(|point| point.bytes_per_s);
        let cached = cached.reduce(f64::max);
        let roofs = [(cached, "best cache"), (peak.memory_bytes_per_s, "memory")];
        let mut roofs: Vec<(f64, &str)> = roofs
            .into_iter()
            .filter_map(|(rate, what)| Some((rate.filter(|rate| *rate > 0.0)?, what)))
            .collect();
        roofs.dedup_by(|a, b| a.0 == b.0);
        let mut dots: Vec<(f64, Value)> = pairs(report)
            .filter(|(row, _)| row.key.device == peak.device)
            .filter_map(|(row, operation)| {
                let (flops, bytes) = (operation.flops?, operation.bytes?);
                let achieved = row.roofline.flops_per_s.filter(|rate| *rate > 0.0)?;
                let intensity = flops as f64 / bytes as f64;
                let name = label(row);
                let share = |share: Option<f64>| {
                    share.map(|share: f64| format!(", {} of the peak", unit::percent(share)))
                };
                // What limits a kernel takes the place of the fractions of both peaks.
                let bound = row.roofline.bound.zip(row.roofline.bound_share);
                let share = |of_peak| share(of_peak).filter(|_| bound.is_none());
                let share = |of_peak| share(of_peak).unwrap_or_default();
                let bandwidth = row.roofline.bytes_per_s.map_or_else(String::new, |rate| {
                    let rate = unit::bytes_per_s(rate);
                    format!("\n{rate}{}", share(row.roofline.bytes_share))
                });
                let bound = bound.map_or_else(String::new, |(limit, share)| {
                    format!("\n{} of {limit}", unit::percent(share))
                });
                let text = format!(
                    "{name}\n{}{}{bandwidth}{bound}",
                    unit::flops_per_s(achieved),
                    share(row.roofline.flops_share),
                );
                let (x, y) = (number(intensity), number(achieved));
                let dot = json!({"name": name, "intensity": x, "flops_per_s": y, "text": text});
                (intensity.is_finite() && intensity > 0.0).then_some((row.own_ns, dot))
            })
            .collect();
        if dots.is_empty() || roofs.is_empty() {
            continue;
        }
        dots.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        dots.truncate(MOST_DOTS);
        let rates = roofs.iter().map(|(rate, what)| {
            let rate = unit::bytes_per_s(*rate);
            format!("{what} {rate}")
        });
        let finding = format!(
            "{}: {} under {} of arithmetic and {}, as measured",
            shown(&report.profile.device_label(&peak.device), MOST_NAME),
            plural(dots.len() as u64, "operation"),
            unit::flops_per_s(flops_per_s),
            rates.collect::<Vec<_>>().join(", "),
        );
        part.chart("roofline", data.len(), &finding);
        let roofs = roofs.into_iter().map(|(rate, what)| {
            let text = format!("{what} {}", unit::bytes_per_s(rate));
            json!({"bytes_per_s": number(rate), "text": text})
        });
        let dots = dots.into_iter().map(|(_, dot)| dot);
        data.push(json!({
            "roofs": roofs.collect::<Vec<_>>(),
            "flops_per_s": number(flops_per_s),
            "dots": dots.collect::<Vec<_>>(),
        }));
    }
    part.data(&data);
    (!data.is_empty()).then_some(part)
}
