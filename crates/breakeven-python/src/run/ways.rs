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

/// Number of batches after which the slower variant is measured again, and the use of the GIL.
pub(super) const AGAIN: u64 = 64;

/// Fraction of the time with the GIL from which a function gets one worker. Half: even infinitely
/// many workers could not make it twice as fast (Amdahl's law).
const ONE_WORKER_FROM: f64 = 0.5;

/// The measurement of an operation's function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Held {
    /// Fraction of the time in which it held the GIL, 0 to 1.
    pub(super) part: f64,
    /// Duration of the measurement.
    pub(super) watched: Duration,
}

impl Held {
    pub(super) fn takes_one_worker(self) -> bool {
        self.part >= ONE_WORKER_FROM
    }
}

/// Most functions and sizes that are kept.
const MOST: usize = 4096;

/// What was measured of a function, or of one function with about one number of items.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Batches, since the use of the GIL was measured.
    pub(super) batches: u64,
    pub(super) held: Option<Held>,
    one: Vec<Duration>,
    parts: Vec<Duration>,
}

type All = HashMap<(String, Option<u32>), Seen>;

static SEEN: LazyLock<Mutex<All>> = LazyLock::new(Mutex::default);

/// Batches of twice the items are another size.
pub(super) fn with_seen<R>(
    operation: &str,
    items: Option<usize>,
    work: impl FnOnce(&mut Seen) -> R,
) -> R {
    let mut all = locked(&SEEN);
    if all.len() >= MOST {
        all.clear();
    }
    let size = items.map(|items| items.checked_ilog2().unwrap_or(0));
    work(all.entry((operation.to_owned(), size)).or_default())
}

/// Whether to split the next batch.
pub(super) fn in_parts(operation: &str, items: usize) -> bool {
    with_seen(operation, Some(items), Seen::in_parts)
}

/// Adds the time of a batch, done in one call or split; returns the fastest time of one call and the
/// median of a split.
pub(super) fn took(
    operation: &str,
    items: usize,
    in_parts: bool,
    time: Duration,
) -> Option<(Duration, Option<Duration>)> {
    with_seen(operation, Some(items), |seen| {
        let times = match in_parts {
            true => &mut seen.parts,
            false => &mut seen.one,
        };
        times.insert(0, time);
        times.truncate(TRIES);
        Some((*seen.one.iter().min()?, median(&seen.parts)))
    })
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
