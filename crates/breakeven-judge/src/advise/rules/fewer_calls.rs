//! BATCHING: ten or more calls in sequence. CACHING: a hundred or more calls in a run, each under
//! 1 ms. Neither applies to iterations of a benchmark, which repeats calls on purpose.
//!
//! The call paths show a sequence (calls per call of the operation around them), else the number of
//! calls in a run is taken for one. An operation whose time is mostly that of operations inside it
//! is not batched: a batch would combine those.
//!
//! Estimate: a batch saves what each call after the first pays again. On a GPU that is the launch:
//! launch × calls × share × (1 − 1/length), where `share` is the fraction of the calls in sequences
//! of that mean length. The launch is the measured latency, at most the shortest call, which
//! contains a launch. If the saving is under 1 % of the operation's time, the measurement overrules
//! the rule. On the CPU the repeated cost is unknown, and so is how often an input repeats: no
//! estimate.

use breakeven_profile::unit;

use super::super::calls::LEAST_SEQUENCE;
use super::super::case::{Case, Subject};
use super::super::evidence::{Evidence, EvidenceKind, Gain, Verdict};

/// A saving of less than this fraction of the operation's time is not worth a batch.
const WORTHWHILE: f64 = 0.01;

/// Calls in a run from which caching is considered, if a call is shorter than that, ns.
const CACHED_CALLS: f64 = 100.0;
const CACHED_CALL_NS: f64 = 1e6;

fn calls(subject: &Subject<'_>, least: f64) -> Evidence {
    let calls = subject.calls_per_run;
    Evidence::rule_of_thumb(format!("{calls:.0} calls in a run ({least:.0} or more)"))
}

pub(super) fn batching(case: &Case<'_>, subject: &Subject<'_>) -> Verdict {
    let name = &subject.operation.name;
    let sequence = case.sequences.of(name, subject.calls_per_run);
    let Some(sequence) = sequence.filter(|_| !subject.mostly_others()) else {
        return Verdict::Silent;
    };
    let (kind, by) = match sequence.in_paths {
        true => (EvidenceKind::Measured, "call paths"),
        false => (EvidenceKind::Assumed, "number of calls in a run"),
    };
    let (share, length) = (unit::percent(sequence.share), sequence.length);
    let text = format!("{share} of the calls follow one another, {length:.0} at a time ({by})");
    let mut evidence = vec![calls(subject, LEAST_SEQUENCE), Evidence::new(kind, text)];
    let is_gpu = subject.device().is_gpu();
    let peak = case.peak_of(subject).filter(|_| is_gpu);
    let launch_ns = peak.and_then(|peak| Some(peak.launch_ns?.min(subject.summary.min)));
    let gain = match launch_ns.filter(|launch_ns| *launch_ns > 0.0) {
        Some(launch_ns) => {
            let avoidable = sequence.share * (1.0 - 1.0 / sequence.length);
            let saved = launch_ns * subject.summary.count as f64 * avoidable / subject.own_ns;
            let share = unit::percent(launch_ns / subject.summary.mean);
            let launch = unit::time(launch_ns);
            let measured =
                Evidence::measured(format!("a launch takes {launch}, {share} of a call"));
            if saved < WORTHWHILE {
                return Verdict::Overruled(measured);
            }
            evidence.insert(0, measured);
            Gain::new(saved, None)
        }
        None if is_gpu => Gain::unknown("the latency of a launch was not measured"),
        None => Gain::unknown("the fixed cost of a call was not measured"),
    };
    let description = format!(
        "called about {length:.0} times in sequence on {}, by the {by}; {}",
        case.profile.device_label(&subject.operation.device),
        evidence[0]
    );
    let hint = match is_gpu {
        true => {
            "put the inputs of a sequence into one launch; the batch is a dimension of the input"
        }
        false => {
            "take the complete sequence as one input, so that preparing, locking and allocating \
             happen once"
        }
    };
    Verdict::suggest(description, hint, evidence, gain)
}

pub(super) fn caching(_: &Case<'_>, subject: &Subject<'_>) -> Verdict {
    let call_ns = subject.summary.mean;
    if subject.calls_per_run < CACHED_CALLS || call_ns >= CACHED_CALL_NS {
        return Verdict::Silent;
    }
    let (call, most) = (unit::time(call_ns), unit::time(CACHED_CALL_NS));
    let calls = calls(subject, CACHED_CALLS);
    let short = Evidence::rule_of_thumb(format!("{call} a call (under {most})"));
    Verdict::suggest(
        format!("called repeatedly, {call} a call; {calls}"),
        "count how often an input repeats; if it does, cache the result by input, with a bound \
         on the number of entries",
        vec![calls, short],
        Gain::unknown("a profile does not have the inputs, so the number of repeats is unknown"),
    )
}
