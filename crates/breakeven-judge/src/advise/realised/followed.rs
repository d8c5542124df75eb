//! Whether a suggestion was followed, by what it asked for.

use breakeven_profile::unit;

use super::super::case::Subject;
use super::super::suggestion::{OptimizationSuggestion, Rule};
use super::super::thresholds::AdviceThresholds;
use super::pairing::Pair;
use super::{Followed, calls_gain};

/// What is left of calls, at most, for them to have fallen.
const FALLEN_CALLS: f64 = 0.5;

/// What is left of memory, or of growth, at most, for it to have fallen.
const FALLEN: f64 = 0.9;

/// Times that a call's size or time must be of what it was, to have grown.
const GROWN: f64 = 1.2;

/// Whether it was followed, and what shows that.
pub(super) fn judge(
    suggestion: &OptimizationSuggestion,
    pair: &Pair<'_, '_>,
    benchmark: bool,
) -> (Followed, String) {
    match found(suggestion, pair, benchmark) {
        Ok((true, sign)) => (Followed::Yes, sign),
        Ok((false, sign)) => (Followed::No, sign),
        Err(why) => (Followed::Unknown, why.to_owned()),
    }
}

/// Whether it was followed, and what shows that; or why that is unknown.
type Found = Result<(bool, String), &'static str>;

fn found(suggestion: &OptimizationSuggestion, pair: &Pair<'_, '_>, benchmark: bool) -> Found {
    if pair.all_after.is_empty() {
        return Err("the operation is not in the second profile");
    }
    let routing = matches!(suggestion.rule, Rule::GpuToCpu | Rule::CpuToGpu);
    if routing && benchmark {
        return Err("a benchmark measures every device");
    }
    if routing {
        return Ok(routed(suggestion, pair));
    }
    if pair.after.is_empty() {
        return Err("the second profile has it on another device only, or in other sizes");
    }
    match suggestion.rule {
        // A cache inside the operation leaves its calls and shortens them.
        Rule::Caching if call_shortened(pair) => {
            Ok((true, "its calls became clearly shorter".to_owned()))
        }
        Rule::Batching | Rule::Caching => {
            let (before, after) = (calls(&pair.before), calls(&pair.after));
            let fell = after <= FALLEN_CALLS * before;
            let as_asked = calls_grew(pair) == (suggestion.rule == Rule::Batching);
            let sign = format!("{before:.0} calls a run, now {after:.0}");
            Ok((fell && as_asked, sign))
        }
        Rule::Memory => memory_fell(pair),
        Rule::Parallelization => use_rose(pair),
        _ => growth_fell(pair),
    }
}

fn calls(subjects: &[&Subject<'_>]) -> f64 {
    subjects.iter().map(|each| each.calls_per_run).sum()
}

/// The device's part of the operation's calls fell by half.
fn routed(suggestion: &OptimizationSuggestion, pair: &Pair<'_, '_>) -> (bool, String) {
    let share = |all: &[&Subject<'_>]| {
        let mut here = all.to_vec();
        here.retain(|each| each.operation.device == suggestion.device);
        calls(&here) / calls(all)
    };
    let (before, after) = (share(&pair.all_before), share(&pair.all_after));
    let moved = after <= FALLEN_CALLS * before && !pair.after.is_empty();
    let sign = format!(
        "{} of its calls were here, now {}",
        unit::percent(before),
        unit::percent(after)
    );
    (moved, sign)
}

/// A call does more than before: its input is larger, or where no size is known
/// it takes longer. That tells a batch from a cache, which both leave fewer calls.
fn calls_grew(pair: &Pair<'_, '_>) -> bool {
    let mean = |all: &[&Subject<'_>], of: &dyn Fn(&Subject<'_>) -> Option<f64>| {
        let each = all.iter().map(|each| Some(of(each)? * each.calls_per_run));
        let sum: Option<f64> = each.sum();
        Some(sum? / calls(all))
    };
    let size = |each: &Subject<'_>| each.operation.size.map(|size| size as f64);
    let time = |each: &Subject<'_>| Some(each.summary.mean);
    let grew = |of| Some(mean(&pair.after, of)? > GROWN * mean(&pair.before, of)?);
    grew(&size).or(grew(&time)).unwrap_or(false)
}

/// The time of a call fell, and no interval says that it may not have.
fn call_shortened(pair: &Pair<'_, '_>) -> bool {
    let own_ns: f64 = pair.before.iter().map(|each| each.own_ns).sum();
    calls_gain(pair, None).is_some_and(|(gained_ns, range)| {
        let least_ns = range.map_or(gained_ns, |[least, _]| least);
        least_ns > 0.0 && gained_ns >= (1.0 - FALLEN) * own_ns
    })
}

fn memory_fell(pair: &Pair<'_, '_>) -> Found {
    let held = |all: &[&Subject<'_>]| all.iter().filter_map(|each| each.memory_bytes).max();
    let (Some(before), Some(after)) = (held(&pair.before), held(&pair.after)) else {
        return Err("the second profile does not tell its memory");
    };
    let small = after <= AdviceThresholds::default().large_memory_bytes;
    let fell = after as f64 <= FALLEN * before as f64;
    let sign = format!(
        "a call held {}, now {}",
        unit::bytes(before),
        unit::bytes(after)
    );
    Ok((fell || small, sign))
}

fn use_rose(pair: &Pair<'_, '_>) -> Found {
    let part = |all: &[&Subject<'_>]| all.iter().find_map(|each| each.operation.gpu_use);
    let (Some(before), Some(after)) = (part(&pair.before), part(&pair.after)) else {
        return Err("the second profile does not tell the GPU's use");
    };
    let sign = format!(
        "{} of the GPU was in use, now {}",
        unit::percent(before),
        unit::percent(after)
    );
    Ok((after * FALLEN >= before && after > before, sign))
}

/// The time at the greatest size, over that at the least, fell.
fn growth_fell(pair: &Pair<'_, '_>) -> Found {
    let matched: Vec<_> = pair.matched().collect();
    let sized = |pair: &&(&Subject<'_>, &Subject<'_>)| pair.0.operation.size;
    let none = "the second profile has none of its sizes";
    let least = matched.iter().min_by_key(sized).ok_or(none)?;
    let greatest = matched.iter().max_by_key(sized).ok_or(none)?;
    if sized(&least) == sized(&greatest) {
        return Err("the second profile has one of its sizes only");
    }
    let median = |subject: &Subject<'_>| subject.summary.median;
    let before = median(greatest.0) / median(least.0);
    let after = median(greatest.1) / median(least.1);
    let sign = format!("the largest size took {before:.1} times the smallest, now {after:.1}");
    Ok((after <= FALLEN * before, sign))
}
