//! Finds the size from which one device is faster than another, from times of both at several
//! sizes.
//!
//! Both devices are timed in turns, round after round, so that a slow phase of the machine affects
//! both. With D = ln(time on the device / time on the other), a device pays if D is negative. Over
//! the rounds, D at each size has a 95 % interval (Student's t), which separates the sizes at which
//! one device is faster from the undecided ones. Between the last size at which the device clearly
//! loses and the first from which it always clearly wins, a line through D over the logarithm of
//! the size is fitted for every round. The lines cross zero where the devices are equally fast: the
//! mean of the crossings is the break-even, their spread gives its interval.
//!
//! - A curve is no line. If the means themselves cross zero elsewhere, the estimate moves there and
//!   the interval widens.
//! - Rounds are assumed independent. The interval covers what changes from minute to minute, not
//!   what changes from day to day.

mod fit;
mod page;
mod plot;
mod sweep;
mod swept;
#[cfg(test)]
mod tests;

pub use sweep::{Missed, Side, Sweep, sweep};
pub use swept::{Point, Rival, Swept, Time};

use breakeven_profile::{profile, unit};
use breakeven_stats::mean_interval;
use serde::Serialize;

use fit::Crossings;

/// Level of every interval.
const LEVEL: f64 = 0.95;

/// Fewest rounds for a meaningful interval.
const LEAST_ROUNDS: usize = 3;

/// Times of both devices at one size, one per round.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeTimes {
    /// Elements, positive.
    pub size: f64,
    /// Times of the device that may pay, ns, positive: the median of each round.
    pub device_ns: Vec<f64>,
    /// Times of the other device, ns, in the same rounds.
    pub over_ns: Vec<f64>,
}

impl SizeTimes {
    /// ln(device / other) of each round that has both times.
    fn log_ratios(&self) -> Vec<f64> {
        let pairs = self.device_ns.iter().zip(&self.over_ns);
        let ratios = pairs.map(|(device, over)| (device / over).ln());
        ratios.filter(|ratio| ratio.is_finite()).collect()
    }
}

/// From which of the measured sizes a device pays.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
#[must_use]
pub enum BreakEven {
    /// From about `size` on; for sure from the interval's upper end on.
    From {
        /// Elements.
        size: f64,
        /// 95 % interval of the size.
        interval: [f64; 2],
    },
    /// At every measured size.
    Always {
        /// The smallest measured size, elements.
        tried_from: f64,
    },
    /// At no measured size, up to the largest.
    Never {
        /// The largest measured size, elements.
        tried_to: f64,
    },
    /// At some sizes, but not at the largest, as when the device's memory is full.
    Within {
        /// The smallest size at which it clearly pays, elements.
        smallest: f64,
        /// The largest such size.
        largest: f64,
    },
    /// The times do not decide: too much noise, too few rounds or sizes, or devices that are about
    /// equally fast.
    Unclear {
        /// The largest size at which it clearly does not pay, elements.
        not_before: Option<f64>,
    },
}

/// What is certain at a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// The device is slower.
    Loses,
    /// The device is faster.
    Pays,
    Unclear,
}

fn sign(log_ratios: &[f64]) -> Sign {
    if log_ratios.len() < LEAST_ROUNDS {
        return Sign::Unclear;
    }
    match mean_interval(log_ratios, LEVEL) {
        Ok([low, _]) if low > 0.0 => Sign::Loses,
        Ok([_, high]) if high < 0.0 => Sign::Pays,
        _ => Sign::Unclear,
    }
}

/// The sizes in order, each with what is certain.
struct Signs<'t> {
    times: Vec<&'t SizeTimes>,
    signs: Vec<Sign>,
}

impl<'t> Signs<'t> {
    fn of(times: &'t [SizeTimes]) -> Self {
        let is_usable = |times: &&SizeTimes| times.size.is_finite() && times.size > 0.0;
        let mut times: Vec<&SizeTimes> = times.iter().filter(is_usable).collect();
        times.sort_by(|a, b| a.size.total_cmp(&b.size));
        times.dedup_by(|a, b| a.size == b.size);
        let signs = times
            .iter()
            .map(|times| sign(&times.log_ratios()))
            .collect();
        Self { times, signs }
    }

    /// Indices of the last size at which the device clearly does not pay, if there is one, and of
    /// the first from which it always does; none if it does not pay at the largest.
    fn bracket(&self) -> Option<(Option<usize>, usize)> {
        let paying = self.signs.iter().rev();
        let paying = paying.take_while(|sign| **sign == Sign::Pays).count();
        let first = self.signs.len() - paying;
        (paying > 0).then(|| (self.last_loss(first), first))
    }

    /// Indices of the first and the last size at which it pays.
    fn paying(&self) -> Option<[usize; 2]> {
        let pays = |sign: &Sign| *sign == Sign::Pays;
        let first = self.signs.iter().position(pays)?;
        Some([first, self.signs.iter().rposition(pays)?])
    }

    /// The last size before `end` at which it loses.
    fn last_loss(&self, end: usize) -> Option<usize> {
        self.signs[..end]
            .iter()
            .rposition(|sign| *sign == Sign::Loses)
    }
}

/// The integers that an interval of sizes leaves open.
fn whole([low, high]: [f64; 2]) -> [f64; 2] {
    [low.floor(), high.ceil()]
}

/// Estimates the break-even from times at several sizes, in any order.
pub fn break_even(times: &[SizeTimes]) -> BreakEven {
    let signs = Signs::of(times);
    let size = |index: usize| signs.times[index].size;
    match signs.bracket() {
        Some((Some(loses), pays)) => {
            let bracket @ [low, high] = [size(loses), size(pays)];
            let crossings = Crossings::of(&signs.times, bracket).estimate();
            let [size, low, high] = crossings.unwrap_or([(low * high).sqrt(), low, high]);
            BreakEven::From {
                size,
                interval: [low, high],
            }
        }
        Some((None, 0)) => BreakEven::Always {
            tried_from: size(0),
        },
        Some((None, _)) => BreakEven::Unclear { not_before: None },
        None => {
            let all = signs.signs.len();
            let last_loss = signs.last_loss(all);
            match (last_loss, signs.paying()) {
                (Some(last), Some([smallest, largest])) if last + 1 == all => BreakEven::Within {
                    smallest: size(smallest),
                    largest: size(largest),
                },
                (Some(last), None) if last + 1 == all => BreakEven::Never {
                    tried_to: size(last),
                },
                _ => BreakEven::Unclear {
                    not_before: last_loss.map(size),
                },
            }
        }
    }
}

impl BreakEven {
    /// Describes the break-even of a device in values of the swept quantity `over`, up to the
    /// `largest` measured value: `pays from size 52 000 on (95 % interval: 48 000 to 57 000)`. The
    /// caller gives the `remedy` for times that do not decide.
    pub fn text(&self, over: &str, largest: f64, remedy: &str) -> String {
        let count = |value: f64| unit::count(value.round());
        match *self {
            Self::From { size, interval } => format!(
                "pays from {over} {} on (95 % interval: {} to {})",
                count(size),
                count(interval[0]),
                count(interval[1])
            ),
            Self::Always { tried_from } => {
                format!("pays at every {over} tried, from {} on", count(tried_from))
            }
            Self::Never { tried_to } => format!("never pays up to {over} {}", count(tried_to)),
            Self::Unclear { not_before } => {
                let known = not_before.map_or_else(String::new, |value| {
                    format!("does not pay up to {over} {}; beyond, ", count(value))
                });
                format!("{known}the times do not decide: {remedy}")
            }
            Self::Within {
                smallest,
                largest: last,
            } => format!(
                "pays from {over} {} to {}, and no longer at {}",
                count(smallest),
                count(last),
                count(largest)
            ),
        }
    }

    /// The constant for a program that takes the device from that size on: the break-even with as
    /// few digits as its interval permits, 0 if the device always pays, infinity if it never does;
    /// none if no constant is right.
    pub fn constant(&self) -> Option<f64> {
        match *self {
            Self::From { size, interval } => {
                let [low, high] = whole(interval);
                let rounded = |digits: i32| {
                    let unit = 10_f64.powi((size.log10().floor() as i32 + 1 - digits).max(0));
                    (size / unit).round() * unit
                };
                let fits = |size: &f64| low <= *size && *size <= high;
                Some((2..10).map(rounded).find(fits).unwrap_or(high))
            }
            Self::Always { .. } => Some(0.0),
            Self::Never { .. } => Some(f64::INFINITY),
            Self::Within { .. } | Self::Unclear { .. } => None,
        }
    }

    /// Whether these times agree with such a constant; none if they do not decide. The interval is
    /// rounded outwards to two digits, as constants are.
    pub fn admits(&self, constant: f64) -> Option<bool> {
        match *self {
            Self::From { interval, .. } => {
                let unit = |end: f64| 10_f64.powi((end.max(1.0).log10().floor() as i32 - 1).max(0));
                let [low, high] = whole(interval);
                let low = (low / unit(low)).floor() * unit(low);
                let high = (high / unit(high)).ceil() * unit(high);
                Some(low <= constant && constant <= high)
            }
            Self::Always { tried_from } => Some(constant <= tried_from),
            Self::Never { .. } if constant.is_infinite() => Some(true),
            Self::Never { tried_to: most } | Self::Within { largest: most, .. } => {
                (constant <= most).then_some(false)
            }
            Self::Unclear { not_before } => {
                (not_before.is_some_and(|size| constant <= size)).then_some(false)
            }
        }
    }

    /// The entry of a profile's evidence; `None` if no size is known from which the device pays,
    /// nor that it never does.
    pub fn evidence(
        &self,
        operation: &str,
        device: &str,
        over: &str,
        tested_to: f64,
    ) -> Option<profile::BreakEven> {
        let (size, interval) = match *self {
            Self::From { size, interval } => (Some(size), Some(interval)),
            Self::Always { tried_from } => (Some(tried_from), Some([0.0, tried_from])),
            Self::Never { .. } => (None, None),
            Self::Within { .. } | Self::Unclear { .. } => return None,
        };
        Some(profile::BreakEven {
            operation: operation.to_owned(),
            device: device.to_owned(),
            over: over.to_owned(),
            size,
            interval,
            tested_to: Some(tested_to),
        })
    }
}

// Chooses the sizes to time.

/// Sizes per doubling, near the break-even.
const PER_DOUBLING: f64 = 4.0;

/// How far beyond what is certain sizes are refined, as a factor.
const AROUND: f64 = 1.42;

/// Most sizes that are added at a time.
const MOST: usize = 12;

/// The sizes to begin with: `from`, doubled until `to`, and `to`; none if the range is empty.
pub fn coarse_sizes(from: u64, to: u64) -> Vec<u64> {
    let mut sizes = Vec::new();
    let mut size = from.max(1);
    while size < to {
        sizes.push(size);
        size = size.saturating_mul(2);
    }
    if from <= to && to > 0 {
        sizes.push(to);
    }
    sizes
}

impl Signs<'_> {
    /// The range around the break-even in which further times narrow its interval; none if there is
    /// no break-even.
    fn around(&self) -> Option<[f64; 2]> {
        let (loses, pays) = self.bracket()?;
        Some([
            self.times[loses?].size / AROUND,
            self.times[pays].size * AROUND,
        ])
    }
}

/// Further sizes that would narrow the break-even's interval, given the times measured so far; none
/// if these contain no break-even.
pub fn refined_sizes(times: &[SizeTimes]) -> Vec<u64> {
    let signs = Signs::of(times);
    let Some([low, high]) = signs.around() else {
        return Vec::new();
    };
    let least = signs.times.first().map_or(low, |times| times.size);
    let most = signs.times.last().map_or(high, |times| times.size);
    let doublings = (high / low).log2();
    let count = (doublings * PER_DOUBLING).ceil().clamp(1.0, MOST as f64);
    let step = doublings / count;
    let known = |size: f64| {
        let near = |times: &SizeTimes| (times.size / size).log2().abs() < 0.5 * step;
        signs.times.iter().any(|times| near(times))
    };
    #[expect(clippy::cast_sign_loss, reason = "1 or more")]
    let whole = |size: f64| size as u64;
    let mut sizes: Vec<u64> = (0..=MOST)
        .map(|at| at as f64)
        .take_while(|at| *at <= count)
        .map(|at| (low * (at * step).exp2()).round())
        .filter(|size| *size >= least.max(1.0) && *size <= most && !known(*size))
        .map(whole)
        .collect();
    sizes.dedup();
    sizes
}
