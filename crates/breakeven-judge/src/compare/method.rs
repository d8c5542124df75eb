//! How a verdict was reached, or why there is none.

use std::fmt;

use breakeven_stats::LogRatioMethod;
use serde::Serialize;

/// How an operation was judged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// A test over runs; the verdict uses its corrected p-value and its interval.
    Test(LogRatioMethod),
    /// A count that is equal in every run of each side has no noise: the threshold alone decides.
    SameInEveryRun,
    /// The threshold alone, as requested.
    PlainThreshold,
    /// There is no verdict.
    NotTested(NotTested),
}

/// Why an operation has no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NotTested {
    /// It is on one side only.
    #[error("on one side only")]
    OneSide,
    /// Fewer than four runs on a side, and no known noise: how much runs differ is unknown.
    #[error("fewer than four runs on a side: too few to estimate how much runs differ")]
    FewRuns,
    /// A run has a time of zero, below the clock's resolution: no ratio exists.
    #[error("a run has a time of 0 ns, below the clock's resolution: measure more work in a call")]
    ZeroTime,
    /// It is mostly the recorder's overhead, on both sides.
    #[error("mostly the recorder's overhead")]
    MostlyRecording,
    /// It failed on a side, or has no samples there.
    #[error("failed, or without samples, on a side")]
    Failed,
    /// A side lacks the metric's figure, has it in another unit, or it is negative.
    #[error("a side lacks the figure, has it in another unit, or below zero")]
    NoValue,
    /// Neither side has the metric's figure.
    #[error("neither side has the figure")]
    NoValues,
    /// Different counters measured the energy of some runs.
    #[error(
        "different counters measured the energy of some runs: measure both sides on the same \
         machine, with the same rights"
    )]
    OtherCounters,
    /// The values of a count differ between runs and some are zero: no ratio.
    #[error("zero in some runs and not in others")]
    ZeroAmongValues,
}

impl NotTested {
    /// True if it says nothing against the operation, which is then excluded from the overall
    /// verdict instead of making that inconclusive.
    pub fn is_left_out(self) -> bool {
        matches!(self, Self::MostlyRecording | Self::NoValues)
    }

    /// True if there are no values on both sides.
    pub(super) fn is_without_values(self) -> bool {
        matches!(
            self,
            Self::OneSide | Self::NoValue | Self::NoValues | Self::ZeroTime
        )
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Test(LogRatioMethod::Welch { .. }) => f.write_str("t-test over runs"),
            Self::Test(LogRatioMethod::Shared { .. }) => {
                f.write_str("t-test over runs, noise learned from all operations and the history")
            }
            Self::Test(LogRatioMethod::Permutation) => f.write_str("permutation test over runs"),
            Self::SameInEveryRun => f.write_str("the same in every run: threshold alone"),
            Self::PlainThreshold => f.write_str("threshold alone, as requested"),
            Self::NotTested(why) => why.fmt(f),
        }
    }
}
