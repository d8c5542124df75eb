//! Properties of the line, whatever the observations.

use breakeven_profile::stats::median;
use breakeven_stats::theil_sen;
use proptest::collection::vec;
use proptest::{prop_assert, proptest};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::line::{Line, Point, WINDOW, robust_line};
use crate::plan::Tuning;

fn points(sizes: &[f64], time: impl Fn(usize, f64) -> f64) -> Vec<Point> {
    let sizes = sizes.iter().enumerate();
    sizes
        .map(|(index, &size)| Point {
            size,
            time: time(index, size),
        })
        .collect()
}

fn at(line: Line, size: f64) -> f64 {
    line.fixed + line.slope * size
}

fn fit(points: &[Point]) -> Line {
    robust_line(points, 0.5, Tuning::USUAL).expect("there are points")
}

const SIZES: [f64; 10] = [
    100.0, 7_000.0, 300.0, 900.0, 20_000.0, 100.0, 3_000.0, 450.0, 12_000.0, 1_500.0,
];

fn truth(size: f64) -> f64 {
    250_000.0 + 90.0 * size
}

#[test]
fn without_noise_the_line_is_found() {
    let line = fit(&points(&SIZES, |_, size| truth(size)));
    assert!((line.fixed / 250_000.0 - 1.0).abs() < 1e-3, "{line:?}");
    assert!((line.slope / 90.0 - 1.0).abs() < 1e-3, "{line:?}");
}

#[test]
fn one_stray_does_not_move_the_line_wherever_it_is() {
    for stray in 0..SIZES.len() {
        for factor in [100.0, 0.01] {
            let seen = points(&SIZES, |index, size| {
                truth(size) * if index == stray { factor } else { 1.0 }
            });
            let line = fit(&seen);
            for size in SIZES {
                let off = at(line, size) / truth(size) - 1.0;
                assert!(off.abs() < 0.01, "{factor} at {stray}: {off} at {size}");
            }
        }
    }
}

#[test]
fn a_poisoned_first_run_is_forgotten_by_the_next() {
    for count in 1..=9 {
        let seen = points(&[1000.0; WINDOW][..=count], |index, size| {
            truth(size) * if index == 0 { 100.0 } else { 1.0 }
        });
        let off = at(fit(&seen), 1000.0) / truth(1000.0) - 1.0;
        assert!(off.abs() < 0.01, "{count} good ones: {off}");
    }
}

#[test]
fn a_change_of_pace_is_followed_within_the_window() {
    for (factor, within) in [(2.0, 9), (0.5, 6)] {
        let old = points(&[1000.0; WINDOW], |_, size| truth(size));
        let new = points(&[1000.0; WINDOW], |_, size| factor * truth(size));
        let followed = (1..=WINDOW).find(|&count| {
            let seen = [&old[count..], &new[..count]].concat();
            (at(fit(&seen), 1000.0) / (factor * truth(1000.0)) - 1.0).abs() < 0.05
        });
        let is_soon = followed.is_some_and(|count| count <= within);
        assert!(is_soon, "{followed:?}");
    }
}

#[test]
fn one_size_shows_no_share() {
    for share in [0.0, 0.5] {
        let line =
            robust_line(&points(&[40.0; 5], |_, _| 1000.0), share, Tuning::USUAL).expect("a line");
        let expected = f64::from(share) * 1000.0;
        assert!((line.fixed - expected).abs() < 1.0, "{line:?}");
        assert!((at(line, 40.0) - 1000.0).abs() < 1.0, "{line:?}");
    }
}

proptest! {
    #[test]
    fn whatever_was_observed_the_line_never_falls_or_begins_below_zero(
        seen in vec((1_u64..1 << 53, 1_u64..1 << 53, 1_u32..=1 << 16), 1..=WINDOW),
        share in 0.0_f32..=1.0,
    ) {
        let seen: Vec<_> = seen
            .into_iter()
            .map(|(size, time, workers)| Point {
                size: size as f64 / f64::from(workers),
                time: time as f64,
            })
            .collect();
        let line = robust_line(&seen, share, Tuning::USUAL).expect("there are points");
        prop_assert!(line.fixed.is_finite() && line.fixed >= 0.0, "{line:?}");
        prop_assert!(line.slope.is_finite() && line.slope >= 0.0, "{line:?}");
        prop_assert!(line.fixed + line.slope > 0.0, "{line:?}");
    }

    #[test]
    fn units_do_not_matter(noise in vec(0.9_f64..1.1, WINDOW), time in 1e-3_f64..1e9, size in 1e-3_f64..1e3) {
        let seen = noisy(&noise);
        let scaled = |point: &Point| Point { size: point.size * size, time: point.time * time };
        let scaled: Vec<_> = seen.iter().map(scaled).collect();
        let (line, other) = (fit(&seen), fit(&scaled));
        for at_size in SIZES {
            let ratio = at(other, at_size * size) / at(line, at_size) / time;
            // Rounding may prefer another candidate of the same loss.
            prop_assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
        }
    }
}

fn noisy(noise: &[f64]) -> Vec<Point> {
    let sizes: Vec<_> = SIZES.iter().cycle().take(noise.len()).copied().collect();
    points(&sizes, |index, size| truth(size) * noise[index])
}

/// Mean of |ln(predicted / true)| over the sizes; a prediction below zero counts
/// as a hundredth.
fn error(line: Line) -> f64 {
    let off = |size: f64| (at(line, size) / truth(size)).max(0.01).ln().abs();
    SIZES.map(off).iter().sum::<f64>() / SIZES.len() as f64
}

#[test]
fn predictions_are_closer_than_those_of_theil_and_sen() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..400 {
        let noise: Vec<f64> = (0..12)
            .map(|index| {
                let stray = if index == round % 12 { 100.0 } else { 1.0 };
                stray * (1.0 + 0.1 * (random.random::<f64>() - 0.5))
            })
            .collect();
        let seen = noisy(&noise);
        ours.push(error(fit(&seen)));
        let sizes: Vec<_> = seen.iter().map(|point| point.size).collect();
        let times: Vec<_> = seen.iter().map(|point| point.time).collect();
        let line = theil_sen(&sizes, &times, 0.95).expect("twelve points");
        theirs.push(error(Line {
            fixed: line.intercept,
            slope: line.slope,
        }));
    }
    let (ours, theirs) = (median(&ours).expect("400"), median(&theirs).expect("400"));
    assert!(ours < 0.02 && ours < theirs, "{ours} {theirs}");
}
