//! Values far out, replaced.

use breakeven_profile::stats::median_in_place;

/// Fewest values on each side of a change: fewer cannot be distinguished from outliers.
pub const SHORTEST_SEGMENT: usize = 3;

/// Neighbours on each side that a value is held against.
const NEIGHBOURS: usize = 5;

/// Values on a side whose noise counts there if it is clearly more than elsewhere.
const LOCAL: usize = 15;

/// What is clearly more: values that lie far out look like noise, too.
const CLEARLY: f64 = 2.0;

/// Deviations from the medians of both sides beyond which a value lies far out.
const FAR: f64 = 3.5;

/// The series with each value that is far from the median of its predecessors and from
/// that of its successors replaced by the median of both together (after Hampel 1974, "The
/// influence curve and its role in robust estimation"). Next to a step, and if neighbours
/// resemble each other, a value is near those on one side at least. At an end of the series
/// the values of a shortest segment are one level only if they all agree.
pub(super) fn clean(values: &[f64]) -> Vec<f64> {
    let count = values.len();
    let wide = LOCAL.min(count);
    let reach = FAR * scale_of_differences(values);
    if reach <= 0.0 {
        return values.to_vec();
    }
    let ends = [
        &values[..SHORTEST_SEGMENT.min(count)],
        &values[count.saturating_sub(SHORTEST_SEGMENT)..],
    ];
    let mut window = Vec::with_capacity(2 * NEIGHBOURS);
    let mut middle = |parts: [&[f64]; 2]| {
        window.clear();
        parts
            .into_iter()
            .for_each(|part| window.extend_from_slice(part));
        median_in_place(&mut window)
    };
    let cleaned = (0..count).map(|at| {
        let before = &values[at.saturating_sub(NEIGHBOURS)..at];
        let behind = &values[at + 1..(at + 1 + NEIGHBOURS).min(count)];
        let value = values[at];
        let local = [(at + 1).saturating_sub(wide), at.min(count - wide)]
            .map(|from| &values[from..from + wide]);
        let mut sides = [before, behind].into_iter().zip(ends).zip(local);
        let is_alone = sides.all(|((side, end), local)| {
            let is_far = |other: f64| {
                let off = (value - other).abs();
                off > reach && off > FAR / CLEARLY * scale_of_differences(local)
            };
            match side.len() + 1 < SHORTEST_SEGMENT {
                true => end.iter().any(|other| is_far(*other)),
                false => middle([side, &[]]).is_some_and(is_far),
            }
        });
        match middle([before, behind]) {
            Some(middle) if is_alone => middle,
            _ => value,
        }
    });
    cleaned.collect()
}

// How far neighbours of a series differ.

/// Deviation of a normal variable whose absolute values have the median 1.
const BY_MEDIAN: f64 = 1.482_602_218_505_602;

/// Deviations beyond which a difference is drawn in.
const DRAWN_IN: f64 = 2.5;

/// E[min(|u|, 2.5)²] of a standard normal u.
const LEFT: f64 = 0.977_5;

/// Deviation of values that are independent and differ from their neighbours so: by the
/// median difference, then by the root mean square with what is far out drawn in. Steps
/// of the level touch it as little as single values do.
pub(super) fn scale_of_differences(values: &[f64]) -> f64 {
    let mut differences: Vec<f64> = (values.windows(2))
        .map(|pair| (pair[1] - pair[0]).abs())
        .collect();
    let count = differences.len().max(1) as f64;
    let first = BY_MEDIAN * median_in_place(&mut differences).unwrap_or(0.0);
    // More than half of the neighbours are equal: a clock of coarse steps.
    let (most, left) = match first > 0.0 {
        true => (DRAWN_IN * first, LEFT),
        false => (f64::INFINITY, 1.0),
    };
    let squares: f64 = differences.iter().map(|each| each.min(most).powi(2)).sum();
    (squares / count / left / 2.0).sqrt()
}
