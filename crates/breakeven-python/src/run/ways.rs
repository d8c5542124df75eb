//! Decides whether a function gets a batch in one call or in a slice per worker. A function of many
//! items may have its own threads, hold the GIL, be compiled for each shape, or cost milliseconds
//! per call, so nothing is assumed: a new function is called once, as its user would, then both ways
//! take turns until each has [`TRIES`] times. The first call of either way pays one-time costs, and
//! another program may disturb any one, so a split must be fast usually to be preferred, a single call
//! once.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use crate::locked;

/// A single call faster than this is not worth splitting.
const WORTH: Duration = Duration::from_micros(500);

/// Batches of each way before one is preferred, and the latest ones that count.
const TRIES: usize = 3;

/// The median split must take less than this fraction of the fastest single call's time.
const GAIN: f64 = 0.9;

/// Number of batches after which the slower variant is measured again.
const AGAIN: u64 = 64;

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

/// Adds the time of a batch, done in one call or split; returns the fastest time of one call and the
/// median of a split.
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
    times.truncate(TRIES);
    Some((*seen.one.iter().min()?, median(&seen.parts)))
}

/// Removes an operation, or all.
pub(super) fn forget(operation: Option<&str>) {
    locked(&SEEN).retain(|(name, _), _| operation.is_some_and(|operation| operation != name));
}

fn median(times: &[Duration]) -> Option<Duration> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted.get(times.len() / 2).copied()
}

impl Seen {
    fn in_parts(&mut self) -> bool {
        self.batches += 1;
        let Some(one) = self.one.iter().min().filter(|one| **one >= WORTH) else {
            return false;
        };
        match median(&self.parts) {
            Some(parts) if self.parts.len() >= TRIES => {
                (parts < one.mul_f64(GAIN)) != self.batches.is_multiple_of(AGAIN)
            }
            _ => self.parts.len() < self.one.len(),
        }
    }
}
