//! Sizes the calls of functions that take several tasks a call, such as vectorised ones. A call has
//! a fixed cost, as a GPU launch does.
//!
//! Once the fixed cost is known, a call holds enough tasks that it is at most [`MOST_COST`] of the
//! call's time, if there are enough tasks for each worker. Until then:
//!
//! - Beside GPUs, and if the progress of a batch is watched, the first call has one task and each
//!   following one [`GROWTH`] times as many, until two sizes show the cost.
//! - Workers alone get one call each. In the next batch one of them gets two, the first with
//!   1/[`GROWTH`] of the tasks, and these two show it.

use std::ops::Range;

use super::Ns;

/// Largest growth from one call to the next while the cost of a call is not known.
const GROWTH: usize = 16;

/// Largest fixed cost of a call, as a fraction of its time.
const MOST_COST: f64 = 0.05;

/// What is known about the calls of a batch.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Fixed cost of a call, ns, as other batches showed it …
    known: Option<Ns>,
    /// … and as calls of two sizes in this batch showed it.
    measured: Option<Ns>,
    /// Tasks of the smallest call, and the shortest time of such a call, ns.
    smallest: Option<(usize, Ns)>,
    /// Tasks of the largest call.
    most: usize,
    /// Calls that ended before the cost was known.
    pending: Vec<(Range<usize>, Ns)>,
    /// Number of calls that ended.
    count: usize,
    /// Tasks of the calls whose cost is known, and the time of these tasks alone, ns.
    done: (usize, Ns),
}

impl Calls {
    /// Creates the record; `known` is the fixed cost from other batches, ns.
    pub(super) fn new(known: Option<Ns>) -> Self {
        Self {
            known,
            ..Self::default()
        }
    }

    fn known_cost(&self) -> Option<Ns> {
        self.measured.or(self.known)
    }

    /// Returns the fixed cost of a call, ns; 0 if it is not known.
    pub(super) fn cost(&self) -> Ns {
        self.known_cost().unwrap_or(0.0)
    }

    /// Returns the cost that this batch showed.
    pub(super) fn measured(&self) -> Option<Ns> {
        self.measured
    }

    /// Returns the fixed costs of the calls per worker, ns. An operator that divides a batch itself
    /// is called once, without a schedule.
    pub(super) fn spent(&self, workers: usize) -> Ns {
        let count = self.count.max(1);
        self.cost() * count as f64 / workers.min(count) as f64
    }

    /// Returns the fewest tasks for a call if a task takes `task_ns`; none if the cost of a call is
    /// not known.
    pub(super) fn fewest(&self, task_ns: Ns) -> Option<usize> {
        let cost = self.known_cost()?;
        Some(crate::whole(cost * (1.0 / MOST_COST - 1.0) / task_ns))
    }

    /// Returns the tasks of the next call, chosen to measure the cost of a call.
    pub(super) fn grown(&self) -> usize {
        GROWTH.saturating_mul(self.most).max(1)
    }

    /// Returns the tasks of the first of two calls that together have `tasks` and show the cost, or
    /// of the second.
    pub(super) fn one_of_two(&self, tasks: usize) -> usize {
        if self.most == 0 {
            tasks / GROWTH
        } else {
            tasks
        }
    }

    /// Records the start of a call.
    pub(super) fn made(&mut self, tasks: usize) {
        self.most = self.most.max(tasks);
    }

    /// Records the end of a call. Returns the calls for which the time of the tasks alone has
    /// become known, and that time.
    pub(super) fn ended(&mut self, tasks: Range<usize>, ns: Ns) -> Vec<(Range<usize>, Ns)> {
        self.count += 1;
        let len = tasks.len();
        self.pending.push((tasks, ns));
        let (fewest, least) = match self.smallest {
            // A smaller call that took longer was delayed by something else.
            Some((fewest, least)) if len >= fewest => (fewest, least.min(ns)),
            _ => (len, ns),
        };
        self.smallest = Some((fewest, least));
        if len >= 2 * fewest {
            let each = (ns - least) / (len - fewest) as f64;
            let cost = (least - each * fewest as f64).max(0.0);
            // If the larger call was delayed, the estimate is too low.
            self.measured = Some(self.measured.map_or(cost, |before| before.max(cost)));
        }
        match self.known_cost() {
            Some(_) => self.rest(),
            None => Vec::new(),
        }
    }

    /// Returns the calls that ended before the cost was known, and the time of their tasks.
    pub(super) fn rest(&mut self) -> Vec<(Range<usize>, Ns)> {
        let cost = self.cost();
        let mut calls = std::mem::take(&mut self.pending);
        for (tasks, ns) in &mut calls {
            *ns = (*ns - cost).max(0.0);
            self.done = (self.done.0 + tasks.len(), self.done.1 + *ns);
        }
        // A remainder this small is noise: such tasks get the mean time.
        let mean = self.done.1 / self.done.0.max(1) as f64;
        for (tasks, ns) in &mut calls {
            if *ns < MOST_COST * cost {
                *ns = mean * tasks.len() as f64;
            }
        }
        calls
    }

    /// Returns true if the calls predict the time of a batch on `workers` workers to within a call.
    pub(super) fn are_precise(&self, tasks: usize, workers: usize) -> bool {
        let noise = MOST_COST * self.count as f64 / self.done.0.max(1) as f64;
        noise * tasks as f64 / workers as f64 <= 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_two_sizes_show_what_a_call_costs() {
        let mut calls = Calls::new(None);
        assert_eq!((calls.grown(), calls.fewest(1.0)), (1, None));
        calls.made(1);
        assert_eq!(calls.ended(9..10, 1_010.0), []);
        assert_eq!(calls.ended(8..9, 1_010.0), []);
        assert_eq!((calls.grown(), calls.one_of_two(64)), (16, 64));
        calls.made(16);
        let known = calls.ended(0..16, 1_160.0);
        assert_eq!(known, [(9..10, 10.0), (8..9, 10.0), (0..16, 160.0)]);
        assert_eq!(calls.measured(), Some(1_000.0));
        // A twentieth of a call of 1 900 tasks of 10 ns.
        assert_eq!(calls.fewest(10.0), Some(1_900));
        assert_eq!(calls.spent(2), 1_500.0);
    }

    #[test]
    fn a_call_that_was_held_up_shows_nothing() {
        let mut calls = Calls::new(None);
        assert_eq!(calls.ended(0..1, 9_000.0), []);
        _ = calls.ended(1..17, 1_160.0);
        _ = calls.ended(17..273, 3_560.0);
        assert_eq!(calls.measured(), Some(1_160.0));
        assert!(calls.are_precise(1_000, 2) && !calls.are_precise(20_000, 2));
    }

    #[test]
    fn calls_of_one_size_show_nothing() {
        let mut calls = Calls::new(None);
        assert_eq!(calls.ended(0..4, 1_000.0), []);
        assert_eq!(calls.measured(), None);
        assert_eq!(calls.rest(), [(0..4, 1_000.0)]);
        // An operator's one call was not counted.
        let mut known = Calls::new(Some(600.0));
        assert_eq!(known.spent(2), 600.0);
        assert_eq!(known.ended(0..4, 1_000.0), [(0..4, 400.0)]);
        assert_eq!((known.measured(), known.spent(2)), (None, 600.0));
    }
}
