//! A suggestion: what to change, why, and the estimated gain.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::evidence::Evidence;
use super::rules::{Rule, SuggestionType};

/// One piece of advice. Times whose name ends in `_ms` are milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[must_use]
pub struct OptimizationSuggestion {
    /// Its rank in the complete list, from 1.
    pub rank: usize,
    /// The operation's name.
    pub operation: String,
    /// The device that the operation ran on.
    pub device: String,
    /// True if that device is a software GPU, a program on the CPU.
    pub software_gpu: bool,
    /// Elements in one call's input.
    pub size: Option<u64>,
    /// What kind of change it is.
    #[serde(rename = "type")]
    pub kind: SuggestionType,
    /// How much of the total time it saves, in four steps.
    pub priority: Priority,
    /// The rule that it comes from.
    pub rule: Rule,
    /// The device to move to, if the rule names one.
    pub target_device: Option<String>,
    /// The problem, and the evidence for it.
    pub description: String,
    /// The estimated gain, or why there is no estimate.
    pub expected_improvement: String,
    /// What to do.
    pub implementation_hint: String,
    /// Current mean time of a call.
    pub current_time_ms: f64,
    /// Estimated mean time of a call.
    pub estimated_time_ms: Option<f64>,
    /// `current_time_ms / estimated_time_ms`.
    pub potential_speedup: Option<f64>,
    /// Time saved over the complete profile if only this is done.
    pub saved_ms: Option<f64>,
    /// `saved_ms` as a fraction of the profile's total time.
    pub saved_share: Option<f64>,
    /// Time that it saves in addition to the suggestions ranked before it.
    pub combined_saved_ms: Option<f64>,
    /// Smallest and largest time that it may save, if the estimate has a range
    /// or only a range is known.
    pub range_ms: Option<[f64; 2]>,
    /// Its relation to an earlier suggestion about the same operation.
    pub overlap: Option<Overlap>,
    /// Its evidence, the strongest first.
    pub evidence: Vec<Evidence>,
}

/// The relation of a suggestion to one ranked before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// It applies only to the time that the suggestion of that rank leaves.
    After(usize),
    /// An alternative that saves the same time: no further gain once that one is done.
    InsteadOf(usize),
}

/// How much of the profile's total time a suggestion saves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Priority {
    /// A quarter or more.
    Critical,
    /// A tenth or more.
    High,
    /// A fiftieth or more. Also the highest priority without an estimate, for an
    /// operation that takes a tenth of the time.
    Medium,
    /// Less.
    Low,
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
