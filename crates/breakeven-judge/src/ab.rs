//! Compares two variants in turns in one process, until it is decided which is faster.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use breakeven_stats::SequentialMean;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

use crate::{ChangeType, Threshold};

/// Shortest sample. Short calls are repeated to fill it, so that the cost of the clock and of the
/// loop hardly counts.
pub(crate) const SHORTEST_SAMPLE: Duration = Duration::from_micros(20);

/// Most calls per sample.
pub(crate) const MOST_CALLS: u32 = 1 << 14;

/// Samples per side that form one block. The median of their ratios counts, which a disturbed
/// sample does not move.
const BLOCK: usize = 5;

/// Options of a comparison of two variants: see [`ab`].
///
/// ```
/// use breakeven_judge::{Ab, ChangeType, Threshold};
///
/// let sum = |most: u64| std::hint::black_box((0..most).map(std::hint::black_box).sum::<u64>());
/// let compared = Ab::new("sum of numbers")
///     .threshold(Threshold::percent(10.0)?)
///     .run(|| sum(10_000), || sum(30_000));
/// assert_eq!(compared.verdict, ChangeType::Regression);
/// # Ok::<(), breakeven_judge::CompareError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing is compared before it runs"]
pub struct Ab {
    name: String,
    threshold: Threshold,
    level: f64,
    most_time: Duration,
    block: usize,
}

/// The result of comparing two variants; `a` is the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
#[must_use]
pub struct AbComparison {
    /// Name of what was compared.
    pub name: String,
    /// Times of `a`, ns per call, in the order of measurement.
    pub a_ns: Vec<f64>,
    /// Times of `b`, paired with those of `a`.
    pub b_ns: Vec<f64>,
    /// Calls per sample.
    pub calls_per_sample: u32,
    /// Time per call of each side, ns: the geometric mean of the judged pairs, which are the middle
    /// ones of their blocks. Their quotient is the ratio.
    pub typical_ns: [f64; 2],
    /// Time of a call of `b` divided by that of `a`.
    pub ratio: f64,
    /// Lower end of the ratio's interval, which is valid at any stopping time.
    pub lower: f64,
    /// Upper end; infinite while there are too few times.
    pub upper: f64,
    /// Its confidence level.
    pub level: f64,
    /// Smallest change that counts, a fraction.
    pub threshold: Threshold,
    /// [`Regression`](ChangeType::Regression) if `b` is slower,
    /// [`Improvement`](ChangeType::Improvement) if it is faster, [`NoChange`](ChangeType::NoChange)
    /// if they differ by less than the threshold, and [`Inconclusive`](ChangeType::Inconclusive) if
    /// the time limit was reached first.
    pub verdict: ChangeType,
    /// Duration of the comparison.
    #[serde(rename = "took_ns", serialize_with = "as_ns")]
    pub took: Duration,
}

fn as_ns<S: serde::Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// Compares two closures. Calls them in turns, in random order, and stops as soon as one is known
/// to be faster by 5 % or more, or neither is, or after ten seconds.
///
/// The ratio is taken of neighbouring calls, so that a phase that slows both down cancels out. It
/// is checked after every block of samples, with an interval that is valid at all times
/// ([`SequentialMean`]), so that early stopping does not change its level. Effects of code and data
/// placement in this one process remain in the ratio: to compare two builds, compare their profiles
/// of several processes ([`crate::compare()`]).
pub fn ab<A, B>(name: &str, a: impl FnMut() -> A, b: impl FnMut() -> B) -> AbComparison {
    Ab::new(name).run(a, b)
}

impl Ab {
    /// With a threshold of 5 %, at a level of 95 %, for ten seconds at most.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            threshold: Threshold::default(),
            level: 0.95,
            most_time: Duration::from_secs(10),
            block: BLOCK,
        }
    }

    /// The change that counts.
    pub fn threshold(mut self, threshold: Threshold) -> Self {
        self.threshold = threshold;
        self
    }

    /// Sets the time limit.
    pub fn most_time(mut self, time: Duration) -> Self {
        self.most_time = time;
        self
    }

    /// Sets the samples per side that form one block, five by default. Use one if a sample takes
    /// long and is seldom disturbed.
    pub fn block(mut self, samples: usize) -> Self {
        self.block = samples.max(1);
        self
    }

    /// Compares two closures.
    pub fn run<A, B>(&self, mut a: impl FnMut() -> A, mut b: impl FnMut() -> B) -> AbComparison {
        let mut time = |calls: u32, is_b: bool| {
            let start = Instant::now();
            for _ in 0..calls {
                if is_b {
                    std::hint::black_box(b());
                } else {
                    std::hint::black_box(a());
                }
            }
            start.elapsed()
        };
        // The first calls are not counted: they warm the caches and show how many calls fill a
        // sample.
        let mut calls = 1;
        while calls < MOST_CALLS && time(calls, false).min(time(calls, true)) < SHORTEST_SAMPLE {
            calls *= 2;
        }
        let sample = |is_b: bool| {
            let took = time(calls, is_b).as_secs_f64() * 1e9;
            Ok::<_, Infallible>(Some(took / f64::from(calls)))
        };
        let mut compared = match self.run_samples(sample) {
            Ok(compared) => compared,
            Err(never) => match never {},
        };
        compared.calls_per_sample = calls;
        compared
    }

    /// Compares two variants whose times, ns, `sample` returns: the time of the second variant if
    /// its argument is true. `None` ends the measurement; the samples up to then are judged.
    ///
    /// # Errors
    ///
    /// The first error of `sample`.
    pub fn run_samples<E>(
        &self,
        mut sample: impl FnMut(bool) -> Result<Option<f64>, E>,
    ) -> Result<AbComparison, E> {
        let started = Instant::now();
        let mut order = Xoshiro256PlusPlus::seed_from_u64(0);
        let (mut a_ns, mut b_ns) = (Vec::new(), Vec::new());
        let (mut change, mut log_a, mut blocks) = (SequentialMean::default(), 0.0, 0.0);
        let verdict = loop {
            let mut pairs = Vec::new();
            let mut is_over = false;
            for _ in 0..self.block {
                let b_first = order.random();
                let pair = (sample(b_first)?, sample(!b_first)?);
                let (Some(first), Some(second)) = pair else {
                    is_over = true;
                    break;
                };
                let (a, b) = if b_first {
                    (second, first)
                } else {
                    (first, second)
                };
                a_ns.push(a);
                b_ns.push(b);
                pairs.push([(b / a).ln(), a.ln()]);
            }
            let count = pairs.len();
            // An incomplete block counts only if there is no other.
            if count == self.block || blocks == 0.0 && count > 0 {
                pairs.sort_unstable_by(|one, other| one[0].total_cmp(&other[0]));
                let middle = [pairs[(count - 1) / 2], pairs[count / 2]];
                change.push(f64::midpoint(middle[0][0], middle[1][0]));
                log_a += f64::midpoint(middle[0][1], middle[1][1]);
                blocks += 1.0;
            }
            let verdict = self.verdict(change);
            let is_late = started.elapsed() >= self.most_time;
            if verdict != ChangeType::Inconclusive || is_over || is_late {
                break verdict;
            }
        };
        let [lower, upper] = change.interval(self.level).map(f64::exp);
        Ok(AbComparison {
            name: self.name.clone(),
            a_ns,
            b_ns,
            calls_per_sample: 1,
            typical_ns: [log_a / blocks, log_a / blocks + change.mean()].map(f64::exp),
            ratio: change.mean().exp(),
            lower,
            upper,
            level: self.level,
            threshold: self.threshold,
            verdict,
            took: started.elapsed(),
        })
    }

    /// Applies the gate's definitions: a change is significant and at least the threshold; for "no
    /// change", the complete interval is below the threshold.
    fn verdict(&self, change: SequentialMean) -> ChangeType {
        let [lower, upper] = change.interval(self.level);
        let counts = self.threshold.as_fraction().ln_1p();
        match change.mean() {
            mean if lower > 0.0 && mean >= counts => ChangeType::Regression,
            mean if upper < 0.0 && mean <= -counts => ChangeType::Improvement,
            _ if -counts < lower && upper < counts => ChangeType::NoChange,
            _ => ChangeType::Inconclusive,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times of two sides, `b`'s multiplied by a factor, with a few percent of noise and outliers.
    fn made_up(factor: f64, seed: u64) -> impl FnMut(bool) -> Result<Option<f64>, Infallible> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        move |is_b| {
            let stray = if random.random_bool(0.05) { 3.0 } else { 1.0 };
            let noise = 1.0 + 0.1 * random.random::<f64>();
            Ok(Some(1e6 * noise * stray * if is_b { factor } else { 1.0 }))
        }
    }

    fn verdict(factor: f64, seed: u64) -> (ChangeType, usize) {
        let ab = Ab::new("made up").most_time(Duration::from_millis(200));
        let Ok(compared) = ab.run_samples(made_up(factor, seed));
        assert_eq!(compared.a_ns.len(), compared.b_ns.len());
        assert!(compared.lower <= compared.ratio && compared.ratio <= compared.upper);
        let [a, b] = compared.typical_ns;
        assert!((b / a / compared.ratio - 1.0).abs() < 1e-9, "{compared:?}");
        assert!((1e6..1.3e6).contains(&a), "{a}");
        (compared.verdict, compared.a_ns.len())
    }

    #[test]
    fn what_differs_is_reported_soon_and_what_does_not_too() {
        for seed in 0..20 {
            let (slower, samples) = verdict(1.2, seed);
            assert_eq!(slower, ChangeType::Regression);
            assert!(samples <= 60, "{samples} samples");
            assert_eq!(verdict(0.8, seed).0, ChangeType::Improvement);
            assert_eq!(verdict(1.0, seed).0, ChangeType::NoChange);
        }
    }

    #[test]
    fn time_that_is_over_leaves_it_open() {
        let ab = Ab::new("open").most_time(Duration::ZERO);
        let Ok(compared) = ab.run_samples(made_up(1.2, 1));
        assert_eq!(
            (compared.verdict, compared.a_ns.len()),
            (ChangeType::Inconclusive, BLOCK)
        );
        assert_eq!(compared.upper, f64::INFINITY);
    }

    #[test]
    fn a_side_that_fails_ends_it() {
        let failed =
            Ab::new("fails").run_samples(|is_b| if is_b { Err("no") } else { Ok(Some(1.0)) });
        assert_eq!(failed, Err("no"));
    }

    #[test]
    fn what_was_measured_before_it_must_end_is_judged() {
        let judged = |most: usize| {
            let (mut samples, mut next) = (0, made_up(1.2, 1));
            let Ok(compared) = Ab::new("ended").run_samples(|is_b| {
                samples += 1;
                if samples > most { Ok(None) } else { next(is_b) }
            });
            (compared.verdict, compared.a_ns.len())
        };
        assert_eq!(judged(0), (ChangeType::Inconclusive, 0));
        assert_eq!(judged(3), (ChangeType::Inconclusive, 1));
        assert_eq!(judged(500).0, ChangeType::Regression);
    }
}
