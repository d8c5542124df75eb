//! Where a step is placed by whoever knows what a detector has to find out.
//!
//! Both know the noise and that there is exactly one step, so neither can miss it. What
//! they misplace, noise has hidden.

use crate::kinds::Kind;

/// Values on each side of a step, at least.
const SHORTEST: usize = 3;

/// The place by generalised least squares with the true correlation of neighbours. Levels
/// and size of the step are not known.
pub(crate) fn by_least_squares(series: &[f64], alike: f64) -> usize {
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
    let mut best = (0, -1.0);
    let mut behind = 0.0;
    for at in (SHORTEST..n).rev() {
        let rest = (n - at - 1) as f64;
        let step = whitened(at) + kept * behind;
        let common = kept * (1.0 + rest * kept);
        let told = step - common * level / square;
        let gain = told * told / (1.0 + rest * kept * kept - common * common / square);
        if n - at >= SHORTEST && gain > best.1 {
            best = (at, gain);
        }
        behind += whitened(at);
    }
    best.0
}

/// The place whose neighbourhood of ±1 is the most probable, if everything but the place is
/// known: both levels too. On average over all places nothing does better. None for noise
/// whose density is not simple.
pub(crate) fn by_probability(series: &[f64], kind: &Kind, step: f64) -> Option<usize> {
    let log_density = kind.log_density()?;
    let n = series.len();
    let innovation = |at: usize, level: f64, before: f64| {
        log_density(series[at] - level - kind.alike * (series[at - 1] - before))
    };
    let places: Vec<usize> = (SHORTEST..=n - SHORTEST).collect();
    // What all values after the first say, for a step at each place.
    let behind: f64 = (SHORTEST..n).map(|at| innovation(at, step, step)).sum();
    let mut log = behind;
    let logs = places.iter().map(|&at| {
        log -= innovation(at, step, step);
        let here = log + innovation(at, step, 0.0);
        log += innovation(at, 0.0, 0.0);
        here
    });
    let logs: Vec<f64> = logs.collect();
    let most = logs
        .iter()
        .fold(f64::NEG_INFINITY, |most, log| log.max(most));
    let around = |at: usize| -> f64 {
        let near = &logs[at.saturating_sub(1)..(at + 2).min(logs.len())];
        near.iter().map(|log| (log - most).exp()).sum()
    };
    (0..logs.len())
        .max_by(|one, other| around(*one).total_cmp(&around(*other)))
        .map(|at| places[at])
}
