//! The size from which one device is faster than another, from times of both at
//! several sizes.
//!
//! Both devices are timed in turns, round after round, so that what slows the
//! machine down for a while slows both. With D = ln(time on the device / time on the
//! other), a device pays where D is negative. Over the rounds, D at each size has a
//! 95 % interval (Student's t): that tells the sizes at which either is faster from
//! those at which nobody knows. Between the last size at which the device does not pay
//! for sure and those from which on it does, a line through D over the logarithm of
//! the size is drawn for every round. Where the lines cross zero, the devices are
//! equal: the mean of these places is the break-even, their spread its interval.
//!
//! - A curve is no line. What a parabola through the means puts elsewhere moves the
//!   estimate and widens the interval.
//! - Rounds are taken for independent. What changes from one minute to the next is in
//!   the interval; what changes from one day to the next is not.

mod fit;
mod refine;
#[cfg(test)]
mod tests;

pub use refine::{coarse_sizes, refined_sizes};

use breakeven_profile::{profile, unit};
use breakeven_stats::mean_interval;

use fit::Crossings;

/// Level of every interval.
const LEVEL: f64 = 0.95;

/// Rounds from which there is an interval that is worth its name.
const LEAST_ROUNDS: usize = 3;

/// Times of both devices at one size, a round each.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeTimes {
    /// Elements, positive.
    pub size: f64,
    /// The device that may pay, ns, positive: the median of each round.
    pub device_ns: Vec<f64>,
    /// The other one, ns, of the same rounds.
    pub over_ns: Vec<f64>,
}

impl SizeTimes {
    /// ln(device / other) of each round that has both.
    fn log_ratios(&self) -> Vec<f64> {
        let pairs = self.device_ns.iter().zip(&self.over_ns);
        let ratios = pairs.map(|(device, over)| (device / over).ln());
        ratios.filter(|ratio| ratio.is_finite()).collect()
    }
}

/// From which size on a device pays, among those that were tried.
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use]
pub enum BreakEven {
    /// From about `size` on, for sure from the interval's upper end on.
    From {
        /// Elements.
        size: f64,
        /// Where it is with a probability of 95 %.
        interval: [f64; 2],
    },
    /// At every size that was tried.
    Always {
        /// The smallest one, elements.
        tried_from: f64,
    },
    /// At none that was tried, up to the largest.
    Never {
        /// The largest one, elements.
        tried_to: f64,
    },
    /// At some sizes, and no longer at the largest, as where the device's memory is full.
    Within {
        /// The smallest size at which it pays for sure, elements.
        smallest: f64,
        /// The largest such size.
        largest: f64,
    },
    /// The times do not tell: noise, too few rounds or sizes, or devices that are
    /// about equally fast.
    Unclear {
        /// The largest size at which it does not pay for sure, elements.
        not_before: Option<f64>,
    },
}

/// What is certain of a size.
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

/// The sizes in order, with what is certain of each.
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

    /// Places of the last size at which the device does not pay for sure, if there is
    /// one, and of the first from which on it always does; none where it does not
    /// at the largest.
    fn bracket(&self) -> Option<(Option<usize>, usize)> {
        let paying = self.signs.iter().rev();
        let paying = paying.take_while(|sign| **sign == Sign::Pays).count();
        let first = self.signs.len() - paying;
        (paying > 0).then(|| (self.last_loss(first), first))
    }

    /// Places of the first and the last size at which it pays.
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
    /// Describes the break-even of a device in values of what was swept `over`, up to
    /// the `largest` value that was tried:
    /// `pays from size 52 000 on (95 % interval: 48 000 to 57 000)`. The `remedy` for
    /// times that do not tell is left to the caller.
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
                format!("{known}the times do not tell: {remedy}")
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

    /// The entry of a profile's evidence; `None` where no size is known from which on
    /// the device pays or never does.
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
