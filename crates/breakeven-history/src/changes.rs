//! Finds where series changed, and which of the changes need attention.

use std::sync::LazyLock;

use breakeven_profile::stats::median;
use breakeven_stats::{ChangePoint, change_points, mean_interval, theil_sen};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde::Serialize;

use crate::load::{Loaded, Point, Series};

/// Confidence level of a change's interval.
const LEVEL: f64 = 0.95;

/// Level of the interval that the newest value must exceed: of 50 unchanged operations, one exceeds
/// it by chance in at most one run of 40.
const SURE: f64 = 0.999;

/// Thresholds for a change and for an alert.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sensitivity {
    /// Smallest relative change of a level that counts. Anything smaller is ignored, however
    /// significant.
    pub threshold: f64,
    /// Slowdown factor from which a regression is an alert, even if only the newest value shows it.
    pub factor: f64,
}

impl Default for Sensitivity {
    /// A change of 5 %, as in a comparison; an alert from 1.5 times.
    fn default() -> Self {
        Self {
            threshold: 0.05,
            factor: 1.5,
        }
    }
}

/// Direction of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Slower.
    Regression,
    /// Faster.
    Improvement,
}

/// Status of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeState {
    /// A regression that nothing has reversed: an alert.
    Open,
    /// Only the newest one or two values are slower, by at least the alert factor: an alert.
    Newest,
    /// A regression that a later change reversed, at the point with that index.
    Recovered(#[serde(skip)] usize),
    /// A regression that somebody accepted.
    Accepted,
    /// An improvement.
    Improved,
    /// A level that has drifted from entry to entry up to the newest one: an alert if it is
    /// slower.
    Drift,
}

/// A change of the level of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Index of the series in [`Loaded::series`].
    pub series: usize,
    /// Index of the first point of the new level.
    pub index: usize,
    /// The last point of the old level.
    pub before: Point,
    /// The first point of the new level.
    pub after: Point,
    /// Direction of the change.
    pub direction: Direction,
    /// Status of the change.
    pub state: ChangeState,
    /// The old level and the new one, ns.
    pub levels_ns: [f64; 2],
    /// New level over the old one.
    pub ratio: f64,
    /// 95 % interval of the ratio; none if only the newest values show the change.
    pub interval: Option<[f64; 2]>,
}

impl Change {
    /// True if the change needs attention.
    pub fn is_alert(&self) -> bool {
        match self.state {
            ChangeState::Open | ChangeState::Newest => true,
            ChangeState::Drift => self.direction == Direction::Regression,
            _ => false,
        }
    }
}

/// None if no thread can be started.
static POOL: LazyLock<Option<ThreadPool>> = LazyLock::new(|| ThreadPoolBuilder::new().build().ok());

/// Finds the changes of all series, in the order of the series and of time.
pub fn changes(loaded: &Loaded, sensitivity: &Sensitivity) -> Vec<Change> {
    let of = |(number, series)| of_series(loaded, number, series, sensitivity);
    let found: Vec<_> = match &*POOL {
        Some(pool) => pool.install(|| loaded.series.par_iter().enumerate().map(of).collect()),
        None => loaded.series.iter().enumerate().map(of).collect(),
    };
    found.concat()
}

fn of_series(
    loaded: &Loaded,
    number: usize,
    series: &Series,
    sensitivity: &Sensitivity,
) -> Vec<Change> {
    let points = &series.points;
    let logs: Vec<f64> = points.iter().map(|point| point.value_ns.ln()).collect();
    // Times above zero have finite logarithms.
    let found = change_points(&logs, LEVEL).unwrap_or_default();
    let margin = sensitivity.threshold.ln_1p();
    let mut changes = Vec::new();
    // An entry accepts the level that it is on.
    let is_accepted = |point: &Point| loaded.entry(point).accepted;
    // The level that later levels are compared with, and the level before the last regression.
    let mut mark = Level {
        log: found.first().map_or(0.0, |first| first.before),
        last: found.first().map_or(0, |first| first.index - 1),
        variance: 0.0,
    };
    let mut base = mark;
    for (place, change) in found.iter().enumerate() {
        let variance = ((change.step[1] - change.step[0]) / 2.0).powi(2);
        mark.variance += variance;
        let old = match (change.after - change.before).abs() >= margin {
            true => Level {
                log: change.before,
                last: change.index - 1,
                variance,
            },
            // Several small steps in a row may add up to a large one.
            false => mark,
        };
        let step = change.after - old.log;
        let later = &found[place + 1..];
        if step.abs() < margin {
            if change.after - base.log <= margin {
                mark = base;
            }
            continue;
        }
        let lower = if old.log < mark.log { old } else { mark };
        mark = Level {
            log: change.after,
            last: later.first().map_or(points.len(), |next| next.index) - 1,
            variance: 0.0,
        };
        let after = &points[change.index];
        let back = later.iter().find(|later| later.after - lower.log <= margin);
        let (direction, state) = match (step > 0.0, back) {
            (false, _) => (Direction::Improvement, ChangeState::Improved),
            (true, Some(back)) => (Direction::Regression, ChangeState::Recovered(back.index)),
            (true, None) if points[change.index..=mark.last].iter().any(is_accepted) => {
                (Direction::Regression, ChangeState::Accepted)
            }
            (true, None) => (Direction::Regression, ChangeState::Open),
        };
        if direction == Direction::Regression {
            base = lower;
        } else if mark.log < base.log {
            base = mark;
        }
        let reach = old.variance.sqrt();
        changes.push(Change {
            series: number,
            index: change.index,
            before: points[old.last].clone(),
            after: after.clone(),
            direction,
            state,
            levels_ns: [old.log.exp(), change.after.exp()],
            ratio: step.exp(),
            interval: Some([step - reach, step + reach].map(f64::exp)),
        });
    }
    let newest = newest(number, series, &found, sensitivity);
    if newest.is_none()
        && let Some(drift) = drifting(loaded, number, &found, &logs, margin)
    {
        // The steps by which it would be described.
        changes.retain(|step| step.index <= drift.index);
        changes.push(drift);
    }
    changes.extend(newest);
    changes
}

/// The drift in which a series ends, since the last entry that was accepted: the longest one that
/// describes the values better than the steps that were found do.
fn drifting(
    loaded: &Loaded,
    number: usize,
    steps: &[ChangePoint],
    logs: &[f64],
    margin: f64,
) -> Option<Change> {
    let points = &loaded.series[number].points;
    let accepted = points
        .iter()
        .rposition(|point| loaded.entry(point).accepted);
    let accepted = accepted.unwrap_or(0);
    let later = steps.iter().map(|step| step.index);
    let mut spans = std::iter::once(accepted).chain(later.filter(|from| *from > accepted));
    let (from, found) = spans.find_map(|from| {
        let found = drift(&logs[from..], margin)?;
        let by_steps = squares_of_steps(logs, from + found.from, steps);
        (found.squares < by_steps).then_some((from, found))
    })?;
    let (index, last) = (from + found.from, points.last()?);
    let length = (points.len() - 1 - index) as f64;
    let [_, lower, upper] = found.slope;
    Some(Change {
        series: number,
        index,
        before: points[index].clone(),
        after: last.clone(),
        direction: match found.change > 0.0 {
            true => Direction::Regression,
            false => Direction::Improvement,
        },
        state: ChangeState::Drift,
        levels_ns: [found.level, found.level + found.change].map(f64::exp),
        ratio: found.change.exp(),
        interval: Some([lower, upper].map(|slope| (slope * length).exp())),
    })
}

/// The sum of squares that constant levels leave from an index on.
fn squares_of_steps(logs: &[f64], from: usize, steps: &[ChangePoint]) -> f64 {
    let within = steps.iter().map(|step| step.index).filter(|at| *at > from);
    let mut ends: Vec<usize> = std::iter::once(from).chain(within).collect();
    ends.push(logs.len());
    let levels = ends.windows(2).map(|ends| {
        let level = &logs[ends[0]..ends[1]];
        let mean = level.iter().sum::<f64>() / level.len() as f64;
        level.iter().map(|log| (log - mean).powi(2)).sum::<f64>()
    });
    levels.sum()
}

/// A level that later levels are compared with.
#[derive(Clone, Copy)]
struct Level {
    /// Natural logarithm of the level.
    log: f64,
    /// Index of the level's last point.
    last: usize,
    /// Sum of the squared half-widths of the intervals of all steps since.
    variance: f64,
}

/// Finds the newest values in a row that are slower than the level before them, by at least the
/// alert factor and by more than that level's noise. Used where no change is found yet, because a
/// change needs three values.
fn newest(
    number: usize,
    series: &Series,
    found: &[ChangePoint],
    sensitivity: &Sensitivity,
) -> Option<Change> {
    let (last, earlier) = series.points.split_last()?;
    let from = found.last().map_or(0, |change| change.index);
    let level = earlier.get(from..).filter(|level| !level.is_empty())?;
    let mut values: Vec<f64> = level.iter().map(|point| point.value_ns).collect();
    values.sort_by(f64::total_cmp);
    let level = values[values.len() / 2];
    // The values before the newest one may belong to the same change.
    let usual = values
        .iter()
        .filter(|value| **value < level * sensitivity.factor);
    let logs: Vec<f64> = usual.map(|value| value.ln()).collect();
    // The prediction interval of one value: √(n + 1) times the interval of the mean.
    let [low, high] = mean_interval(&logs, SURE).ok()?;
    let most = f64::midpoint(low, high) + (high - low) / 2.0 * (logs.len() as f64 + 1.0).sqrt();
    let is_worse =
        |point: &&Point| point.value_ns / level >= sensitivity.factor && point.value_ns.ln() > most;
    let worse = series.points[from..].iter().rev().take_while(is_worse);
    let index = series.points.len() - worse.count();
    (index < series.points.len() && index > from).then(|| Change {
        series: number,
        index,
        before: series.points[index - 1].clone(),
        after: series.points[index].clone(),
        direction: Direction::Regression,
        state: ChangeState::Newest,
        levels_ns: [level, last.value_ns],
        ratio: last.value_ns / level,
        interval: None,
    })
}

// Finds levels that drift: that rise or fall from entry to entry, without a step.

/// Fewest entries of a drift, and most that are looked at.
const FEWEST: usize = 10;
const MOST: usize = 500;

/// Places at which a drift may begin that are tried.
const BEGINNINGS: usize = 64;

/// Confidence level of the slope: that of a search over all beginnings.
const DRIFT_LEVEL: f64 = 0.9995;

/// A drift, in logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Drift {
    /// Index of the value at which it begins.
    pub(crate) from: usize,
    /// Level there.
    pub(crate) level: f64,
    /// Change per value, with its interval.
    pub(crate) slope: [f64; 3],
    /// Change from the beginning to the last value.
    pub(crate) change: f64,
    /// The sum of squares that the line leaves.
    pub(crate) squares: f64,
}

/// Finds the drift in which the values end, if it adds up to `margin` or more.
///
/// The beginning is that of the least squares of a constant followed by a line. The line is
/// Theil's and Sen's; its interval is widened by √((1 + r) / (1 − r)) for values of which each
/// follows the one before with the correlation r.
pub(crate) fn drift(logs: &[f64], margin: f64) -> Option<Drift> {
    let skipped = logs.len().saturating_sub(MOST);
    let logs = &logs[skipped..];
    let last = logs.len().checked_sub(FEWEST)?;
    // The end of a drift is away from the middle of the values by half of it or more.
    let end = median(&logs[logs.len() - FEWEST / 2..]).ok()?;
    if (end - median(logs).ok()?).abs() < margin / 3.0 {
        return None;
    }
    let step = (last / BEGINNINGS).max(1);
    let beginnings = (0..=last).step_by(step);
    let from = beginnings.min_by(|a, b| squares(logs, *a).total_cmp(&squares(logs, *b)))?;
    let values = &logs[from..];
    let places: Vec<f64> = (0..values.len()).map(|place| place as f64).collect();
    let line = theil_sen(&places, values, DRIFT_LEVEL).ok()?;
    let at = |place: f64| line.intercept + line.slope * place;
    let off: Vec<f64> = places.iter().zip(values).map(|(x, y)| y - at(*x)).collect();
    let product = |lag: usize| -> f64 { off.iter().zip(&off[lag..]).map(|(a, b)| a * b).sum() };
    let follows = (product(1) / product(0).max(f64::MIN_POSITIVE)).clamp(0.0, 0.9);
    let wider = ((1.0 + follows) / (1.0 - follows)).sqrt();
    let end = |end: f64| line.slope + (end - line.slope) * wider;
    let (lower, upper) = (end(line.slope_lower), end(line.slope_upper));
    let change = line.slope * (values.len() - 1) as f64;
    let is_sure = lower > 0.0 || upper < 0.0;
    (is_sure && change.abs() >= margin).then_some(Drift {
        from: skipped + from,
        level: line.intercept,
        slope: [line.slope, lower, upper],
        change,
        squares: product(0),
    })
}

/// The sum of squares that a constant, followed by a line from `from` on, leaves.
fn squares(logs: &[f64], from: usize) -> f64 {
    let count = logs.len() as f64;
    let place = |index: usize| index.saturating_sub(from) as f64;
    let x_mean = (0..logs.len()).map(place).sum::<f64>() / count;
    let y_mean = logs.iter().sum::<f64>() / count;
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (index, log) in logs.iter().enumerate() {
        let (x, y) = (place(index) - x_mean, log - y_mean);
        (xx, xy, yy) = (xx + x * x, xy + x * y, yy + y * y);
    }
    yy - xy * xy / xx.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod drift_tests {
    use super::*;
    use rand::SeedableRng;
    use rand_distr::{Distribution, StandardNormal};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Noise of which each value follows the one before with that correlation.
    fn noise(seed: u64, deviation: f64, follows: f64) -> impl FnMut() -> f64 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut before = 0.0;
        move || {
            let fresh: f64 = StandardNormal.sample(&mut random);
            before = follows * before + (1.0 - follows * follows).sqrt() * fresh;
            deviation * before
        }
    }

    fn series(seed: u64, deviation: f64, count: usize, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut noise = noise(seed, deviation, 0.0);
        (0..count).map(|at| level(at) + noise()).collect()
    }

    const MARGIN: f64 = 0.0488;

    #[test]
    fn even_rises_are_found_with_their_size() {
        for seed in 0..50 {
            let doubles = series(seed, 0.005, 30, |at| 2_f64.ln() * at as f64 / 29.0);
            let found = drift(&doubles, MARGIN).expect("it doubles");
            assert!((found.change.exp() - 2.0).abs() < 0.05, "{found:?}");
            let slow = series(seed, 0.005, 100, |at| 1.2_f64.ln() * at as f64 / 99.0);
            let found = drift(&slow, MARGIN).expect("it rises by 20 %");
            assert!((found.change.exp() - 1.2).abs() < 0.02, "{found:?}");
            let late = series(seed, 0.01, 80, |at| 0.01 * at.saturating_sub(50) as f64);
            let found = drift(&late, MARGIN).expect("it rises at the end");
            assert!(found.from.abs_diff(50) < 8, "{found:?}");
        }
    }

    #[test]
    fn noise_is_no_drift() {
        for (deviation, follows) in [(0.005, 0.0), (0.03, 0.0), (0.1, 0.0), (0.03, 0.5)] {
            let is_drift = |seed: &u64| {
                let mut noise = noise(*seed, deviation, follows);
                let values: Vec<f64> = (0..100).map(|_| noise()).collect();
                drift(&values, MARGIN).is_some()
            };
            let wrong = (0..1_000).filter(is_drift).count();
            assert!(wrong <= 10, "{wrong} of 1 000 at {deviation}, {follows}");
        }
    }
}
