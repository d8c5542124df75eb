//! Whether all of a batch goes to a function in one call, or a part to each worker: a function
//! that takes many items may have threads of its own, hold the interpreter's lock, be compiled
//! for each shape, or cost milliseconds a call. So nothing is presumed. A function that was not
//! seen yet is called as its user would call it, and what parts take is measured after that.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use crate::locked;

/// One call that takes less is not worth handing parts to workers.
const WORTH: Duration = Duration::from_micros(500);

/// Batches in parts before they count: in the first, workers pay for what is done once.
const TRIES: usize = 2;

/// Parts have to take less than this part of one call's time.
const GAIN: f64 = 0.9;

/// After so many batches, what was slower is measured again.
const AGAIN: u64 = 64;

/// Times of a way that are kept, the latest ones; their least counts.
const KEPT: usize = 3;

/// Functions and sizes that are kept.
const MOST: usize = 4096;

/// What batches of one function and about one size took.
#[derive(Debug, Default)]
struct Seen {
    batches: u64,
    one: Vec<Duration>,
    parts: Vec<Duration>,
}

static SEEN: LazyLock<Mutex<HashMap<(String, u32), Seen>>> = LazyLock::new(Mutex::default);

/// Batches of twice the items are another size.
fn key(operation: &str, items: usize) -> (String, u32) {
    (operation.to_owned(), items.checked_ilog2().unwrap_or(0))
}

/// Whether the next batch is done in parts.
pub(super) fn in_parts(operation: &str, items: usize) -> bool {
    let mut all = locked(&SEEN);
    if all.len() >= MOST {
        all.clear();
    }
    all.entry(key(operation, items)).or_default().in_parts()
}

/// What a batch took, all of it in one call or in parts; what one call is known to take since
/// then, and parts.
pub(super) fn took(
    operation: &str,
    items: usize,
    in_parts: bool,
    time: Duration,
) -> Option<(Duration, Option<Duration>)> {
    let mut all = locked(&SEEN);
    let seen = all.entry(key(operation, items)).or_default();
    let times = match in_parts {
        true => &mut seen.parts,
        false => &mut seen.one,
    };
    times.insert(0, time);
    times.truncate(KEPT);
    Some((*seen.one.iter().min()?, seen.parts.iter().min().copied()))
}

/// Forgets an operation, or all.
pub(super) fn forget(operation: Option<&str>) {
    locked(&SEEN).retain(|(name, _), _| operation.is_some_and(|operation| operation != name));
}

impl Seen {
    fn in_parts(&mut self) -> bool {
        self.batches += 1;
        let Some(one) = self.one.iter().min() else {
            return false;
        };
        if *one < WORTH {
            return false;
        }
        let parts = self
            .parts
            .iter()
            .min()
            .filter(|_| self.parts.len() >= TRIES);
        let gains = parts.is_none_or(|parts| *parts < one.mul_f64(GAIN));
        gains != self.batches.is_multiple_of(AGAIN)
    }
}
