//! Makes suggestions of what the rules propose, and ranks them.
//!
//! A suggestion is worth the time that it saves in the complete profile, so a small fraction of a
//! large operation ranks above all of a small one. Every saving is a fraction of an operation's
//! *own* time: its time minus that of the operations inside it. Own times add up to the total, so a
//! parent and its child never promise the same time. All suggestions together save the largest
//! saving of each operation: at most the total.
//!
//! Suggestions without an estimate come last among those of their priority. Equals are ordered by
//! the time of their operation, then by name, device, size and rule, so the order of the file does
//! not matter.

use std::fmt;

use breakeven_profile::unit;
use serde::{Deserialize, Serialize};

use super::case::{Case, Subject};
use super::evidence::{Advised, Evidence, Gain};
use super::rules::{Rule, SuggestionType};

/// Fraction of the total time from which a saving is CRITICAL: the program then runs in three
/// quarters of the time.
const CRITICAL: f64 = 0.25;

/// Fraction of the total time from which a saving is HIGH.
const HIGH: f64 = 0.10;

/// Fraction of the total time from which a saving is MEDIUM.
const MEDIUM: f64 = 0.02;

/// Ranks the proposals of the rules, in the order of subjects and rules, and returns the time that
/// they save together, ns.
pub(super) fn ranked(
    case: &Case<'_>,
    proposals: Vec<(Rule, &Subject<'_>, Advised)>,
) -> (Vec<OptimizationSuggestion>, f64) {
    let same_subject = |a: &(_, &Subject<'_>, _), b: &(_, &Subject<'_>, _)| a.1.place == b.1.place;
    let largest = proposals.chunk_by(same_subject).map(|of_one| {
        let saved = of_one.iter().filter_map(|(.., each)| each.gain.saved.ok());
        saved.fold(0.0, f64::max) * of_one[0].1.own_ns
    });
    let potential_ns = largest.sum();
    let mut ranked: Vec<(f64, OptimizationSuggestion)> = (proposals.into_iter())
        .map(|(rule, subject, advised)| {
            let suggestion = OptimizationSuggestion::new(case, rule, subject, advised);
            (subject.own_ns, suggestion)
        })
        .collect();
    ranked.sort_by(|(one_ns, one), (other_ns, other)| {
        let saved = |each: &OptimizationSuggestion| each.saved_ms.unwrap_or(-1.0);
        (one.priority.cmp(&other.priority))
            .then(saved(other).total_cmp(&saved(one)))
            .then(other_ns.total_cmp(one_ns))
    });
    let mut suggestions: Vec<_> = ranked.into_iter().map(|(_, each)| each).collect();
    for (index, each) in suggestions.iter_mut().enumerate() {
        each.rank = index + 1;
    }
    (suggestions, potential_ns)
}

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
    /// Smallest and largest time that it may save, if the estimate has a range
    /// or only a range is known.
    pub range_ms: Option<[f64; 2]>,
    /// Its evidence, the strongest first.
    pub evidence: Vec<Evidence>,
}

impl OptimizationSuggestion {
    fn new(case: &Case<'_>, rule: Rule, subject: &Subject<'_>, advised: Advised) -> Self {
        let gain = &advised.gain;
        let current_ns = subject.summary.mean;
        let saved = gain.saved.ok();
        let estimated_ns = saved.map(|saved| current_ns - saved * subject.own_call_ns());
        let saved_ns = saved.map(|saved| saved * subject.own_ns);
        let saved_share = saved_ns.map(|ns| ns / case.whole_ns);
        let ms = |ns: f64| ns / 1e6;
        Self {
            rank: 0,
            operation: subject.operation.name.clone(),
            device: subject.operation.device.clone(),
            software_gpu: case.profile.is_software_gpu(&subject.operation.device),
            size: subject.operation.size,
            kind: rule.kind(),
            priority: Priority::of(saved_share, subject.own_ns / case.whole_ns),
            rule,
            target_device: advised.target_device,
            description: advised.description,
            expected_improvement: improvement(case, subject, gain),
            implementation_hint: advised.hint.to_owned(),
            current_time_ms: ms(current_ns),
            estimated_time_ms: estimated_ns.map(ms),
            potential_speedup: (estimated_ns.filter(|ns| *ns > 0.0)).map(|ns| current_ns / ns),
            saved_ms: saved_ns.map(ms),
            saved_share,
            range_ms: (gain.range).map(|ends| ends.map(|part| ms(part * subject.own_ns))),
            evidence: advised.evidence,
        }
    }
}

fn improvement(case: &Case<'_>, subject: &Subject<'_>, gain: &Gain) -> String {
    let time = |part: f64| unit::time(part * subject.own_ns);
    let range = gain.range.map(|[least, most]| match least > 0.0 {
        true => format!("between {} and {}", time(least), time(most)),
        false => format!("at most {}", time(most)),
    });
    let saved = match gain.saved {
        Ok(saved) => saved,
        Err(because) => {
            let range = range.map_or_else(String::new, |range| format!("; {range}"));
            return format!("cannot be estimated: {because}{range}");
        }
    };
    let share = unit::percent(saved * subject.own_ns / case.whole_ns);
    // A range that prints as the saving adds nothing.
    let is_wider = |ends: [f64; 2]| ends.iter().any(|end| time(*end) != time(saved));
    let range = range.filter(|_| gain.range.is_some_and(is_wider));
    let range = range.map_or_else(String::new, |range| format!(", {range}"));
    let now_ns = subject.summary.mean;
    let then_ns = now_ns - saved * subject.own_call_ns();
    format!(
        "saves {} of {} ({share}){range}; a call from {} to {}",
        time(saved),
        unit::time(case.whole_ns),
        unit::time(now_ns),
        unit::time(then_ns)
    )
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

impl Priority {
    /// By the fraction of the total time that is saved, if known, and that the operation takes.
    fn of(saved_share: Option<f64>, own_share: f64) -> Self {
        match saved_share {
            None if own_share >= HIGH => Self::Medium,
            None => Self::Low,
            Some(share) if share >= CRITICAL => Self::Critical,
            Some(share) if share >= HIGH => Self::High,
            Some(share) if share >= MEDIUM => Self::Medium,
            Some(_) => Self::Low,
        }
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
