//! The distribution of an operation's times, per run.

use breakeven_profile::profile::Operation;
use breakeven_profile::unit;
use serde::Serialize;
use serde_json::Value;

use crate::part::number;

/// Most runs that are drawn per operation.
const MOST_RUNS: usize = 10;

/// Most and fewest bins per run.
const BINS: [usize; 2] = [8, 40];

/// Most counts in a page, over all histograms: about 600 KB.
const MOST_COUNTS: usize = 250_000;

/// Ratio of the longest to the shortest time from which bins are equally wide on a logarithmic
/// scale.
const WIDE: f64 = 8.0;

/// Bins per run, so that the histograms of n runs fit the page.
pub(crate) fn bins_for(runs: usize) -> usize {
    let [least, most] = BINS;
    (MOST_COUNTS / runs.max(1)).clamp(least, most)
}

/// Counts of samples in bins that all runs share.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Histogram {
    /// The shortest and the longest time, ns.
    from: Value,
    to: Value,
    /// True if the bins are equally wide on a logarithmic scale.
    log: bool,
    /// Counts per run, without trailing zeros.
    runs: Vec<Vec<u32>>,
    /// Number of bins per run.
    bins: usize,
    /// What the histogram shows, in words.
    finding: String,
}

impl Histogram {
    /// None without samples.
    pub(crate) fn of(operation: &Operation, most_bins: usize) -> Option<Self> {
        let runs = operation.runs.iter();
        let runs: Vec<&[f64]> = runs
            .map(|run| run.samples_ns.as_slice())
            .filter(|samples| !samples.is_empty())
            .collect();
        let drawn = &runs[..runs.len().min(MOST_RUNS)];
        let samples = || drawn.iter().copied().flatten().copied();
        let from = samples().reduce(f64::min)?;
        let to = samples().reduce(f64::max)?;
        let log = from > 0.0 && to / from > WIDE;
        let count: usize = drawn.iter().map(|run| run.len()).sum();
        // A few samples in many bins show nothing.
        let bins = whole((2.0 * (count as f64).sqrt()).ceil()).clamp(BINS[0], most_bins);
        let place = |ns: f64| {
            let way = match log {
                true => (ns / from).ln() / (to / from).ln(),
                false => (ns - from) / (to - from),
            };
            // If all values are equal, the position is not a number, and the first bin takes them
            // all.
            whole(way * bins as f64).min(bins - 1)
        };
        let counted = drawn.iter().map(|run| {
            let mut counts = vec![0_u32; bins];
            for ns in run.iter() {
                counts[place(*ns)] += 1;
            }
            let used = counts
                .iter()
                .rposition(|count| *count > 0)
                .map_or(0, |at| at + 1);
            counts.truncate(used);
            counts
        });
        let what = match (drawn.len(), runs.len()) {
            (1, 1) => format!("{count} samples of a run"),
            (drawn, all) if drawn == all => format!("{count} samples of {all} runs"),
            (drawn, all) => format!("{count} samples of the first {drawn} of {all} runs"),
        };
        Some(Self {
            finding: format!("{what}, from {} to {}", unit::time(from), unit::time(to)),
            runs: counted.collect(),
            from: number(from),
            to: number(to),
            log,
            bins,
        })
    }
}

#[expect(clippy::cast_sign_loss, reason = "casts saturate, and NaN is 0")]
fn whole(value: f64) -> usize {
    value as usize
}

#[cfg(test)]
mod tests {
    use breakeven_profile::profile::Run;

    use super::*;

    fn of(runs: &[&[f64]]) -> Option<Histogram> {
        let mut operation = Operation::new("f", "cpu");
        operation.runs.extend(runs.iter().map(|samples| Run {
            samples_ns: samples.to_vec(),
            ..Run::default()
        }));
        Histogram::of(&operation, 40)
    }

    #[test]
    fn every_sample_is_in_one_bin() {
        let histogram = of(&[&[10.0, 11.0, 12.0, 18.0], &[10.0; 3], &[]]).expect("samples");
        assert_eq!((histogram.bins, histogram.log), (8, false));
        assert_eq!(histogram.runs, [vec![1, 1, 1, 0, 0, 0, 0, 1], vec![3]]);
        assert_eq!(
            histogram.finding,
            "7 samples of 2 runs, from 10.0 ns to 18.0 ns"
        );
    }

    #[test]
    fn times_of_several_magnitudes_are_in_logarithmic_bins() {
        let histogram = of(&[&[1.0, 10.0, 100.0, 256.0]]).expect("samples");
        assert!(histogram.log);
        assert_eq!(histogram.runs, [vec![1, 0, 0, 1, 0, 0, 1, 1]]);
    }

    #[test]
    fn equal_samples_and_zeros_and_none() {
        assert_eq!(of(&[&[5.0, 5.0]]).expect("samples").runs, [vec![2]]);
        assert_eq!(of(&[&[0.0, 0.0]]).expect("samples").runs, [vec![2]]);
        assert_eq!(
            of(&[&[0.0, 1e9]]).expect("samples").runs,
            [vec![1, 0, 0, 0, 0, 0, 0, 1]]
        );
        assert!(of(&[&[]]).is_none() && of(&[]).is_none());
    }

    #[test]
    fn many_runs_have_fewer_bins() {
        assert_eq!([1, 6_250, 12_500, 1_000_000].map(bins_for), [40, 40, 20, 8]);
    }
}
