//! Whether a small kernel is shared out over the pool: measured, not guessed.
//!
//! To wake a thread takes from ten microseconds to half a millisecond, by the machine
//! and by what else runs on it. So a call of a size is timed both ways, the faster way is
//! taken, and the other is tried again ever more seldom.

use std::sync::Mutex;
use std::time::Instant;

use crate::locked;

/// Pieces from which on work is shared out without a look.
const SURELY: usize = 64;

/// Sizes that are distinguished: powers of two below [`SURELY`].
const SIZES: usize = SURELY.ilog2() as usize;

/// Calls in a row by which a way is judged, and for how long at least, ns: the first may
/// find the pool asleep, and a system needs a while to put two threads on two cores.
const LOOK: u32 = 4;
const LOOK_NS: f64 = 4e6;

/// Time of a shared call above which the cost of waking threads is negligible, ns.
const LONG_NS: f64 = 5e6;

/// For how long times are remembered, ns, and for how many calls at least and at most: a pool
/// that slept takes some calls to be awake, which say little of those after them.
const REMEMBERED_NS: f64 = 30e6;
const FEWEST_CALLS: f64 = 10.0;
const MOST_CALLS: f64 = 100.0;

/// How many times as long as remembered a call counts as at the most.
const MOST: f64 = 2.0;

/// Sharing begins if it takes at most this fraction of the time alone, because it also uses the
/// other cores, and ends if it takes longer than alone.
const WORTH: f64 = 0.9;

/// How many times its cost is spent before the slower way is tried again: at first, and finally if
/// nothing changed.
const SOONEST: f64 = 10.0;
const LATEST: f64 = 400.0;

/// Least cost of trying the other way, as a fraction of a call.
const LEAST_COST: f64 = 0.2;

/// What was measured of one kernel in this process.
pub(super) struct Sharing {
    /// Calls from outside the pool, and by its threads.
    sizes: [[Mutex<Times>; SIZES]; 2],
}

/// What calls of one size took: alone, and shared.
#[derive(Debug, Clone, Copy)]
struct Times {
    threads: usize,
    ns: [Option<f64>; 2],
    /// The way that is taken.
    is_shared: bool,
    /// The way being tried, if any.
    look: Option<Look>,
    /// Time until the next look, ns, and how many times its cost that is.
    wait: f64,
    patience: f64,
}

/// A way that is tried for a while.
#[derive(Debug, Clone, Copy)]
struct Look {
    is_shared: bool,
    calls: u32,
    ns: f64,
    least: f64,
    /// Their time as it is remembered.
    counted: f64,
}

impl Sharing {
    pub(super) const fn new() -> Self {
        Self {
            sizes: [const { [const { Mutex::new(Times::new()) }; SIZES] }; 2],
        }
    }

    /// Runs work of `pieces` pieces, and passes whether to share it.
    pub(super) fn run<R>(&self, pieces: usize, work: impl FnOnce(bool) -> R) -> R {
        let threads = breakeven_machine::pool_threads();
        if pieces <= 1 || threads <= 1 {
            return work(false);
        }
        if pieces >= SURELY {
            return work(true);
        }
        let place = usize::from(rayon::current_thread_index().is_some());
        let times = &self.sizes[place][pieces.ilog2() as usize];
        let times = || locked(times);
        let is_shared = times().next(threads);
        let start = Instant::now();
        let done = work(is_shared);
        times().note(is_shared, start.elapsed().as_nanos() as f64);
        done
    }
}

impl Times {
    const fn new() -> Self {
        Self {
            threads: 0,
            ns: [None; 2],
            is_shared: false,
            look: None,
            wait: 0.0,
            patience: SOONEST,
        }
    }

    /// Returns true if the next call must be shared.
    fn next(&mut self, threads: usize) -> bool {
        if self.threads != threads {
            *self = Self {
                threads,
                ..Self::new()
            };
        }
        if self.ns[1].is_some_and(|shared| shared > LONG_NS) {
            return true;
        }
        if self.look.is_none() && self.wait <= 0.0 {
            let is_shared = match self.ns {
                [_, None] => true,
                [None, _] => false,
                _ => !self.is_shared,
            };
            self.look = Some(Look {
                is_shared,
                calls: 0,
                ns: 0.0,
                least: f64::INFINITY,
                counted: 0.0,
            });
        }
        self.look.map_or(self.is_shared, |look| look.is_shared)
    }

    /// Returns true if the preferred way changes.
    fn changes(&mut self) -> bool {
        let [alone, shared] = self.ns.map(|ns| ns.unwrap_or(0.0));
        let before = self.is_shared;
        self.is_shared = shared < if before { alone } else { WORTH * alone };
        self.is_shared != before
    }

    fn note(&mut self, is_shared: bool, ns: f64) {
        let way = &mut self.ns[usize::from(is_shared)];
        let Some(look) = self
            .look
            .as_mut()
            .filter(|look| look.is_shared == is_shared)
        else {
            if let Some(before) = way {
                // A call that was interrupted shows little.
                let counted = ns.min(MOST * *before);
                let part = (counted / REMEMBERED_NS).clamp(1.0 / MOST_CALLS, 1.0 / FEWEST_CALLS);
                *before += part * (counted - *before);
            }
            self.wait -= ns;
            if self.changes() {
                self.patience = SOONEST;
                self.look_later();
            }
            return;
        };
        look.calls += 1;
        look.ns += ns;
        look.least = look.least.min(ns);
        look.counted += ns.min(MOST * look.least);
        if look.calls < LOOK || look.ns < LOOK_NS {
            return;
        }
        let Look { calls, counted, .. } = *look;
        let known = self.ns.iter().all(Option::is_some);
        self.ns[usize::from(is_shared)] = Some(counted / f64::from(calls));
        self.look = None;
        if self.ns.contains(&None) {
            return;
        }
        self.patience = match !self.changes() && known {
            true => (2.0 * self.patience).min(LATEST),
            false => SOONEST,
        };
        self.look_later();
    }

    /// Tries the other way as soon as that costs little compared with the work done since.
    fn look_later(&mut self) {
        let [alone, shared] = self.ns.map(|ns| ns.unwrap_or(0.0));
        let other = if self.is_shared { alone } else { shared };
        let calls = (LOOK_NS / other.max(1.0)).max(f64::from(LOOK));
        let cost = (alone - shared).abs().max(LEAST_COST * alone.min(shared));
        self.wait = self.patience * calls * cost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the shared calls, among calls that take these times each way, µs.
    fn shared(times: &mut Times, calls: u32, [alone, shared]: [f64; 2]) -> u32 {
        let one = |_: &u32| {
            let is_shared = times.next(2);
            times.note(is_shared, 1e3 * if is_shared { shared } else { alone });
            is_shared
        };
        (0..calls).filter(one).count() as u32
    }

    #[test]
    fn the_faster_way_is_taken_and_the_other_looked_at_ever_more_seldom() {
        let mut times = Times::new();
        let expensive = shared(&mut times, 10_000, [60.0, 500.0]);
        assert!((4..100).contains(&expensive), "{expensive}");
        let mut times = Times::new();
        let cheap = shared(&mut times, 10_000, [430.0, 250.0]);
        assert!((9_800..=9_996).contains(&cheap), "{cheap}");
    }

    #[test]
    fn what_changes_is_noticed() {
        let mut times = Times::new();
        shared(&mut times, 100, [430.0, 250.0]);
        // Another program takes the other core.
        let loaded = shared(&mut times, 1_000, [430.0, 600.0]);
        assert!(loaded < 100, "{loaded}");
        let free = shared(&mut times, 20_000, [430.0, 250.0]);
        assert!(free > 10_000, "{free}");
    }

    #[test]
    fn a_way_that_was_left_is_tried_again_soon() {
        let mut times = Times::new();
        // Looked at for long, and left for what lasted some calls.
        shared(&mut times, 20_000, [430.0, 250.0]);
        shared(&mut times, 100, [430.0, 600.0]);
        let free = shared(&mut times, 1_000, [430.0, 250.0]);
        assert!(free > 800, "{free}");
    }

    #[test]
    fn interruptions_change_nothing() {
        let mut times = Times::new();
        let mut cheap = 0;
        for _ in 0..100 {
            cheap += shared(&mut times, 20, [430.0, 250.0]);
            shared(&mut times, 1, [5_000.0, 5_000.0]);
        }
        assert!(cheap > 1_800, "{cheap}");
    }

    #[test]
    fn long_work_is_never_done_alone() {
        let mut times = Times::new();
        assert_eq!(shared(&mut times, 1_000, [60_000.0, 31_000.0]), 1_000);
    }

    #[test]
    fn another_number_of_threads_begins_anew() {
        let mut times = Times::new();
        shared(&mut times, 100, [60.0, 500.0]);
        assert!(times.next(16));
    }
}
