//! CACHING: a hundred or more calls in a run, each under 1 ms.
//!
//! Only calls of a program count; a benchmark repeats calls on purpose.
//!
//! Estimate: none. A cache saves calls that repeat an input, and no profile has the inputs.

use breakeven_profile::unit;

use super::super::case::{Case, Gain, Subject, Verdict};
use super::super::evidence::Quantity;
use super::{Definition, Saves, SuggestionType};

pub(super) const RULE: Definition = Definition {
    kind: SuggestionType::Caching,
    saves: Saves::Work,
    applies: |case, subject| {
        subject.calls_per_run >= case.thresholds.cached_calls
            && subject.summary.mean < case.thresholds.cached_call_ns
    },
    ask,
};

fn ask(case: &Case<'_>, subject: &Subject<'_>) -> Verdict {
    let thresholds = &case.thresholds;
    let thumb = [
        Quantity::Calls.thumb(subject.calls_per_run, thresholds.cached_calls),
        Quantity::CallTime.thumb(subject.summary.mean, thresholds.cached_call_ns),
    ];
    let call = unit::time(subject.summary.mean);
    Verdict::suggest(
        format!("called repeatedly, {call} a call; {}", thumb[0]),
        "count how often an input repeats; if it does, cache the result by input, with a bound \
         on the number of entries",
        thumb.to_vec(),
        Gain::unknown(
            "a profile does not have the inputs, so the number of repeats is unknown",
            None,
        ),
    )
}
