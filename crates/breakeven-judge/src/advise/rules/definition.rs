//! The definition of a rule of the advice.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::super::case::{Case, Subject};
use super::super::proposal::Verdict;

/// A rule: its subject and its question.
pub(in super::super) struct Definition {
    pub(in super::super) kind: SuggestionType,
    pub(in super::super) saves: Saves,
    /// What the case must have for the rule to apply.
    pub(in super::super) applies: fn(&Case<'_>, &Subject<'_>) -> bool,
    /// The rule's question: whether the operation should change, and the gain.
    pub(in super::super) ask: fn(&Case<'_>, &Subject<'_>) -> Verdict,
}

/// Which time of an operation a rule saves. Two rules may save the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Saves {
    /// All time on this device, because the operation runs on another.
    OtherDevice,
    /// Time that only this device costs, such as a launch.
    ThisDevice,
    /// The gap between the device's time and its time at the peaks.
    Roofline,
    /// The time of unnecessary work.
    Work,
}

impl Saves {
    /// True if both save the same time of an operation.
    pub(in super::super) fn same_as(self, other: Self) -> bool {
        let of_device = |saves| matches!(saves, Self::ThisDevice | Self::Roofline);
        match self {
            Self::OtherDevice => of_device(other),
            Self::ThisDevice => other == Self::OtherDevice,
            Self::Roofline => matches!(other, Self::OtherDevice | Self::Roofline),
            Self::Work => false,
        }
    }
}

/// The kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum SuggestionType {
    /// Run it on another device.
    Routing,
    /// Make fewer, larger calls.
    Batching,
    /// Use less memory, or use it better.
    Memory,
    /// Keep results instead of recomputing them.
    Caching,
    /// Use a method that needs less work.
    Algorithm,
    /// Keep more of the device busy.
    Parallelization,
}

impl fmt::Display for SuggestionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
