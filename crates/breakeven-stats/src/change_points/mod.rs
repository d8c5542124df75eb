//! Finds where the level of a series changed.
//!
//! Histories of benchmarks have three traits that break the usual tests: single runs lie
//! far out, neighbouring runs resemble each other (the machine's state outlives a run), and
//! the noise is not known beforehand. So
//!
//! 1. values far from their neighbours' median are drawn in ([`clean`]), so that a run that
//!    lies far out is no change, nor are two, at the end of the series as within it;
//! 2. the noise is taken for an autoregression of order one. Resemblance and steps explain
//!    each other's traces, so they are chosen together: for each coefficient of a grid the
//!    steps are found and taken out one by one, and what explains most for its number of
//!    steps is kept ([`change_points`]; as Chakar, Lebarbier, Lévy-Leduc and Robin 2017, "A
//!    robust approach for estimating change-points in the mean of an AR(1) process", with a
//!    criterion of the kind of Schwarz's);
//! 3. candidates are steps that generalised least squares show in intervals of a
//!    deterministic set of all lengths, the shortest first ([`scan`]; Kovács, Bühlmann, Li
//!    and Munk 2023, "Seeded binary segmentation"; Baranowski, Chen and Fryzlewicz 2019,
//!    "Narrowest-over-threshold detection of multiple change points"). That takes
//!    n·log n steps; E-divisive means, which others use for this, takes n² and takes
//!    neighbours that resemble each other for changes;
//! 4. each step is placed where it is right, or else one off, with the highest probability:
//!    by the values themselves, each of which may lie far out, since what was
//!    drawn in beside a step may have moved it, and by the noise of either side.
//!
//! `docs/judging.md` has the figures: what is found, what is found besides, what could be.

mod clean;
mod scan;
mod whitened;

use std::f64::consts::TAU;

use breakeven_profile::stats::{StatsError, check_finite, check_fraction};

use crate::distribution::t_upper;
use scan::Explaining;
use whitened::Whitened;

pub use clean::SHORTEST_SEGMENT;

/// Resemblances of neighbours that are tried.
const ALIKE: [f64; 10] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/// What a resemblance of one must take off `n·ln(σ²)`, a smaller one in proportion: steps
/// that are taken for resemblance are missed.
const RARELY_ALIKE: f64 = 8.0;

/// Reduction of [`RARELY_ALIKE`] if there are steps, because steps show less in autocorrelated
/// noise. It counts once, not per step: otherwise a series with many steps would always be taken
/// for autocorrelated.
const ALIKE_WITH_STEPS: f64 = 5.0;

/// Fewest values for a resemblance above 0.7: in fewer, a drift looks like one.
const NO_DRIFT: usize = 100;

/// Fraction of the penalty below which a change is taken out without a look at the rest.
const HOPELESS: f64 = 0.5;

/// Values that all segments together count as in the estimate of one segment's noise.
const BORROWED: f64 = 8.0;

/// How far a place may be moved.
const REACH: usize = 8;

/// Deviations over which values that lie far out are spread.
const SPREAD: f64 = 20.0;

/// What a place that is exactly right counts, besides one that is at most one off.
const EXACTLY: f64 = 0.2;

/// A place from which on the level of a series is another.
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use]
pub struct ChangePoint {
    /// Index of the first value of the new level.
    pub index: usize,
    /// The level before, in the unit of the values.
    pub before: f64,
    /// The level from there on.
    pub after: f64,
    /// An interval of `after - before`.
    pub step: [f64; 2],
}

/// Finds where the level of a series changed. `level` is the confidence level of the intervals,
/// such as 0.95.
///
/// # Errors
///
/// [`StatsError`] if a value is not finite or the level is no fraction.
pub fn change_points(values: &[f64], level: f64) -> Result<Vec<ChangePoint>, StatsError> {
    check_finite("values", values, 0)?;
    check_fraction("level", level)?;
    if values.len() < 2 * SHORTEST_SEGMENT {
        return Ok(Vec::new());
    }
    let clean = clean::clean(values);
    // The level must not take digits from the squares, nor the unit their exponents.
    let origin = clean[0];
    let farthest = |far: f64, value: &f64| far.max((value - origin).abs());
    let unit = clean.iter().fold(0.0, farthest);
    if unit == 0.0 {
        return Ok(Vec::new());
    }
    let clean: Vec<f64> = clean.iter().map(|value| (value - origin) / unit).collect();
    let raw: Vec<f64> = values.iter().map(|value| (value - origin) / unit).collect();
    let mut found = best(&clean).changes(&raw, &clean, level);
    for change in &mut found {
        change.before = change.before * unit + origin;
        change.after = change.after * unit + origin;
        change.step = change.step.map(|step| step * unit);
    }
    Ok(found)
}

/// What explains most, over all resemblances.
fn best(values: &[f64]) -> Explained {
    let tried = ALIKE.len() - if values.len() < NO_DRIFT { 2 } else { 0 };
    let explained = ALIKE[..tried].iter().map(|alike| explain(values, *alike));
    let best = explained.min_by(|one, other| one.criterion.total_cmp(&other.criterion));
    best.expect("several resemblances are tried")
}

/// What a resemblance and some changes make of a series.
struct Explained {
    alike: f64,
    changes: Vec<usize>,
    criterion: f64,
}

/// The changes that explain most under a resemblance, for their number.
fn explain(values: &[f64], alike: f64) -> Explained {
    let series = Whitened::new(values, alike);
    let n = values.len() as f64;
    let penalty = penalty(values.len());
    let mut rest = Explaining::new(&series, scan::candidates(&series));
    // Taking out a change that explains less than the penalty lowers the criterion: at most
    // n/rest times what it explains is lost. Half of it leaves room for its neighbours.
    let hopeless = HOPELESS * penalty * series.levels(&rest.changes).rest / n;
    let mut best: Option<Explained> = None;
    loop {
        let weakest = rest.weakest();
        if weakest.is_none_or(|(_, gain)| gain >= hopeless) {
            let count = rest.changes.len() as f64;
            let left = series.levels(&rest.changes).rest.max(f64::MIN_POSITIVE);
            let rarely = match rest.changes.is_empty() {
                true => RARELY_ALIKE,
                false => RARELY_ALIKE - ALIKE_WITH_STEPS,
            };
            let likely = n * (left / n).ln() - (1.0 - alike * alike).ln();
            let criterion = likely + rarely * alike + penalty * count;
            if best.as_ref().is_none_or(|best| criterion < best.criterion) {
                best = Some(Explained {
                    alike,
                    changes: rest.changes.clone(),
                    criterion,
                });
            }
        }
        match weakest {
            Some((index, _)) => rest.remove(&series, index),
            None => break,
        }
    }
    best.expect("the loop ends where no change is left, and keeps that at least")
}

impl Explained {
    /// Moves each change to where the original values, outliers included, place it: given the
    /// levels, and a noise of either side that is drawn towards the common one.
    fn place_likeliest(&mut self, raw: &[f64], clean: &[f64], series: &Whitened<'_>, pooled: f64) {
        if !(pooled * pooled).is_normal() {
            return;
        }
        let replaced = raw.iter().zip(clean).filter(|(raw, clean)| raw != clean);
        // Probability that a value lies far out.
        let often = (replaced.count() as f64 + 0.5) / (raw.len() as f64 + 1.0);
        let levels = series.levels(&self.changes).levels;
        let scale = |values| Whitened::new(values, self.alike).innovation();
        let all = scale(raw);
        let side = |number: usize| {
            let (from, to) = whitened::segment(raw.len(), &self.changes, number);
            let own = scale(&raw[from..to]) / all;
            let known = (to - from) as f64 / ((to - from) as f64 + BORROWED);
            let ratio = if own.is_normal() {
                own.powf(known)
            } else {
                1.0
            };
            (levels[number], pooled * ratio)
        };
        let sides: Vec<(f64, f64)> = (0..levels.len()).map(side).collect();
        for number in 0..self.changes.len() {
            let (from, to) = scan::around(series, &self.changes, number);
            let sides = [sides[number], sides[number + 1]];
            // Log density of a value if it and the one before it are on these sides.
            let log = |at: usize, here: usize, before: usize| {
                let (level, deviation) = sides[here];
                let expected = level + self.alike * (clean[at - 1] - sides[before].0);
                let off = (raw[at] - expected) / deviation;
                let near = (1.0 - often) * (-off * off / 2.0).exp() / TAU.sqrt();
                ((near + often / SPREAD) / deviation).ln()
            };
            let at = self.changes[number];
            let first = at.saturating_sub(REACH).max(from + SHORTEST_SEGMENT);
            let last = (at + REACH).min(to - SHORTEST_SEGMENT);
            let by_place = |place: usize| -> f64 {
                let side = |at: usize| usize::from(at >= place);
                let affected = first..(last + 2).min(to);
                affected.map(|at| log(at, side(at), side(at - 1))).sum()
            };
            let logs: Vec<f64> = (first..=last).map(by_place).collect();
            self.changes[number] = first + most_probable(&logs);
        }
    }

    fn changes(mut self, raw: &[f64], clean: &[f64], level: f64) -> Vec<ChangePoint> {
        let series = Whitened::new(clean, self.alike);
        let free = clean.len().saturating_sub(self.changes.len() + 1).max(1) as f64;
        let innovation = (series.levels(&self.changes).rest / free).sqrt();
        self.place_likeliest(raw, clean, &series, innovation);
        let fit = series.levels(&self.changes);
        let innovation = (fit.rest / free).sqrt();
        let quantile = t_upper((1.0 - level) / 2.0, free);
        let changes = self.changes.iter().enumerate().map(|(number, &index)| {
            let (from, to) = scan::around(&series, &self.changes, number);
            let (before, after) = (fit.levels[number], fit.levels[number + 1]);
            let reach = quantile * innovation * series.step_error(from, index, to);
            ChangePoint {
                index,
                before,
                after,
                step: [after - before - reach, after - before + reach],
            }
        });
        changes.collect()
    }
}

/// The place that is right, or else one off, with the highest probability.
fn most_probable(logs: &[f64]) -> usize {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logs.iter().map(|log| (log - most).exp()).collect();
    let worth = |at: &usize| {
        let near = &weights[at.saturating_sub(1)..(at + 2).min(weights.len())];
        near.iter().sum::<f64>() + EXACTLY * weights[*at]
    };
    let places = 0..weights.len();
    let best = places.max_by(|one, other| worth(one).total_cmp(&worth(other)));
    best.unwrap_or(0)
}

/// What a change must take off `n·ln(σ²)` to count: the less is known of the noise, the
/// more. The bench `change_points` shows what is found then, and what besides.
fn penalty(length: usize) -> f64 {
    15.0 + 35.0 / length as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values around 100 whose noise is a fixed, patternless ±1.
    fn noisy(length: usize, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut state = 7u64;
        let noise = std::iter::repeat_with(move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as f64 / (1u64 << 30) as f64 - 1.0
        });
        let levels = (0..length).map(level);
        levels
            .zip(noise)
            .map(|(level, noise)| level + noise)
            .collect()
    }

    fn found(values: &[f64]) -> Vec<usize> {
        let found = change_points(values, 0.95).expect("finite values");
        found.iter().map(|change| change.index).collect()
    }

    #[test]
    fn a_step_is_found_with_its_size() {
        let series = noisy(60, |at| if at < 40 { 100.0 } else { 103.0 });
        let found = change_points(&series, 0.95).expect("finite values");
        let [change] = found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(change.index, 40);
        assert!(change.step[0] < 3.0 && 3.0 < change.step[1], "{change:?}");
        assert!((change.before - 100.0).abs() < 0.5 && (change.after - 103.0).abs() < 0.5);
    }

    #[test]
    fn up_and_down_again_are_two_changes() {
        let series = noisy(90, |at| if (30..60).contains(&at) { 104.0 } else { 100.0 });
        assert_eq!(found(&series), [30, 60]);
    }

    #[test]
    fn runs_that_lie_far_out_are_no_change_nor_are_two() {
        let mut series = noisy(60, |_| 100.0);
        for at in [0, 20, 21, 59] {
            series[at] = 200.0;
        }
        assert!(found(&series).is_empty());
    }

    #[test]
    fn a_run_far_out_beside_a_step_does_not_move_it() {
        for (at, step) in [(36, 39), (37, 40), (38, 41), (39, 42)] {
            let mut series = noisy(60, |at| if at < step { 100.0 } else { 102.4 });
            // Nearer to the level behind than to its own, then far from both.
            for far in [3.8, 9.0, 1e100] {
                series[at] = 100.0 + far;
                assert_eq!(found(&series), [step], "{far} at {at}");
            }
        }
    }

    #[test]
    fn what_cannot_change_does_not() {
        assert!(found(&[]).is_empty());
        assert!(found(&[1.0; 5]).is_empty());
        assert!(found(&[1.0; 50]).is_empty());
        let coarse: Vec<f64> = (0..50).map(|at| f64::from(at % 10 == 0)).collect();
        assert!(found(&coarse).is_empty());
        assert!(change_points(&[f64::NAN], 0.95).is_err());
        assert!(change_points(&[1.0], 1.5).is_err());
    }

    #[test]
    fn a_step_without_any_noise_is_found() {
        let series: Vec<f64> = (0..40).map(|at| if at < 25 { 5.0 } else { 6.0 }).collect();
        assert_eq!(found(&series), [25]);
    }

    #[test]
    fn values_of_any_size_and_a_long_series() {
        for scale in [1e-200, 1e-6, 1e9, 1e120] {
            let series = noisy(60, |at| if at < 40 { 100.0 } else { 103.0 });
            let series: Vec<f64> = series.iter().map(|value| value * scale).collect();
            assert_eq!(found(&series), [40], "{scale}");
        }
        let series = noisy(3_000, |at| 100.0 + (at / 500) as f64 * 2.0);
        let found = found(&series);
        // Besides, one false point at most: the noise at 375 looks like a step.
        assert!(found.len() <= 6, "{found:?}");
        let is_found = |step: usize| found.iter().any(|at| at.abs_diff(step) <= 1);
        assert!((1..6).all(|at| is_found(at * 500)), "{found:?}");
    }
}
