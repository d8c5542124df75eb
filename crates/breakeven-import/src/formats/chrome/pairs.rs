//! Calls whose beginning and end are events of their own, which the format allows in any
//! order. They wait in a buffer until it is full, are sorted by time, and the earlier half is
//! paired, so memory is bounded. What comes later than that may belong to another call.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use crate::trace::When;

/// Beginnings and ends that wait to be put in order. Calls wait for their paths in a buffer
/// for four times as many.
const WINDOW: usize = 1 << 19;

/// Calls that are open at once.
const MOST: usize = 1 << 16;

/// A beginning or an end.
#[derive(Clone, Copy)]
pub(super) struct End {
    pub(super) at: i64,
    pub(super) lane: u64,
    /// The operation; `None` for an end without a name.
    pub(super) operation: Option<u32>,
    pub(super) track: u32,
    pub(super) is_begin: bool,
    pub(super) is_asynchronous: bool,
}

/// Beginnings and ends until they are paired.
#[derive(Default)]
pub(super) struct Pairs {
    waiting: Vec<End>,
    open: HashMap<u64, Vec<End>>,
    still_open: usize,
    unpaired: u64,
    lanes: RandomState,
}

impl Pairs {
    /// The number of what has its calls inside each other: a thread, or an id.
    pub(super) fn lane(&self, key: &str) -> u64 {
        self.lanes.hash_one(key)
    }

    pub(super) fn add(&mut self, end: End) {
        self.waiting.push(end);
    }

    /// Whether to pair now.
    pub(super) fn is_time(&self) -> bool {
        self.waiting.len() >= WINDOW
    }

    /// Hands over the beginning of each call and its time, for the earlier half or for all.
    pub(super) fn take(&mut self, all: bool, mut call: impl FnMut(End, When)) {
        self.waiting.sort_by_key(|end| end.at);
        let count = if all {
            self.waiting.len()
        } else {
            self.waiting.len() / 2
        };
        for end in self.waiting.drain(..count) {
            let open = self.open.entry(end.lane).or_default();
            if end.is_begin {
                if self.still_open >= MOST {
                    self.unpaired += 1;
                    continue;
                }
                self.still_open += 1;
                open.push(end);
                continue;
            }
            let is_its = |begin: &End| {
                begin.at <= end.at && (end.operation.is_none() || begin.operation == end.operation)
            };
            let begin = open.iter().rposition(is_its).map(|at| open.remove(at));
            if open.is_empty() {
                self.open.remove(&end.lane);
            }
            let Some(begin) = begin else {
                self.unpaired += 1;
                continue;
            };
            self.still_open -= 1;
            if let Some(when) = When::between(begin.at, end.at) {
                call(begin, when);
            }
        }
    }

    /// Beginnings and ends without the other.
    pub(super) fn unpaired(&self) -> u64 {
        self.unpaired + self.still_open as u64
    }
}
