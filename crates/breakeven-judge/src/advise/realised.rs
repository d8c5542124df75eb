//! What advice was worth: the suggestions on one profile beside what the next
//! one shows.
//!
//! A suggestion counts as followed by what it asked for, not by the time: the
//! calls fell, the device changed, the memory fell. What it gained is then
//! measured: by the time of a call, run against run (t-test on the logarithms of
//! run medians), for batching and caching by the time of all calls of a run, for
//! those rules change the number of calls. That takes both profiles to have done
//! the same work.
//!
//! Gains are told in the first profile's time, so that they stand beside what was
//! predicted: own time before × (1 − ratio). Several suggestions on one operation
//! that were followed share what it gained, in proportion to what each predicted.

use std::collections::BTreeMap;

use breakeven_profile::profile::{Device, Profile};
use breakeven_stats::{StatsError, log_ratio_with_noise};
use serde::{Deserialize, Serialize};

use super::case::{Case, Subject};
use super::pair::{LEVEL, Pair};
use super::rules::{Changes, Definition, Rule, Saves, SuggestionType};
use super::suggestion::OptimizationSuggestion;
use super::thresholds::AdviceThresholds;
use super::{CallsOf, ProfilerOptimizer};
use crate::compare::environment_warnings;

/// What the advice on a profile was worth.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[must_use]
pub struct Realised {
    /// One per suggestion, in the order of the advice.
    pub outcomes: Vec<Outcome>,
    /// The first profile's whole time, ms.
    pub before_ms: f64,
    /// The second profile's whole time, ms.
    pub after_ms: f64,
    /// In what the two profiles differ beside the change: then gains are not the advice's alone.
    pub warnings: Vec<String>,
}

/// What became of one suggestion.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[must_use]
pub struct Outcome {
    /// The suggestion's place in the advice.
    pub rank: usize,
    /// The operation's name.
    pub operation: String,
    /// The device that it ran on.
    pub device: String,
    /// True where that is a GPU that is a program on the CPU.
    pub software_gpu: bool,
    /// Elements in one call's input.
    pub size: Option<u64>,
    /// The kind of change.
    #[serde(rename = "type")]
    pub kind: SuggestionType,
    /// The rule.
    pub rule: Rule,
    /// Whether it was followed.
    pub followed: Followed,
    /// What shows that.
    pub sign: String,
    /// What it was to save beside those before it, ms.
    pub predicted_ms: Option<f64>,
    /// What it saved of the first profile's time, ms; negative where it cost.
    /// `None` unless it was followed.
    pub realised_ms: Option<f64>,
    /// The ends of the 95 % interval of `realised_ms`, where runs or a known
    /// noise give one.
    pub realised_range_ms: Option<[f64; 2]>,
}

/// Whether a suggestion was followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Followed {
    /// What it asked for happened.
    Yes,
    /// It did not.
    No,
    /// The second profile does not tell.
    Unknown,
}

/// Pairs the advice on `before` with what `after` shows.
///
/// `noise` is the standard deviation of ln(run median) from run to run, where it
/// is known: then one run a side has an interval too.
///
/// # Errors
///
/// [`StatsError::BadParameter`] for a `noise` out of range.
pub fn realised(
    before: &Profile,
    after: &Profile,
    noise: Option<f64>,
) -> Result<Realised, StatsError> {
    if let Some(noise) = noise {
        let _is_one = log_ratio_with_noise(&[1.0], &[1.0], noise, LEVEL)?;
    }
    let advice = ProfilerOptimizer::new(before);
    let case = |profile| Case::new(profile, AdviceThresholds::default());
    let (before, after) = (case(before), case(after));
    let suggestions = &advice.advice().suggestions;
    let mut outcomes: Vec<Outcome> = suggestions
        .iter()
        .map(|suggestion| outcome(suggestion, &before, &after, noise))
        .collect();
    share(&mut outcomes);
    Ok(Realised {
        outcomes,
        before_ms: before.whole_ns / 1e6,
        after_ms: after.whole_ns / 1e6,
        warnings: warnings(&before, &after),
    })
}

fn outcome<'c, 'p>(
    suggestion: &'c OptimizationSuggestion,
    before: &'c Case<'p>,
    after: &'c Case<'p>,
    noise: Option<f64>,
) -> Outcome {
    let rule = suggestion.rule.definition();
    let all_sizes = rule.changes != Changes::OneSize;
    let to = |device: &str| match &suggestion.target_device {
        Some(target) => device == target,
        // Advice that moves an operation and names no device is for any GPU.
        None if rule.saves == Saves::OtherDevice => Device::of(device).is_gpu(),
        None => device == suggestion.device,
    };
    let of = |case: &'c Case<'p>| -> Vec<&'c Subject<'p>> {
        case.named(&suggestion.operation)
            .filter(|each| all_sizes || each.operation.size == suggestion.size)
            .collect()
    };
    let pair = Pair::new(of(before), of(after), &suggestion.device, to);
    let (followed, sign) = followed(&pair, rule, after.calls_of == CallsOf::Benchmark);
    let gain = match (followed, rule.changes) {
        (Followed::No | Followed::Unknown, _) => None,
        (Followed::Yes, Changes::Calls) => pair.runs_gain(suggestion.size, noise),
        (Followed::Yes, Changes::OneSize | Changes::AllSizes) => pair.calls_gain(noise),
    };
    Outcome {
        rank: suggestion.rank,
        operation: suggestion.operation.clone(),
        device: suggestion.device.clone(),
        software_gpu: suggestion.software_gpu,
        size: suggestion.size,
        kind: suggestion.kind,
        rule: suggestion.rule,
        followed,
        sign,
        predicted_ms: suggestion.combined_saved_ms,
        realised_ms: gain.map(|(gained_ns, _)| gained_ns / 1e6),
        realised_range_ms: gain.and_then(|(_, range)| range.map(|ends| ends.map(|ns| ns / 1e6))),
    }
}

/// Whether the suggestion was followed, by what it asked for, and what shows that.
fn followed(pair: &Pair<'_, '_>, rule: &Definition, benchmark: bool) -> (Followed, String) {
    let routing = rule.saves == Saves::OtherDevice;
    let found = if pair.all_after.is_empty() {
        Err("the operation is not in the second profile")
    } else if routing && benchmark {
        Err("a benchmark measures every device")
    } else if !routing && pair.after.is_empty() {
        Err("the second profile has it on another device only, or in other sizes")
    } else {
        (rule.followed)(pair)
    };
    match found {
        Ok((true, sign)) => (Followed::Yes, sign),
        Ok((false, sign)) => (Followed::No, sign),
        Err(why) => (Followed::Unknown, why.to_owned()),
    }
}

/// Shares what one operation gained among the suggestions on it that were followed.
fn share(outcomes: &mut [Outcome]) {
    let mut predicted: BTreeMap<(String, String, Option<u64>), (f64, usize)> = BTreeMap::new();
    let key = |each: &Outcome| (each.operation.clone(), each.device.clone(), each.size);
    for each in outcomes.iter().filter(|each| each.realised_ms.is_some()) {
        let (sum, count) = predicted.entry(key(each)).or_default();
        *sum += each.predicted_ms.unwrap_or(0.0);
        *count += 1;
    }
    for each in outcomes {
        let Some((sum, count)) = predicted.get(&key(each)) else {
            continue;
        };
        let part = match *sum > 0.0 {
            true => each.predicted_ms.unwrap_or(0.0) / sum,
            false => 1.0 / *count as f64,
        };
        each.realised_ms = each.realised_ms.map(|ms| ms * part);
        each.realised_range_ms = each.realised_range_ms.map(|ends| ends.map(|ms| ms * part));
    }
}

/// What else changed from one profile to the next.
fn warnings(before: &Case<'_>, after: &Case<'_>) -> Vec<String> {
    let sides = [before, after].map(|case| std::slice::from_ref(case.profile));
    let others = environment_warnings(sides[0], sides[1]).into_iter();
    let mut warnings: Vec<String> = others.map(|other| other.to_string()).collect();
    if before.calls_of != after.calls_of {
        let text =
            "one is a program's profile and the other is not: calls and shares cannot be compared";
        warnings.push(text.to_owned());
    }
    warnings
}
