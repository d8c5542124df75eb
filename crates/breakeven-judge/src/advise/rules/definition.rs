//! What a rule of the advice consists of.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::super::case::{Case, Subject};
use super::super::proposal::Verdict;

/// A rule: what it is about, and its question.
pub(in super::super) struct Definition {
    pub(in super::super) kind: SuggestionType,
    pub(in super::super) saves: Saves,
    /// What the case needs for the rule to be asked.
    pub(in super::super) applies: fn(&Case<'_>, &Subject<'_>) -> bool,
    /// The rule's question: whether the operation should change, and what that gains.
    pub(in super::super) ask: fn(&Case<'_>, &Subject<'_>) -> Verdict,
}

/// Which time of an operation a rule saves. Two rules may be different ways to the
/// same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Saves {
    /// All of the time on this device: the operation runs on another one.
    OtherDevice,
    /// Time that only this device costs, such as a launch.
    ThisDevice,
    /// The time between what this device does and what it could do at its peaks.
    Roofline,
    /// The time of work that no device needs to do.
    Work,
}

impl Saves {
    /// True for different ways to the same time of an operation.
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
    /// Fewer, larger calls.
    Batching,
    /// Less memory, or better use of it.
    Memory,
    /// Keep results instead of recomputing them.
    Caching,
    /// A method that needs less work.
    Algorithm,
    /// Keep more of the device busy.
    Parallelization,
}

impl fmt::Display for SuggestionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
