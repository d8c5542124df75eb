//! Calls whose beginning and end are events of their own, which the format allows in any
//! order: they are sorted by time and paired at the end.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hash, RandomState};

use crate::trace::When;

/// Calls that are open at once.
const MOST: usize = 1 << 16;

/// A beginning or an end.
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
    pub(super) ends: Vec<End>,
    lanes: RandomState,
}

impl Pairs {
    /// The number of what has its calls inside each other: a thread, or an id.
    pub(super) fn lane(&self, key: impl Hash) -> u64 {
        self.lanes.hash_one(key)
    }

    /// Hands over the beginning of each call and its time; how many beginnings and ends lack
    /// the other.
    pub(super) fn take(&mut self, mut call: impl FnMut(End, When)) -> u64 {
        self.ends.sort_by_key(|end| end.at);
        let mut open: HashMap<u64, Vec<End>> = HashMap::new();
        let (mut unpaired, mut still_open) = (0, 0_usize);
        for end in self.ends.drain(..) {
            let open = open.entry(end.lane).or_default();
            if end.is_begin {
                if still_open < MOST {
                    still_open += 1;
                    open.push(end);
                } else {
                    unpaired += 1;
                }
                continue;
            }
            let is_its = |begin: &End| {
                begin.at <= end.at && (end.operation.is_none() || begin.operation == end.operation)
            };
            let begin = open.iter().rposition(is_its).map(|at| open.remove(at));
            match begin.and_then(|begin| Some((When::between(begin.at, end.at)?, begin))) {
                Some((when, begin)) => {
                    still_open -= 1;
                    call(begin, when);
                }
                None => unpaired += 1,
            }
        }
        unpaired + still_open as u64
    }
}
