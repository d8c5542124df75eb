//! The list of rules. A rule judges one operation, with all other operations at hand. It answers
//! with a suggestion, with nothing, or with the measurement that overruled its rule of thumb.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::calls::CallsOf;
use super::case::{Case, Subject};
use super::evidence::Verdict;

mod algorithm;
mod fewer_calls;
mod memory;
mod parallelization;
mod routing;

/// The rule that a suggestion comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// A GPU operation that is faster on the CPU.
    GpuToCpu,
    /// A CPU operation that is faster on a GPU.
    CpuToGpu,
    /// Many calls in sequence.
    Batching,
    /// Much memory.
    Memory,
    /// Many short calls.
    Caching,
    /// Time that grows faster than the size.
    Algorithm,
    /// A GPU that is hardly used.
    Parallelization,
}

impl Rule {
    /// All rules, in the order in which ties are broken.
    pub const ALL: &[Self] = &[
        Self::GpuToCpu,
        Self::CpuToGpu,
        Self::Batching,
        Self::Memory,
        Self::Caching,
        Self::Algorithm,
        Self::Parallelization,
    ];

    /// The kind of change that the rule suggests.
    pub fn kind(self) -> SuggestionType {
        match self {
            Self::GpuToCpu | Self::CpuToGpu => SuggestionType::Routing,
            Self::Batching => SuggestionType::Batching,
            Self::Memory => SuggestionType::Memory,
            Self::Caching => SuggestionType::Caching,
            Self::Algorithm => SuggestionType::Algorithm,
            Self::Parallelization => SuggestionType::Parallelization,
        }
    }

    /// True if the rule asks for fewer calls, so the calls must be a program's.
    pub(super) fn is_about_calls(self) -> bool {
        matches!(self, Self::Batching | Self::Caching)
    }

    /// Applies the rule to one operation.
    pub(super) fn ask(self, case: &Case<'_>, subject: &Subject<'_>) -> Verdict {
        if self.is_about_calls() && case.calls_of == CallsOf::Benchmark {
            return Verdict::Silent;
        }
        match self {
            Self::GpuToCpu => routing::to_cpu(case, subject),
            Self::CpuToGpu => routing::to_gpu(case, subject),
            Self::Batching => fewer_calls::batching(case, subject),
            Self::Memory => memory::ask(case, subject),
            Self::Caching => fewer_calls::caching(subject),
            Self::Algorithm => algorithm::ask(case, subject),
            Self::Parallelization => parallelization::ask(case, subject),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
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
