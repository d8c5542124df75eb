//! BATCHING: ten or more calls in sequence.
//!
//! The timeline shows a sequence (consecutive calls of one operation on a thread), else the call
//! paths (calls per call of the operation around them), else the number of calls in a run is taken
//! for one. If timeline or paths show that the calls are not consecutive, the rule does not apply:
//! there is nothing to combine. It does not apply either to iterations of a benchmark, nor to an
//! operation whose time is mostly that of operations inside it: a batch would combine those.
//!
//! Estimate: a batch saves what each call after the first pays again. On a GPU that is the launch:
//! launch × calls × share × (1 − 1/length), where `share` is the fraction of the calls in sequences
//! of that mean length; for one sequence of all calls that is launch × (calls − 1). The launch is
//! the measured latency, at most the shortest call, which contains a launch. If the saving is under
//! 1 % of the operation's time, the measurement overrules the rule. Without a measured latency a
//! range is assumed, 5 µs (a fast native driver) to 100 µs (through WebGPU) per launch, and not
//! counted. On the CPU the repeated cost is unknown: no estimate.

use super::super::calls::CallsOf;
use super::super::case::{Case, Gain, Subject, Verdict};
use super::super::evidence::{Evidence, Quantity};
use super::{Definition, Saves, SuggestionType};

/// Assumed launch latencies of GPUs without a measurement, ns.
const LAUNCH_GUESS_NS: [f64; 2] = [5e3, 1e5];

/// A saving of less than this fraction of the operation's time is not worth a batch.
const WORTHWHILE: f64 = 0.01;

pub(super) const RULE: Definition = Definition {
    kind: SuggestionType::Batching,
    saves: Saves::ThisDevice,
    applies: |_, subject| !subject.mostly_others(),
    ask,
};

fn ask(case: &Case<'_>, subject: &Subject<'_>) -> Verdict {
    let calls = subject.summary.count;
    let Some(sequence) = case.sequences.of(subject.operation, calls) else {
        return Verdict::Silent;
    };
    let thumb = Quantity::Calls.thumb(subject.calls_per_run, case.thresholds.sequential_calls);
    let mut evidence = vec![Evidence::Sequence(sequence), thumb];
    let launches = calls as f64 * sequence.avoidable();
    let launch = launch(case, subject);
    let gain = match launch {
        Some(launch_ns) => {
            let saved_ns = launch_ns * launches;
            let part = saved_ns / subject.own_ns;
            let share = launch_ns / subject.summary.mean;
            let measured = Evidence::Launch { launch_ns, share };
            if part < WORTHWHILE {
                return Verdict::Overruled(vec![measured]);
            }
            evidence.insert(0, measured);
            match case.calls_of {
                CallsOf::Unmarked => Gain::unknown(
                    "the file does not say whether its samples are calls of a program",
                    Some([0.0, saved_ns.min(subject.own_ns)]),
                ),
                _ => Gain::part(subject, part, None),
            }
        }
        None if subject.device().is_gpu() => Gain::unknown(
            "the latency of a launch was not measured",
            Some(LAUNCH_GUESS_NS.map(|launch_ns| {
                (launch_ns.min(subject.summary.min) * launches).min(subject.own_ns)
            })),
        ),
        None => Gain::unknown("the fixed cost of a call was not measured", None),
    };
    let basis = if launch.is_some() {
        &evidence[0]
    } else {
        &evidence[1]
    };
    let description = format!(
        "called about {:.0} times in sequence on {}, by the {}; {basis}",
        sequence.length,
        case.profile.device_label(&subject.operation.device),
        sequence.shown_by
    );
    let hint = match subject.device().is_gpu() {
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

/// Launch latency that each call pays, if measured, ns.
fn launch(case: &Case<'_>, subject: &Subject<'_>) -> Option<f64> {
    let measured = case.peak_of(subject)?.launch_ns?;
    let launch = measured.min(subject.summary.min);
    (subject.device().is_gpu() && launch > 0.0).then_some(launch)
}
