//! Values far out, replaced.

use breakeven_profile::stats::median_in_place;

use super::noise::scale_of_differences;

/// Neighbours on each side that a value is held against.
const NEIGHBOURS: usize = 5;

/// Deviations from the medians of both sides beyond which a value lies far out.
const FAR: f64 = 3.5;

/// The series with each value that is far from the median of its predecessors and from
/// that of its successors replaced by the median of both together (after Hampel 1974, "The
/// influence curve and its role in robust estimation"). Beside a step, and where
/// neighbours resemble each other, a value is near those on one side at least.
pub(super) fn clean(values: &[f64]) -> Vec<f64> {
    let reach = FAR * scale_of_differences(values);
    if reach <= 0.0 {
        return values.to_vec();
    }
    let mut window = Vec::with_capacity(2 * NEIGHBOURS);
    let mut middle = |parts: [&[f64]; 2]| {
        window.clear();
        parts
            .into_iter()
            .for_each(|part| window.extend_from_slice(part));
        median_in_place(&mut window)
    };
    let cleaned = (0..values.len()).map(|at| {
        let before = &values[at.saturating_sub(NEIGHBOURS)..at];
        let behind = &values[at + 1..(at + 1 + NEIGHBOURS).min(values.len())];
        let value = values[at];
        let mut sides = [before, behind].into_iter();
        let is_far = sides
            .all(|side| middle([side, &[]]).is_none_or(|middle| (value - middle).abs() > reach));
        match middle([before, behind]) {
            Some(middle) if is_far => middle,
            _ => value,
        }
    });
    cleaned.collect()
}
