//! Where series changed, and which of these changes ask for attention.

use breakeven_stats::{ChangePoint, change_points};
use rayon::prelude::*;
use serde::Serialize;

use crate::load::{Loaded, Point, Series};

/// Confidence level of a change's interval.
const LEVEL: f64 = 0.95;

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
    let made = found.changes.iter().map(|change| Change {
        series: number,
        index: change.index,
        before: points[change.index - 1].clone(),
        after: points[change.index].clone(),
        direction: match change.after > change.before {
            true => Direction::Regression,
            false => Direction::Improvement,
        },
        state: ChangeState::Open,
        levels_ns: [change.before.exp(), change.after.exp()],
        ratio: (change.after - change.before).exp(),
        interval: Some(change.step.map(f64::exp)),
    });
    let counts = |change: &Change| {
        change.ratio >= 1.0 + sensitivity.threshold
            || change.ratio.recip() >= 1.0 + sensitivity.threshold
    };
    let mut changes: Vec<Change> = made.filter(counts).collect();
    for index in 0..changes.len() {
        changes[index].state = state(loaded, &changes, index, sensitivity);
    }
    changes.extend(newest(number, series, &found.changes, sensitivity));
    changes
}

/// A regression is recovered at the first later change after which the level is within
/// the threshold of what it was before.
fn state(
    loaded: &Loaded,
    changes: &[Change],
    index: usize,
    sensitivity: &Sensitivity,
) -> ChangeState {
    let change = &changes[index];
    let good = change.levels_ns[0] * (1.0 + sensitivity.threshold);
    let mut later = changes[index + 1..].iter();
    if change.direction == Direction::Improvement {
        ChangeState::Improved
    } else if let Some(back) = later.find(|later| later.levels_ns[1] <= good) {
        ChangeState::Recovered(back.index)
    } else if loaded.entry(&change.after).accepted {
        ChangeState::Accepted
    } else {
        ChangeState::Open
    }
}

/// The newest value, where it is worse than the level before it by the alert's factor and
/// no change tells it yet: a change needs three values.
fn newest(
    number: usize,
    series: &Series,
    found: &[ChangePoint],
    sensitivity: &Sensitivity,
) -> Option<Change> {
    let (last, earlier) = series.points.split_last()?;
    let from = found.last().map_or(0, |change| change.index);
    let level = earlier.get(from..).filter(|level| !level.is_empty())?;
    let mut level: Vec<f64> = level.iter().map(|point| point.value_ns).collect();
    level.sort_by(f64::total_cmp);
    let level = level[level.len() / 2];
    let ratio = last.value_ns / level;
    (ratio >= sensitivity.factor).then(|| Change {
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
