//! Compares three operations before and after a change: by how much each
//! differs, and how sure that is once corrected for the number of comparisons.
//! Run it with `cargo run --example 04_statistics`.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use breakeven_profile::unit;
use breakeven_stats::{StatsError, benjamini_hochberg, log_ratio_test};

/// An operation with the median of each run, in ms, before and after the change.
const OPERATIONS: [(&str, [f64; 5], [f64; 5]); 3] = [
    // 10 % slower, and the runs hardly differ.
    (
        "decode",
        [8.02, 7.98, 8.05, 8.01, 7.99],
        [8.81, 8.79, 8.86, 8.80, 8.84],
    ),
    // The same, with noise.
    (
        "resize",
        [2.10, 1.95, 2.04, 2.20, 1.99],
        [2.08, 2.02, 1.97, 2.15, 2.06],
    ),
    // A quarter faster.
    (
        "encode",
        [40.1, 39.5, 40.8, 40.3, 39.9],
        [30.2, 29.9, 30.5, 29.7, 30.1],
    ),
];

fn main() -> Result<(), StatsError> {
    let tests = OPERATIONS
        .iter()
        .map(|(_, before, after)| log_ratio_test(before, after, 0.95))
        .collect::<Result<Vec<_>, _>>()?;
    let p_values: Vec<f64> = tests.iter().map(|test| test.p_value).collect();
    let adjusted = benjamini_hochberg(&p_values)?;

    for (((name, ..), test), p) in OPERATIONS.iter().zip(&tests).zip(&adjusted) {
        let verdict = if *p <= 0.05 {
            "changed"
        } else {
            "no change seen"
        };
        let change = |ratio: f64| unit::percent(ratio - 1.0);
        println!(
            "{name}: {} ({} to {}), p = {p:.1e}: {verdict}",
            change(test.ratio),
            change(test.lower),
            change(test.upper)
        );
    }

    assert!(adjusted[0] < 0.05 && (1.08..1.12).contains(&tests[0].ratio));
    assert!(adjusted[1] > 0.05 && tests[1].lower < 1.0 && tests[1].upper > 1.0);
    assert!(adjusted[2] < 0.05 && (0.73..0.77).contains(&tests[2].ratio));
    Ok(())
}
