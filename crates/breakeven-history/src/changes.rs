//! Where series changed, and which of these changes ask for attention.

use breakeven_stats::{ChangePoint, change_points, mean_interval};
use rayon::prelude::*;
use serde::Serialize;

use crate::load::{Loaded, Point, Series};

/// Confidence level of a change's interval.
const LEVEL: f64 = 0.95;

/// Level of the interval that the newest value must lie above: among 50 operations at most
/// one night in forty has one above by chance.
const SURE: f64 = 0.999;

/// From which size on a change counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sensitivity {
    /// Least change of a level, as a fraction: below it a change is none, however
    /// significant.
    pub threshold: f64,
    /// An alert is a regression from this factor on, even where it is the newest value
    /// alone that shows it.
    pub factor: f64,
}

impl Default for Sensitivity {
    /// 5 %, as in a comparison; 1.5 times.
    fn default() -> Self {
        Self {
            threshold: 0.05,
            factor: 1.5,
        }
    }
}

/// Whether a change is for the worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Slower.
    Regression,
    /// Faster.
    Improvement,
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeState {
    /// A regression that is still there: an alert.
    Open,
    /// The newest value alone is worse by the alert's factor: an alert.
    Newest,
    /// A regression that a later change took back, at the point of that index.
    Recovered(usize),
    /// A regression that somebody accepted.
    Accepted,
    /// An improvement.
    Improved,
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
    /// Whether it is for the worse.
    pub direction: Direction,
    /// What became of it.
    pub state: ChangeState,
    /// The old level and the new one, ns.
    pub levels_ns: [f64; 2],
    /// New level over the old one.
    pub ratio: f64,
    /// 95 % interval of the ratio; none for a newest value.
    pub interval: Option<[f64; 2]>,
}

impl Change {
    /// True where it asks for attention.
    pub fn is_alert(&self) -> bool {
        matches!(self.state, ChangeState::Open | ChangeState::Newest)
    }
}

/// The changes of all series, in the order of the series and of time.
pub fn changes(loaded: &Loaded, sensitivity: &Sensitivity) -> Vec<Change> {
    let series = loaded.series.par_iter().enumerate();
    let found = series.map(|(number, series)| of_series(loaded, number, series, sensitivity));
    found.collect::<Vec<_>>().concat()
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
    let found = found.changes;
    let margin = sensitivity.threshold.ln_1p();
    let mut changes: Vec<Change> = Vec::new();
    let mut levels: Vec<Level> = Vec::new();
    levels.extend(found.first().map(|first| Level {
        log: first.before,
        last: first.index - 1,
        variance: 0.0,
        good: f64::NEG_INFINITY,
        change: 0,
    }));
    for (place, change) in found.iter().enumerate() {
        while let Some(back) = levels.pop_if(|level| change.after - level.good <= margin) {
            changes[back.change].state = ChangeState::Recovered(change.index);
        }
        let top = levels
            .last_mut()
            .expect("nothing is below the first level's `good`");
        let variance = ((change.step[1] - change.step[0]) / 2.0).powi(2);
        top.variance += variance;
        let (old, last, variance) = match (change.after - change.before).abs() >= margin {
            true => (change.before, change.index - 1, variance),
            // Small steps in a row may be a large one.
            false => (top.log, top.last, top.variance),
        };
        let step = change.after - old;
        if step.abs() < margin {
            continue;
        }
        let next = found.get(place + 1);
        let level = Level {
            log: change.after,
            last: next.map_or(points.len(), |next| next.index) - 1,
            variance: 0.0,
            good: old.min(top.log),
            change: changes.len(),
        };
        let after = &points[change.index];
        let (direction, state) = match step > 0.0 {
            false => (Direction::Improvement, ChangeState::Improved),
            true if loaded.entry(after).accepted => (Direction::Regression, ChangeState::Accepted),
            true => (Direction::Regression, ChangeState::Open),
        };
        changes.push(Change {
            series: number,
            index: change.index,
            before: points[last].clone(),
            after: after.clone(),
            direction,
            state,
            levels_ns: [old.exp(), change.after.exp()],
            ratio: step.exp(),
            interval: Some([step - variance.sqrt(), step + variance.sqrt()].map(f64::exp)),
        });
        if direction == Direction::Regression {
            levels.push(level);
        } else if level.log < top.log {
            let (good, change) = (top.good, top.change);
            *top = Level {
                good,
                change,
                ..level
            };
        }
    }
    changes.extend(newest(number, series, &found, sensitivity));
    changes
}

/// A level that later ones are compared with: the first or lowest one, then one for each
/// regression that is still there.
struct Level {
    /// Its logarithm.
    log: f64,
    /// Index of its last point.
    last: usize,
    /// Sum of the squares of half the intervals of all steps since.
    variance: f64,
    /// The level before the regression; within the threshold of it, the regression recovered.
    good: f64,
    /// Index of the regression.
    change: usize,
}

/// The newest value, if it is worse than the level before it by the alert's factor and by
/// more than the noise of that level explains, and no change shows it yet: a change needs
/// three values.
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
    let ratio = last.value_ns / level;
    // The value before may belong to the same change.
    let usual = values
        .iter()
        .filter(|value| **value < level * sensitivity.factor);
    let logs: Vec<f64> = usual.map(|value| value.ln()).collect();
    // The interval of the next value: √(n + 1) times that of the mean.
    let [low, high] = mean_interval(&logs, SURE).ok()?;
    let most = f64::midpoint(low, high) + (high - low) / 2.0 * (logs.len() as f64 + 1.0).sqrt();
    (ratio >= sensitivity.factor && last.value_ns.ln() > most).then(|| Change {
        series: number,
        index: earlier.len(),
        before: earlier[earlier.len() - 1].clone(),
        after: last.clone(),
        direction: Direction::Regression,
        state: ChangeState::Newest,
        levels_ns: [level, last.value_ns],
        ratio,
        interval: None,
    })
}
