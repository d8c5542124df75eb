//! Where a step is placed by whoever knows what a detector has to find out.
//!
//! All know the noise and that there is exactly one step, so none can miss it. They take
//! the place whose neighbourhood of ±1 is the most probable: on average over all places
//! nothing that knows no more does better. What they misplace, noise has hidden.

use crate::hidden::Hidden;
use crate::kinds::Kind;

/// Values on each side of a step, at least.
const SHORTEST: usize = 3;

/// Levels that are tried where none is known: to so far beyond the lowest and highest
/// value, so far apart.
const BEYOND: f64 = 1.0;
const APART: f64 = 0.1;

/// Places where a step can be.
fn places(length: usize) -> std::ops::RangeInclusive<usize> {
    SHORTEST..=length - SHORTEST
}

/// The most probable place where the levels, and with them the size of the step, are not
/// known: any is as probable as any other. None for noise whose levels depend on each other
/// and have no formula.
pub(crate) fn knowing_the_noise(series: &[f64], kind: &Kind) -> Option<usize> {
    let logs = match (kind.alike > 0.0, kind.outliers > 0.0) {
        (true, true) => return None,
        (true, false) => by_least_squares(series, kind.alike),
        (false, _) => by_all_levels(series, kind),
    };
    Some(most_probable(&logs))
}

/// The most probable place if both levels are known, 0 and `step`.
pub(crate) fn knowing_everything(series: &[f64], kind: &Kind, step: f64) -> usize {
    if kind.outliers > 0.0 {
        let logs = Hidden::new(kind).by_place(series, step);
        return most_probable(&logs[SHORTEST - 1..=series.len() - SHORTEST - 1]);
    }
    let log_density = kind.log_density();
    let n = series.len();
    let innovation = |at: usize, level: f64, before: f64| {
        log_density(series[at] - level - kind.alike * (series[at - 1] - before))
    };
    // What all values after the first say, for a step at each place.
    let mut log: f64 = (SHORTEST..n).map(|at| innovation(at, step, step)).sum();
    let logs = places(n).map(|at| {
        log -= innovation(at, step, step);
        let here = log + innovation(at, step, 0.0);
        log += innovation(at, 0.0, 0.0);
        here
    });
    most_probable(&logs.collect::<Vec<_>>())
}

/// The place with the most probable neighbourhood, by the logarithms of probabilities.
fn most_probable(logs: &[f64]) -> usize {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let around = |at: usize| -> f64 {
        let near = &logs[at.saturating_sub(1)..(at + 2).min(logs.len())];
        near.iter().map(|log| (log - most).exp()).sum()
    };
    let best = (0..logs.len()).max_by(|one, other| around(*one).total_cmp(&around(*other)));
    SHORTEST + best.expect("a place")
}

/// Logarithms of the places' probabilities in normal noise over all levels: by what a step
/// takes off the sum of the squared innovations, and how well its size is known.
fn by_least_squares(series: &[f64], alike: f64) -> Vec<f64> {
    let n = series.len();
    let kept = 1.0 - alike;
    let scale = (1.0 - alike * alike).sqrt();
    let whitened = |at: usize| match at {
        0 => scale * series[0],
        _ => series[at] - alike * series[at - 1],
    };
    // Products of the series with a level, and of the level with itself.
    let level = scale * whitened(0) + kept * (1..n).map(whitened).sum::<f64>();
    let square = scale * scale + kept * kept * (n - 1) as f64;
    let place = |at: usize| {
        let rest = (n - at - 1) as f64;
        let behind: f64 = (at + 1..n).map(whitened).sum();
        let common = kept * (1.0 + rest * kept);
        let product = whitened(at) + kept * behind - common * level / square;
        let free = 1.0 + rest * kept * kept - common * common / square;
        (product * product / free / (scale * scale) - free.ln()) / 2.0
    };
    places(n).map(place).collect()
}

/// The same for independent noise of any density, by numerical integration.
fn by_all_levels(series: &[f64], kind: &Kind) -> Vec<f64> {
    let log_density = kind.log_density();
    let [lowest, highest] =
        [f64::min, f64::max].map(|far| series.iter().copied().reduce(far).expect("a series"));
    let levels = (0..)
        .map(|at| lowest - BEYOND + APART * f64::from(at))
        .take_while(|level| *level <= highest + BEYOND);
    // By value, then by level: of all values up to it, and of all from it on.
    let mut logs = [
        vec![Vec::new(); series.len()],
        vec![Vec::new(); series.len()],
    ];
    for level in levels {
        let each: Vec<f64> = series
            .iter()
            .map(|value| log_density(value - level))
            .collect();
        let mut sums = [0.0; 2];
        for at in 0..each.len() {
            let end = each.len() - 1 - at;
            sums[0] += each[at];
            sums[1] += each[end];
            logs[0][at].push(sums[0]);
            logs[1][end].push(sums[1]);
        }
    }
    let over_levels = |logs: &[f64]| {
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        most + logs.iter().map(|log| (log - most).exp()).sum::<f64>().ln()
    };
    let place = |at: usize| over_levels(&logs[0][at - 1]) + over_levels(&logs[1][at]);
    places(series.len()).map(place).collect()
}
