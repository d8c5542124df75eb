//! CACHING: a hundred and more calls in a run, each under 1 ms.
//!
//! Only calls of a program count; a benchmark repeats itself on purpose. The
//! timeline's fields can overrule the rule: where a hundred and more calls have
//! fields and no two have the same, there is nothing to find in a cache.
//!
//! Estimate: none. A cache saves the calls that come again with the same input,
//! and no profile holds the inputs. Equal fields are the most that can be seen of
//! them, so part of repeats × own time is where the range ends; it begins at zero,
//! since equal fields need not be equal inputs and looking up costs too.

use breakeven_profile::unit;

use super::super::case::{Case, Subject};
use super::super::evidence::{Evidence, Quantity};
use super::super::proposal::{Gain, Verdict};
use super::definition::{Definition, Saves, SuggestionType};

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
        "count how often an input repeats; where it does, cache the result by input, with a bound \
         on the number of entries",
        fields.into_iter().chain(thumb).collect(),
        Gain::unknown(
            "a profile does not hold the inputs, so it does not tell how many repeat",
            repeats.map(|(calls, repeated)| [0.0, repeated as f64 / calls as f64 * subject.own_ns]),
        ),
    )
}
