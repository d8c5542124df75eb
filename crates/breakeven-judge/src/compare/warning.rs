//! Reasons to trust a comparison less, as data.

use std::fmt;

use breakeven_profile::unit;
use serde::{Deserialize, Serialize};

/// Fewest samples per run; with fewer, its median depends on single calls.
pub(super) const ENOUGH_SAMPLES: usize = 5;

/// Fewest operations for a common shift.
pub(super) const FEWEST_TOGETHER: usize = 5;

/// Operations that a warning names before it only counts.
const MOST_NAMED: usize = 3;

/// One of the two sides of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The side that is compared against.
    Baseline,
    /// The side that is judged.
    Current,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Baseline => "baseline",
            Self::Current => "current side",
        })
    }
}

/// A property of the input that the verdicts do not show. Operations are named as in "conv2d on
/// cpu, size 65536".
#[derive(Debug, Clone, PartialEq, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Warning {
    /// A side has fewer runs than a verdict needs.
    #[error(
        "too few runs to estimate the noise: {} on the {} of {}; make 5 runs, or give earlier \
         profiles as the history",
        match *.runs { 1 => "one run".to_owned(), runs => format!("{runs} runs") },
        both(.sides),
        Named(.operations)
    )]
    FewRuns {
        /// The sides with too few runs.
        sides: Vec<Side>,
        /// The smallest number of runs.
        runs: usize,
        /// The operations.
        operations: Vec<String>,
    },
    /// A run with fewer than five samples.
    #[error(
        "too few samples: {samples} in a run on the {side} of {}; measure {ENOUGH_SAMPLES} or more",
        Named(.operations)
    )]
    FewSamples {
        /// The side.
        side: Side,
        /// The smallest number of samples in a run.
        samples: usize,
        /// The operations.
        operations: Vec<String>,
    },
    /// Times of less than twenty readings or steps of the clock.
    #[error(
        "near the clock's resolution on the {side}: {}; measure more work in a call",
        Named(.operations)
    )]
    NearClock {
        /// The side.
        side: Side,
        /// The operations.
        operations: Vec<String>,
    },
    /// Operations that are mostly the recorder's overhead on a side; if they are on both, they are
    /// excluded from the verdicts.
    #[error("mostly the recorder's overhead: {}; record the caller instead", Named(.operations))]
    MostlyRecording {
        /// The operations.
        operations: Vec<String>,
    },
    /// Operations that failed, or have no samples.
    #[error(
        "failed, or without samples, on the {}: {}",
        both(.sides),
        Named(.operations)
    )]
    Failed {
        /// The sides on which they failed.
        sides: Vec<Side>,
        /// The operations.
        operations: Vec<String>,
    },
    /// Runs of a side with bit-identical samples.
    #[error(
        "runs have the same samples on the {} of {}: copies of one measurement, which counts \
         once; remove results of benchmarks that no longer run, and measure each run anew",
        both(.sides),
        Named(.operations)
    )]
    Copies {
        /// The sides with copies.
        sides: Vec<Side>,
        /// The operations.
        operations: Vec<String>,
    },
    /// The same name, device and size, but not the same work.
    #[error("{operation} is not the same work ({what}: {baseline} in the baseline, {current} now)")]
    OtherWork {
        /// The operation.
        operation: String,
        /// The property that differs: `workload`, `items`, `bytes`, `flops`, `counter`.
        what: &'static str,
        /// Its value in the baseline.
        baseline: String,
        /// Its value on the current side.
        current: String,
    },
    /// The history does not cover the noise of these operations.
    #[error("the history does not cover the noise of {}", Named(.operations))]
    NoHistory {
        /// The operations.
        operations: Vec<String>,
    },
    /// All runs of one side were made before those of the other.
    #[error(
        "the sides were not measured in turns: all runs on the {} came after those on the \
         {earlier}, \
         so a change of the machine in between looks like a change of the program",
        .earlier.other()
    )]
    NotInTurns {
        /// The side that was measured first.
        earlier: Side,
    },
    /// Changes relative to a common shift were requested, but there is none.
    #[error(
        "the changes are not relative: {operations} tested operation(s) have no common shift, which needs at least {FEWEST_TOGETHER} that move together"
    )]
    NotRelative {
        /// Operations that were tested.
        operations: usize,
    },
    /// The clock differs: its source, or its steps by more than a factor of two.
    #[error("another clock: {baseline} in the baseline, {current} now")]
    Clock {
        /// The baseline's.
        baseline: String,
        /// The current side's.
        current: String,
    },
    /// The machine differs: processor, cores, system, or a GPU that operations ran on, or its
    /// driver.
    #[error(
        "another machine ({what}: {baseline} in the baseline, {current} now); differences may be \
         the \
         machine's"
    )]
    OtherMachine {
        /// The property, in words.
        what: String,
        /// The baseline's.
        baseline: String,
        /// The current side's.
        current: String,
    },
    /// The build profile differs. Different revisions are normal.
    #[error(
        "another build profile: {baseline} in the baseline, {current} now; build both sides alike"
    )]
    OtherBuild {
        /// The baseline's.
        baseline: String,
        /// The current side's.
        current: String,
    },
    /// The profiles of one side come from different machines or builds.
    #[error(
        "the profiles of the {side} differ in {what}: their runs are not of one machine and build"
    )]
    Mixed {
        /// The side.
        side: Side,
        /// What differs among them, in words.
        what: String,
    },
    /// Other programs used more of the cores on one side.
    #[error(
        "other programs used {} of the cores while the {side} was measured, and {} while the {} \
         was: differences may be theirs; measure again while nothing else runs",
        unit::percent(*.others), unit::percent(*.others_there), .side.other()
    )]
    Busy {
        /// The side on which they used more.
        side: Side,
        /// Their fraction of the cores' time there.
        others: f64,
        /// Their fraction on the other side.
        others_there: f64,
    },
    /// A device was hot on one side and cooler on the other.
    #[error(
        "{device} had {celsius:.0} °C on average while the {side} was measured, and \
         {celsius_there:.0} °C while the {} was: heat lowers clocks; let it cool, or warm both \
         sides up alike", .side.other()
    )]
    Hot {
        /// The side on which it was hot.
        side: Side,
        /// The device.
        device: String,
        /// Its mean temperature there, °C.
        celsius: f64,
        /// Its mean temperature on the other side, °C.
        celsius_there: f64,
    },
    /// A device's clocks were throttled more often on one side than on the other.
    #[error(
        "the clocks of {device} were throttled in {} of the readings on the {side}{}, and in {} on \
         the {}: differences may be theirs",
        unit::percent(*.limited), Reasons(.reasons), unit::percent(*.limited_there), .side.other()
    )]
    ClocksLimited {
        /// The side with more throttling.
        side: Side,
        /// The device.
        device: String,
        /// Fraction of the readings on that side.
        limited: f64,
        /// Fraction of the readings on the other side.
        limited_there: f64,
        /// The reasons, the most frequent first.
        reasons: Vec<String>,
    },
    /// A device ran at a lower clock on one side, while in use.
    #[error(
        "{device} ran at {} while the {side} was measured, and at {} while the {} was: \
         differences may be the clock's; set the same governor and limits",
        gigahertz(*.hz), gigahertz(*.hz_there), .side.other()
    )]
    LowerClock {
        /// The side on which the clock was lower.
        side: Side,
        /// The device.
        device: String,
        /// Its mean clock there while in use, Hz.
        hz: f64,
        /// Its mean clock on the other side, Hz.
        hz_there: f64,
    },
    /// Measuring was cut short.
    #[error("measuring the {side} was interrupted: some of the requested measurements are missing")]
    Interrupted {
        /// The side.
        side: Side,
    },
}

fn both(sides: &[Side]) -> String {
    let names: Vec<String> = sides.iter().map(Side::to_string).collect();
    names.join(" and the ")
}

fn gigahertz(hz: f64) -> String {
    format!("{:.2} GHz", hz / 1e9)
}

impl Side {
    /// The opposite side.
    pub(super) fn other(self) -> Self {
        match self {
            Self::Baseline => Self::Current,
            Self::Current => Self::Baseline,
        }
    }
}

/// Reasons in brackets; empty if there are none.
struct Reasons<'a>(&'a [String]);

impl fmt::Display for Reasons<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => Ok(()),
            reasons => write!(
                f,
                " ({})",
                reasons[..reasons.len().min(MOST_NAMED)].join(", ")
            ),
        }
    }
}

/// The first few operations, and the number of the remaining ones.
struct Named<'a>(&'a [String]);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.len().min(MOST_NAMED);
        f.write_str(&self.0[..shown].join("; "))?;
        match self.0.len() - shown {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
