//! The evidence for a suggestion, or against one.

use std::fmt;

use breakeven_profile::profile::Device;
use breakeven_profile::unit;
use serde::Serialize;

/// One piece of evidence, with its figures. Its text begins with `measured`, `assumed` or `rule of
/// thumb`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Evidence {
    /// A constant was exceeded, and no measurement is more specific.
    RuleOfThumb {
        /// The quantity.
        quantity: Quantity,
        /// Its value, in the quantity's unit.
        value: f64,
        /// The constant, in the same unit.
        limit: f64,
    },
    /// The same operation at the same size, measured on another device.
    OtherDevice {
        /// The other device's id.
        device: String,
        /// This device's time over the other's, at the median: above 1 if the other is faster.
        times_as_fast: f64,
        /// 95 % interval of it.
        interval: Option<[f64; 2]>,
        /// True if the interval is over runs, not over the samples of one run.
        over_runs: bool,
        /// True if the interval excludes 1.
        clear: bool,
    },
    /// The operation was recorded on another device too, but without sizes, in a program that may
    /// have chosen the device by the size.
    Unsized {
        /// The other device's id.
        device: String,
    },
    /// A measured size from which one device pays over another.
    BreakEven {
        /// The device that pays from `size` on.
        device: String,
        /// The device that is faster below it.
        over: String,
        /// True if the GPU of the two is a software GPU.
        software_gpu: bool,
        /// Elements; `None`: never up to `tested_to`.
        size: Option<f64>,
        /// Interval of `size`, elements.
        interval: Option<[f64; 2]>,
        /// The largest size that was measured, elements.
        tested_to: Option<f64>,
        /// The operation's own size, elements.
        at: u64,
    },
    /// Shortest time that a device needs for the work, by its measured peaks.
    LeastTime {
        /// The device's id.
        device: String,
        /// Launch, transfers and work at its peaks, ns per call.
        least_ns: f64,
        /// Current time of a call, ns.
        call_ns: f64,
    },
    /// How close the operation is to its own device's peaks.
    Roofline {
        /// Fraction of the bandwidth measured at this working set.
        bytes_share: Option<f64>,
        /// Fraction of the measured arithmetic peak.
        flops_share: Option<f64>,
        /// A call's time at the peaks, ns.
        least_ns: f64,
    },
    /// The measured launch latency, which each call pays.
    Launch {
        /// Launch latency in a call, ns.
        launch_ns: f64,
        /// Fraction of the call's mean time.
        share: f64,
    },
    /// Consecutive calls.
    Sequence(Sequence),
    /// How time grows with the size.
    Growth {
        /// The sizes measured, elements.
        sizes: Vec<u64>,
        /// Exponent: time is proportional to size to this power.
        exponent: f64,
        /// 95 % interval of the exponent.
        interval: [f64; 2],
        /// The expected exponent.
        expected: f64,
        /// Source of the expectation.
        expected_from: ExpectedFrom,
    },
    /// Every GPU of the machine is a software GPU.
    OnlySoftwareGpus,
    /// The file does not say whether its samples are calls of a program.
    UnmarkedCalls,
}

/// The quantity that a rule of thumb checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Mean time of a call, ns.
    CallTime,
    /// Calls in a run.
    Calls,
    /// Memory of a call, bytes.
    Memory,
    /// Fraction of the GPU's units in use, 0 to 1.
    GpuUse,
}

/// Consecutive calls of one operation, with no other call between.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[must_use]
pub struct Sequence {
    /// The source that shows it.
    pub shown_by: ShownBy,
    /// Calls in a sequence, on average.
    pub length: f64,
    /// Fraction of the operation's calls that are in sequences, 0 to 1.
    pub share: f64,
}

impl Sequence {
    /// Fraction of the calls that would disappear if each sequence were one call.
    pub fn avoidable(&self) -> f64 {
        self.share * (1.0 - 1.0 / self.length)
    }
}

/// The source that shows a sequence of calls, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ShownBy {
    /// Single calls in the order of time.
    Timeline,
    /// Calls per call of the operation around them.
    Stacks,
    /// Only the number of calls in a run.
    Count,
}

impl fmt::Display for ShownBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Timeline => "timeline",
            Self::Stacks => "call paths",
            Self::Count => "number of calls in a run",
        })
    }
}

/// Source of the expected growth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectedFrom {
    /// The profile's operations and bytes at the device's measured peaks.
    Peaks,
    /// The profile's operations and bytes of each size.
    Work,
    /// Nothing is known: linear.
    Linear,
}

impl Evidence {
    /// True for measurements; false for constants and assumptions.
    pub fn is_measured(&self) -> bool {
        self.ground() == "measured"
    }

    /// The kind of evidence, the first words of its text.
    fn ground(&self) -> &'static str {
        match self {
            Self::RuleOfThumb { .. } => "rule of thumb",
            Self::UnmarkedCalls => "assumed",
            Self::Sequence(sequence) if sequence.shown_by == ShownBy::Count => "assumed",
            Self::Unsized { .. } => "not comparable",
            _ => "measured",
        }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.ground())?;
        match self {
            Self::RuleOfThumb {
                quantity,
                value,
                limit,
            } => quantity.passed(*value, *limit, f),
            Self::OtherDevice {
                device,
                times_as_fast,
                interval,
                over_runs,
                clear,
            } => {
                let (times, word, ends) = if *times_as_fast >= 1.0 {
                    (*times_as_fast, "fast", *interval)
                } else {
                    let turned = interval.map(|[lower, upper]| [1.0 / upper, 1.0 / lower]);
                    (1.0 / times_as_fast, "slow", turned)
                };
                write!(f, "{device} is {times:.2} times as {word}")?;
                if let Some([lower, upper]) = ends {
                    let over = if *over_runs { "runs" } else { "one run" };
                    write!(f, " ({lower:.2} to {upper:.2}, 95 % over {over})")?;
                }
                f.write_str(if *clear { "" } else { ", not clearly" })
            }
            Self::Unsized { device } => write!(
                f,
                "recorded on {device} too, without sizes: the calls may differ in size"
            ),
            Self::BreakEven {
                device,
                over,
                software_gpu,
                size,
                tested_to,
                at,
                ..
            } => {
                let [device, over] = [device, over].map(|id| Device::label(id, *software_gpu));
                match (size, tested_to) {
                    (Some(size), _) => write!(f, "{device} pays over {over} from size {size:.0}"),
                    (None, Some(to)) => {
                        write!(f, "{device} never paid over {over} up to size {to:.0}")
                    }
                    (None, None) => write!(f, "{device} never paid over {over}"),
                }?;
                write!(f, ", this is {at}")
            }
            Self::LeastTime {
                device,
                least_ns,
                call_ns,
            } => write!(
                f,
                "by its peaks {device} needs at least {} a call, which takes {} now",
                unit::time(*least_ns),
                unit::time(*call_ns)
            ),
            Self::Roofline {
                bytes_share,
                flops_share,
                least_ns,
            } => {
                f.write_str("at ")?;
                if let Some(share) = bytes_share {
                    write!(f, "{} of the bandwidth", unit::percent(*share))?;
                }
                if let Some(share) = flops_share {
                    let and = if bytes_share.is_some() { " and " } else { "" };
                    write!(f, "{and}{} of the arithmetic", unit::percent(*share))?;
                }
                write!(f, " of its device, {} at the peaks", unit::time(*least_ns))
            }
            Self::Launch { launch_ns, share } => write!(
                f,
                "a launch takes {}, {} of a call",
                unit::time(*launch_ns),
                unit::percent(*share)
            ),
            Self::Sequence(sequence) => write!(
                f,
                "{} of the calls follow one another, {:.0} at a time ({})",
                unit::percent(sequence.share),
                sequence.length,
                sequence.shown_by
            ),
            Self::Growth {
                sizes,
                exponent,
                interval: [lower, upper],
                expected,
                expected_from,
            } => {
                write!(
                    f,
                    "time grows as size^{exponent:.2} ({lower:.2} to {upper:.2}, 95 %) over {} sizes; ",
                    sizes.len()
                )?;
                match expected_from {
                    ExpectedFrom::Peaks => write!(f, "its work at the peaks as size^{expected:.2}"),
                    ExpectedFrom::Work => write!(f, "its work as size^{expected:.2}"),
                    ExpectedFrom::Linear => f.write_str("linear is size^1"),
                }
            }
            Self::OnlySoftwareGpus => f.write_str("every GPU here computes on the CPU"),
            Self::UnmarkedCalls => {
                f.write_str("the samples are calls of a program, not iterations of a benchmark")
            }
        }
    }
}

impl Quantity {
    /// Evidence that the quantity exceeds its constant, both in its unit.
    pub(super) fn thumb(self, value: f64, limit: f64) -> Evidence {
        Evidence::RuleOfThumb {
            quantity: self,
            value,
            limit,
        }
    }

    fn passed(self, value: f64, limit: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = |bytes: f64| format!("{:.0} MB", bytes / 1e6);
        let (text, what): (fn(f64) -> String, _) = match self {
            Self::CallTime => (unit::time, "a call"),
            Self::Calls => return write!(f, "{value:.0} calls in a run ({limit:.0} or more)"),
            Self::Memory => (megabytes, "held by a call"),
            Self::GpuUse => (unit::percent, "of the GPU in use"),
        };
        let side = if value < limit { "under" } else { "over" };
        write!(f, "{} {what} ({side} {})", text(value), text(limit))
    }
}
