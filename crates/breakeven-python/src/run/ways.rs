//! Decides whether a function gets a batch in one call or in a slice per worker. A function of many
//! items may have its own threads, hold the GIL, be compiled for each shape, or cost milliseconds
//! per call, so nothing is assumed: a new function is called once, as its user would, and a split
//! is measured after that.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use crate::locked;

/// A single call faster than this is not worth splitting.
const WORTH: Duration = Duration::from_micros(500);

/// Split batches before they count: in the first, workers pay one-time costs.
const TRIES: usize = 2;

/// A split must take less than this fraction of one call's time.
const GAIN: f64 = 0.9;

/// Number of batches after which the slower variant is measured again.
const AGAIN: u64 = 64;

/// Latest times that are kept per variant; their minimum counts.
const KEPT: usize = 3;

/// Most functions and sizes that are kept.
const MOST: usize = 4096;

/// Times of the batches of one function and about one size.
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

/// Whether to split the next batch.
pub(super) fn in_parts(operation: &str, items: usize) -> bool {
    let mut all = locked(&SEEN);
    if all.len() >= MOST {
        all.clear();
    }
    all.entry(key(operation, items)).or_default().in_parts()
}

/// Adds the time of a batch, done in one call or split; returns the best known times of one call
/// and of a split.
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

/// Removes an operation, or all.
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
