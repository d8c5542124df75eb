//! Operations whose names differ only in the processors at their end, as Go prints them:
//! `BenchmarkSort-8` on one machine is `BenchmarkSort-12` on the other.

use std::collections::HashMap;

use breakeven_profile::profile::OperationKey;

use super::sides::{Measured, Pair};

/// The attribute of an operation with that number.
const ATTRIBUTE: &str = "gomaxprocs";

/// The processors that an operation's name ends with.
pub(super) fn processors(measured: &Measured<'_>) -> Option<u64> {
    measured.first().attributes.get(ATTRIBUTE)?.as_u64()
}

/// Joins what is on one side only and has, without the processors in its name, one
/// counterpart on the other. If a side has several numbers of processors, names stay as
/// they are: those are different measurements.
pub(super) fn join(pairs: &mut Vec<Pair<'_>>) {
    let mut alike: HashMap<OperationKey, Vec<usize>> = HashMap::new();
    for (at, pair) in pairs.iter().enumerate() {
        let measured = pair.baseline.as_ref().or(pair.current.as_ref());
        if let Some(key) = measured.and_then(|measured| without(&pair.key, measured)) {
            alike.entry(key).or_default().push(at);
        }
    }
    for at in alike.values() {
        // The pairs of the baseline come first.
        if let [first, second] = at[..]
            && pairs[first].current.is_none()
            && pairs[second].baseline.is_none()
        {
            pairs[first].current = pairs[second].current.take();
        }
    }
    pairs.retain(|pair| pair.baseline.is_some() || pair.current.is_some());
}

/// The key without the processors; nothing if the operation does not state them.
fn without(key: &OperationKey, measured: &Measured<'_>) -> Option<OperationKey> {
    let end = format!("-{}", processors(measured)?);
    let name = match key.name.rsplit_once(&end) {
        // Configuration follows in brackets.
        Some((name, rest)) if rest.is_empty() || rest.starts_with(" (") => format!("{name}{rest}"),
        // One processor is not printed.
        _ => key.name.clone(),
    };
    Some(OperationKey {
        name,
        ..key.clone()
    })
}
