//! Functions that take several tasks a call, such as vectorised ones: a call costs something
//! whatever it holds, as a launch of a GPU does.
//!
//! Once it is known what a call costs, it holds so many tasks that this is no more than
//! [`MOST_COST`] of its time, as far as there are so many for each worker. Until then:
//!
//! - Beside GPUs, and where somebody sees how far a batch is, the first call has one task and
//!   the following ones [`GROWTH`] times as many, until two sizes show it.
//! - Workers alone get one call each. In the next batch one of them gets two, the first with a
//!   part of [`GROWTH`] of the tasks, and these show it.

use std::ops::Range;

use super::Ns;

/// How many times as many tasks as the call before a call has at most, while it is not known
/// what it costs.
const GROWTH: usize = 16;

/// The most of a call's time that the call itself is to cost, its tasks apart.
const MOST_COST: f64 = 0.05;

/// What is known of the calls of a batch.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// What a call costs whatever it holds, ns, as other batches showed …
    known: Option<Ns>,
    /// … and as calls of two sizes of this one showed.
    measured: Option<Ns>,
    /// The fewest tasks of a call, and the least that one of so many took, ns.
    smallest: Option<(usize, Ns)>,
    /// The most tasks of a call that was made.
    most: usize,
    /// Calls that ended before it was known what they cost.
    pending: Vec<(Range<usize>, Ns)>,
    /// Calls that ended.
    count: usize,
    /// Tasks of those whose cost is known, and the time of these tasks alone, ns.
    done: (usize, Ns),
}

impl Calls {
    /// A call costs so many ns, as far as is known from other batches.
    pub(super) fn new(known: Option<Ns>) -> Self {
        Self {
            known,
            ..Self::default()
        }
    }

    fn known_cost(&self) -> Option<Ns> {
        self.measured.or(self.known)
    }

    /// What a call costs, ns; 0 where that is not known.
    pub(super) fn cost(&self) -> Ns {
        self.known_cost().unwrap_or(0.0)
    }

    /// What this batch showed of that.
    pub(super) fn measured(&self) -> Option<Ns> {
        self.measured
    }

    /// What the calls cost each of so many workers, ns. An operator that shares out all of a
    /// batch itself is called once, without a schedule.
    pub(super) fn spent(&self, workers: usize) -> Ns {
        let count = self.count.max(1);
        self.cost() * count as f64 / workers.min(count) as f64
    }

    /// Tasks that a call should have at the least where a task takes so many ns; none where it is
    /// not known what a call costs.
    pub(super) fn fewest(&self, task_ns: Ns) -> Option<usize> {
        let cost = self.known_cost()?;
        Some(crate::whole(cost * (1.0 / MOST_COST - 1.0) / task_ns))
    }

    /// Tasks of the next call, to find out what a call costs.
    pub(super) fn grown(&self) -> usize {
        GROWTH.saturating_mul(self.most).max(1)
    }

    /// The first of two calls of so many tasks which show that, or the second.
    pub(super) fn one_of_two(&self, tasks: usize) -> usize {
        if self.most == 0 {
            tasks / GROWTH
        } else {
            tasks
        }
    }

    /// A call of so many tasks is made.
    pub(super) fn made(&mut self, tasks: usize) {
        self.most = self.most.max(tasks);
    }

    /// A call ended after so many ns. The calls of which the time of the tasks alone is known now,
    /// and that time.
    pub(super) fn ended(&mut self, tasks: Range<usize>, ns: Ns) -> Vec<(Range<usize>, Ns)> {
        self.count += 1;
        let len = tasks.len();
        self.pending.push((tasks, ns));
        let (fewest, least) = match self.smallest {
            // One of fewer tasks that took longer was held up by something else.
            Some((fewest, least)) if len >= fewest => (fewest, least.min(ns)),
            _ => (len, ns),
        };
        self.smallest = Some((fewest, least));
        if len >= 2 * fewest {
            let each = (ns - least) / (len - fewest) as f64;
            let cost = (least - each * fewest as f64).max(0.0);
            // A larger one that was held up shows too little.
            self.measured = Some(self.measured.map_or(cost, |before| before.max(cost)));
        }
        match self.known_cost() {
            Some(_) => self.rest(),
            None => Vec::new(),
        }
    }

    /// The calls that ended before it was known what they cost, and the time of their tasks.
    pub(super) fn rest(&mut self) -> Vec<(Range<usize>, Ns)> {
        let cost = self.cost();
        let mut calls = std::mem::take(&mut self.pending);
        for (tasks, ns) in &mut calls {
            *ns = (*ns - cost).max(0.0);
            self.done = (self.done.0 + tasks.len(), self.done.1 + *ns);
        }
        // What is so little beside the call is noise: such tasks take what all took on average.
        let mean = self.done.1 / self.done.0.max(1) as f64;
        for (tasks, ns) in &mut calls {
            if *ns < MOST_COST * cost {
                *ns = mean * tasks.len() as f64;
            }
        }
        calls
    }

    /// True where the calls show to within a call what a batch of so many tasks takes so many
    /// workers.
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
