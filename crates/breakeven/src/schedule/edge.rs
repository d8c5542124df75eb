//! Places of a batch that have cheap tasks as well as dear ones.
//!
//! A stretch of dear tasks begins and ends within places, and a place's mean says where:
//! taken for even, it would send a worker into a dear task for a cheap one's time.

use std::ops::Range;

/// Where in a place cheap tasks end and dear ones begin, or the other way round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    /// The first task behind it.
    pub(super) task: usize,
    /// Work of a task before and behind it over the place's.
    pub(super) factors: [f64; 2],
}

impl Edge {
    /// Tasks on one side of it had work, over the place's, that is more like the other side's.
    pub(super) fn move_by(&mut self, done: &Range<usize>, found: f64) {
        let off = |factor: f64| (found / factor).ln().abs();
        let is_before = off(self.factors[0]) < off(self.factors[1]);
        if is_before && done.start >= self.task {
            self.task = done.end;
        } else if !is_before && done.end <= self.task {
            self.task = done.start;
        }
    }
}
