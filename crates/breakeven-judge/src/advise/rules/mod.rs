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

macro_rules! rules {
    ($($(#[$doc:meta])* $rule:ident: $kind:ident, $file:ident::$ask:ident;)*) => {
        /// The rule that a suggestion comes from.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Rule {
            $($(#[$doc])* $rule,)*
        }

        impl Rule {
            /// All rules, in the order in which ties are broken.
            pub const ALL: &[Self] = &[$(Self::$rule),*];

            /// The kind of change that the rule suggests.
            pub fn kind(self) -> SuggestionType {
                match self {
                    $(Self::$rule => SuggestionType::$kind,)*
                }
            }

            /// Applies the rule to one operation.
            pub(super) fn ask(self, case: &Case<'_>, subject: &Subject<'_>) -> Verdict {
                if self.is_about_calls() && case.calls_of == CallsOf::Benchmark {
                    return Verdict::Silent;
                }
                match self {
                    $(Self::$rule => $file::$ask(case, subject),)*
                }
            }
        }
    };
}

// A rule is a file and a line: its kind, and its function.
rules! {
    /// A GPU operation that is faster on the CPU.
    GpuToCpu: Routing, routing::to_cpu;
    /// A CPU operation that is faster on a GPU.
    CpuToGpu: Routing, routing::to_gpu;
    /// Many calls in sequence.
    Batching: Batching, fewer_calls::batching;
    /// Much memory.
    Memory: Memory, memory::ask;
    /// Many short calls.
    Caching: Caching, fewer_calls::caching;
    /// Time that grows faster than the size.
    Algorithm: Algorithm, algorithm::ask;
    /// A GPU that is hardly used.
    Parallelization: Parallelization, parallelization::ask;
}

impl Rule {
    /// True if the rule asks for fewer calls, so the calls must be a program's.
    pub(super) fn is_about_calls(self) -> bool {
        matches!(self, Self::Batching | Self::Caching)
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
