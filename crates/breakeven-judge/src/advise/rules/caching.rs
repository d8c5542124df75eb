//! CACHING: a hundred or more calls in a run, each under 1 ms.
//!
//! Only calls of a program count; a benchmark repeats calls on purpose. The timeline's fields can
//! overrule the rule: if a hundred or more calls have fields and no two have the same, a cache
//! would find nothing.
//!
//! Estimate: none. A cache saves calls that repeat an input, and no profile has the inputs. Equal
//! fields are the only hint, so the range ends at (fraction of repeats) × own time. It begins at
//! zero, because equal fields need not be equal inputs, and a lookup has a cost too.

use breakeven_profile::unit;

use super::super::case::{Case, Gain, Subject, Verdict};
use super::super::evidence::{Evidence, Quantity};
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
    let repeats = case.sequences.repeats(subject.operation);
    let fields = repeats.map(|(calls, repeated)| Evidence::Repeats { calls, repeated });
    if let Some((calls, 0)) = repeats
        && calls as f64 >= thresholds.cached_calls
    {
        return Verdict::Overruled(fields.into_iter().collect());
    }
    let thumb = [
        Quantity::Calls.thumb(subject.calls_per_run, thresholds.cached_calls),
        Quantity::CallTime.thumb(subject.summary.mean, thresholds.cached_call_ns),
    ];
    let basis = fields.as_ref().unwrap_or(&thumb[0]).to_string();
    let call = unit::time(subject.summary.mean);
    Verdict::suggest(
        format!("called repeatedly, {call} a call; {basis}"),
        "count how often an input repeats; if it does, cache the result by input, with a bound \
         on the number of entries",
        fields.into_iter().chain(thumb).collect(),
        Gain::unknown(
            "a profile does not have the inputs, so the number of repeats is unknown",
            repeats.map(|(calls, repeated)| [0.0, repeated as f64 / calls as f64 * subject.own_ns]),
        ),
    )
}
