//! The list of rules. Each rule is a file with a [`Definition`] and judges one operation, with all
//! other operations at hand. It answers with a suggestion, with nothing, or with the measurement
//! that overruled its rule of thumb.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::calls::CallsOf;
use super::case::{Case, Subject, Verdict};
use super::evidence::Evidence;

mod algorithm;
mod batching;
mod caching;
mod cpu_to_gpu;
mod gpu_to_cpu;
mod memory;
mod parallelization;

macro_rules! rules {
    ($($(#[$doc:meta])* $rule:ident: $file:ident,)*) => {
        /// The rule that a suggestion comes from: one file each.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Rule {
            $($(#[$doc])* $rule,)*
        }

        impl Rule {
            /// All rules, in the order in which ties are broken.
            pub const ALL: &[Self] = &[$(Self::$rule),*];

            pub(super) fn definition(self) -> &'static Definition {
                match self {
                    $(Self::$rule => &$file::RULE,)*
                }
            }
        }
    };
}

rules! {
    /// A GPU operation that is faster on the CPU.
    GpuToCpu: gpu_to_cpu,
    /// A CPU operation that is faster on a GPU.
    CpuToGpu: cpu_to_gpu,
    /// Many calls in sequence.
    Batching: batching,
    /// Much memory.
    Memory: memory,
    /// Many short calls.
    Caching: caching,
    /// Time that grows faster than the size.
    Algorithm: algorithm,
    /// A GPU that is hardly used.
    Parallelization: parallelization,
}

impl Rule {
    /// The kind of change that the rule suggests.
    pub fn kind(self) -> SuggestionType {
        self.definition().kind
    }

    /// True if the rule asks for fewer calls, so the calls must be a program's.
    pub(super) fn is_about_calls(self) -> bool {
        matches!(
            self.kind(),
            SuggestionType::Batching | SuggestionType::Caching
        )
    }

    /// Applies the rule to one operation.
    pub(super) fn ask(self, case: &Case<'_>, subject: &Subject<'_>) -> Verdict {
        let rule = self.definition();
        let of_benchmark = self.is_about_calls() && case.calls_of == CallsOf::Benchmark;
        if of_benchmark || !(rule.applies)(case, subject) {
            return Verdict::Silent;
        }
        let mut verdict = (rule.ask)(case, subject);
        if self.is_about_calls()
            && case.calls_of == CallsOf::Unmarked
            && let Verdict::Suggest(advised) = &mut verdict
        {
            advised.evidence.push(Evidence::UnmarkedCalls);
        }
        verdict
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

// The definition of a rule of the advice.

/// A rule: its subject and its question.
pub(super) struct Definition {
    pub(super) kind: SuggestionType,
    pub(super) saves: Saves,
    /// What the case must have for the rule to apply.
    pub(super) applies: fn(&Case<'_>, &Subject<'_>) -> bool,
    /// The rule's question: whether the operation should change, and the gain.
    pub(super) ask: fn(&Case<'_>, &Subject<'_>) -> Verdict,
}

/// Which time of an operation a rule saves. Two rules may save the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Saves {
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
    pub(super) fn same_as(self, other: Self) -> bool {
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
