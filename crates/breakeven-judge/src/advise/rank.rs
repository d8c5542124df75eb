//! Ranks the suggestions, and adds up their gains.
//!
//! **Amdahl.** A suggestion is worth the time that it saves in the complete profile, so a small
//! fraction of a large operation ranks above all of a small one. Every saving is a fraction of an
//! operation's *own* time: its time minus that of the operations inside it. Own times add up to the
//! total, so a parent and its child never promise the same time.
//!
//! **Overlap.** Of two suggestions on an operation the one that saves less applies to what the other
//! leaves, (1 − a)(1 − b) of it, and is ranked by that. Two alternatives that save the same time
//! (another device, or better use of this one; two ways to close the same gap to the roofline)
//! count once. The sum is at most the total time.
//!
//! Ties are broken by name, device, size and rule, so the order of the file does not matter.
//! Suggestions without an estimate come last among those of their priority, ordered by the time of
//! their operation.

use std::collections::HashMap;
use std::fmt;

use breakeven_profile::unit;
use serde::{Deserialize, Serialize};

use super::case::{Advised, Case, Gain, Saving, Subject};
use super::evidence::Evidence;
use super::rules::{Rule, SuggestionType};

/// A suggestion before ranking.
pub(super) struct Proposal {
    pub(super) rule: Rule,
    /// The operation's index in [`Case::subjects`].
    pub(super) subject: usize,
    pub(super) advised: Advised,
}

/// Ranks the suggestions, and returns the time that they save together, ns.
pub(super) fn ranked(
    case: &Case<'_>,
    mut proposals: Vec<Proposal>,
) -> (Vec<OptimizationSuggestion>, f64) {
    // Subjects are in the order of their keys.
    proposals.sort_by_key(|proposal| (proposal.subject, proposal.rule));
    let mut left = Left::of(case);
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for (index, proposal) in proposals.iter().enumerate() {
        match &proposal.advised.gain.savings {
            Ok(savings) => with.push((left.gain(proposal.rule, savings), index, savings)),
            Err(_) => without.push(index),
        }
    }
    // Of equals the first.
    with.sort_by(|(one, ..), (other, ..)| other.total_cmp(one));
    let mut suggestions = Vec::new();
    let mut potential_ns = 0.0;
    for (_, index, savings) in with {
        let proposal = &proposals[index];
        // Of the time that earlier ones leave.
        let saved_ns = left.gain(proposal.rule, savings);
        let rank = suggestions.len() + 1;
        let overlap = left.overlap(proposal);
        left.take(proposal.rule, savings, rank);
        potential_ns += saved_ns;
        suggestions.push(suggestion(case, proposal, rank, Some(saved_ns), overlap));
    }
    let combined = |each: &OptimizationSuggestion| each.combined_saved_ms.unwrap_or(0.0);
    suggestions.sort_by(|one, other| combined(other).total_cmp(&combined(one)));
    let own_ns = |index: &usize| case.subjects[proposals[*index].subject].own_ns;
    without.sort_by(|a, b| own_ns(b).total_cmp(&own_ns(a)).then(a.cmp(b)));
    for index in without {
        let rank = suggestions.len() + 1;
        let proposal = &proposals[index];
        let instead = left.alternative(proposal.rule, proposal.subject);
        let overlap = instead.map(Overlap::InsteadOf);
        suggestions.push(suggestion(case, proposal, rank, None, overlap));
    }
    by_priority(&mut suggestions);
    (suggestions, potential_ns)
}

/// Sorts by priority, which differs from the order of savings only for suggestions without an
/// estimate.
fn by_priority(suggestions: &mut [OptimizationSuggestion]) {
    suggestions.sort_by_key(|each| each.priority);
    let places: HashMap<usize, usize> = (suggestions.iter())
        .enumerate()
        .map(|(place, each)| (each.rank, place + 1))
        .collect();
    for each in suggestions {
        each.rank = places[&each.rank];
        if let Some(Overlap::After(rank) | Overlap::InsteadOf(rank)) = &mut each.overlap {
            *rank = places[rank];
        }
    }
}

/// The remaining own time of each operation, and the suggestions that reduced it.
struct Left(Vec<Operation>);

struct Operation {
    own_ns: f64,
    taken: Vec<(Rule, usize)>,
}

impl Left {
    fn of(case: &Case<'_>) -> Self {
        let own = case.subjects.iter().map(|subject| Operation {
            own_ns: subject.own_ns,
            taken: Vec::new(),
        });
        Self(own.collect())
    }

    /// Time that the savings remove from the remaining time, ns.
    fn gain(&self, rule: Rule, savings: &[Saving]) -> f64 {
        let open = |saving: &&Saving| self.alternative(rule, saving.subject).is_none();
        let each = savings.iter().filter(open);
        each.map(|saving| saving.fraction * self.0[saving.subject].own_ns)
            .sum()
    }

    /// Rank of an earlier suggestion that saves the same time.
    fn alternative(&self, rule: Rule, subject: usize) -> Option<usize> {
        let mut taken = self.0[subject].taken.iter();
        let saves = rule.definition().saves;
        let other = taken.find(|(other, _)| saves.same_as(other.definition().saves));
        other.map(|(_, rank)| *rank)
    }

    fn overlap(&self, proposal: &Proposal) -> Option<Overlap> {
        let instead = self.alternative(proposal.rule, proposal.subject);
        let after = self.0[proposal.subject].taken.last();
        instead
            .map(Overlap::InsteadOf)
            .or(after.map(|(_, rank)| Overlap::After(*rank)))
    }

    fn take(&mut self, rule: Rule, savings: &[Saving], rank: usize) {
        for saving in savings {
            if self.alternative(rule, saving.subject).is_none() {
                let operation = &mut self.0[saving.subject];
                operation.own_ns *= 1.0 - saving.fraction;
                operation.taken.push((rule, rank));
            }
        }
    }
}

fn suggestion(
    case: &Case<'_>,
    proposal: &Proposal,
    rank: usize,
    combined_ns: Option<f64>,
    overlap: Option<Overlap>,
) -> OptimizationSuggestion {
    let subject = &case.subjects[proposal.subject];
    let advised = &proposal.advised;
    let savings = advised.gain.savings.as_ref().ok();
    let alone = |saving: &Saving| saving.fraction * case.subjects[saving.subject].own_ns;
    let saved_ns = savings.map(|savings| savings.iter().map(alone).sum());
    let own_saving = savings.and_then(|savings| {
        let mut all = savings.iter();
        all.find(|saving| saving.subject == proposal.subject)
    });
    let current_ns = subject.summary.mean;
    let estimated_ns =
        own_saving.map(|saving| current_ns - saving.fraction * subject.own_call_ns());
    let ms = |ns: f64| ns / 1e6;
    OptimizationSuggestion {
        rank,
        operation: subject.operation.name.clone(),
        device: subject.operation.device.clone(),
        software_gpu: case.profile.is_software_gpu(&subject.operation.device),
        size: subject.operation.size,
        kind: proposal.rule.kind(),
        priority: priority(case, subject, combined_ns),
        rule: proposal.rule,
        target_device: advised.target_device.clone(),
        description: advised.description.clone(),
        expected_improvement: improvement(
            case,
            &advised.gain,
            saved_ns.unwrap_or(0.0),
            current_ns,
            estimated_ns,
        ),
        implementation_hint: advised.hint.to_owned(),
        current_time_ms: ms(current_ns),
        estimated_time_ms: estimated_ns.map(ms),
        potential_speedup: estimated_ns
            .filter(|ns| *ns > 0.0)
            .map(|ns| current_ns / ns),
        saved_ms: saved_ns.map(ms),
        saved_share: saved_ns.map(|ns| ns / case.whole_ns),
        combined_saved_ms: combined_ns.map(ms),
        range_ms: advised.gain.range_ns.map(|range| range.map(ms)),
        overlap,
        evidence: advised.evidence.clone(),
    }
}

/// Priority by the fraction of the total time that it adds to the savings before it. Without an
/// estimate it is LOW, or MEDIUM if the operation takes as much of the time as a HIGH saving.
fn priority(case: &Case<'_>, subject: &Subject<'_>, combined_ns: Option<f64>) -> Priority {
    let thresholds = &case.thresholds;
    let Some(saved_ns) = combined_ns else {
        return match subject.own_ns >= thresholds.high_share * case.whole_ns {
            true => Priority::Medium,
            false => Priority::Low,
        };
    };
    match saved_ns / case.whole_ns {
        share if share >= thresholds.critical_share => Priority::Critical,
        share if share >= thresholds.high_share => Priority::High,
        share if share >= thresholds.medium_share => Priority::Medium,
        _ => Priority::Low,
    }
}

fn improvement(
    case: &Case<'_>,
    gain: &Gain,
    saved_ns: f64,
    current_ns: f64,
    estimated_ns: Option<f64>,
) -> String {
    let between = |[least, most]: [f64; 2]| match least > 0.0 {
        true => format!("between {} and {}", unit::time(least), unit::time(most)),
        false => format!("at most {}", unit::time(most)),
    };
    // A range whose ends print the same as the saving adds nothing.
    let reported = gain.range_ns.filter(|ends| {
        let said = unit::time(saved_ns);
        ends.iter().any(|end| unit::time(*end) != said)
    });
    let range = reported.map(between);
    if let Err(because) = gain.savings {
        let range = range.map_or_else(String::new, |range| format!("; {range}"));
        return format!("cannot be estimated: {because}{range}");
    }
    let range = range.map_or_else(String::new, |range| format!(", {range}"));
    let call = estimated_ns.map_or_else(String::new, |estimated_ns| {
        let (now, then) = (unit::time(current_ns), unit::time(estimated_ns));
        format!("; a call from {now} to {then}")
    });
    let (saved, whole) = (unit::time(saved_ns), unit::time(case.whole_ns));
    let share = unit::percent(saved_ns / case.whole_ns);
    format!("saves {saved} of {whole} ({share}){range}{call}")
}

// A suggestion: what to change, why, and the estimated gain.

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
