//! The methods that decide whether an operation became slower.

use std::fmt;

use breakeven_judge::ChangeType;
use breakeven_judge::compare::{Options, compare};
use breakeven_profile::profile::{Operation, Profile};
use breakeven_profile::stats::median;

/// All methods, this project's first.
pub(crate) const METHODS: [Method; 3] = [Method::Breakeven, Method::Means, Method::MannWhitney];

/// Standard deviations from which the two-sided p of a normal statistic is 5 % or less.
const FIVE_PERCENT: f64 = 1.959_963_984_540_054;

/// A method.
#[derive(Clone, Copy)]
pub(crate) enum Method {
    /// [`compare`] with its defaults.
    Breakeven,
    /// The mean of all samples grew by 5 % or more.
    Means,
    /// Mann and Whitney's test on all samples of all runs together, at 5 %, no
    /// correction, and the median grew.
    MannWhitney,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Breakeven => "breakeven",
            Self::Means => "means_5_percent",
            Self::MannWhitney => "mann_whitney_pooled",
        })
    }
}

/// What [`compare`] reported about operations besides REGRESSION.
#[derive(Default)]
pub(crate) struct Verdicts {
    pub(crate) operations: usize,
    pub(crate) no_change: usize,
    pub(crate) inconclusive: usize,
}

impl Method {
    /// Which operations are slower; both sides have the same operations.
    pub(crate) fn slower(
        self,
        baseline: &[Operation],
        current: &[Operation],
        verdicts: &mut Verdicts,
    ) -> Vec<bool> {
        match self {
            Self::Breakeven => by_compare(baseline, current, verdicts),
            Self::Means => by_samples(baseline, current, |before, after| {
                mean(after) >= 1.05 * mean(before)
            }),
            Self::MannWhitney => by_samples(baseline, current, |before, after| {
                let median = |samples| median(samples).expect("there are samples");
                mann_whitney(before, after) >= FIVE_PERCENT && median(after) > median(before)
            }),
        }
    }
}

fn by_compare(baseline: &[Operation], current: &[Operation], verdicts: &mut Verdicts) -> Vec<bool> {
    let side = |operations: &[Operation]| Profile {
        operations: operations.to_vec(),
        ..Profile::default()
    };
    let comparison = compare(&[side(baseline)], &[side(current)], &Options::default())
        .expect("both sides have the same operations, with samples");
    let kinds: Vec<ChangeType> = comparison
        .operations
        .iter()
        .map(|each| each.change_type)
        .collect();
    let count = |kind| kinds.iter().filter(|each| **each == kind).count();
    verdicts.operations += kinds.len();
    verdicts.no_change += count(ChangeType::NoChange);
    verdicts.inconclusive += count(ChangeType::Inconclusive);
    kinds
        .iter()
        .map(|kind| *kind == ChangeType::Regression)
        .collect()
}

fn by_samples(
    baseline: &[Operation],
    current: &[Operation],
    is_slower: impl Fn(&[f64], &[f64]) -> bool,
) -> Vec<bool> {
    let samples = |operation: &Operation| -> Vec<f64> { operation.samples_ns().collect() };
    baseline
        .iter()
        .zip(current)
        .map(|(before, after)| is_slower(&samples(before), &samples(after)))
        .collect()
}

fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

/// Distance of the two sides' ranks from equality, in standard deviations: the normal approximation
/// of Mann and Whitney's (1947) test, corrected for ties and continuity (Lehmann 1975,
/// "Nonparametrics", section 1.2).
fn mann_whitney(before: &[f64], after: &[f64]) -> f64 {
    let side =
        |samples: &[f64], is_before| samples.iter().map(move |ns| (*ns, is_before)).collect();
    let pooled: [Vec<(f64, bool)>; 2] = [side(before, true), side(after, false)];
    let mut pooled = pooled.concat();
    pooled.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut ranked, mut sum, mut ties) = (0.0, 0.0, 0.0);
    for group in pooled.chunk_by(|a, b| a.0 == b.0) {
        let equal = group.len() as f64;
        let of_before = group.iter().filter(|(_, is_before)| *is_before).count();
        // Equal samples share the mean of their ranks.
        sum += of_before as f64 * (ranked + (equal + 1.0) / 2.0);
        ties += equal * (equal * equal - 1.0);
        ranked += equal;
    }
    let (n, m) = (before.len() as f64, after.len() as f64);
    let u = sum - n * (n + 1.0) / 2.0;
    let variance = n * m / 12.0 * (ranked + 1.0 - ties / (ranked * (ranked - 1.0)));
    let distance = (u - n * m / 2.0).abs() - 0.5;
    // If all samples are equal, there is no variance and no distance.
    if distance > 0.0 {
        distance / variance.sqrt()
    } else {
        0.0
    }
}
