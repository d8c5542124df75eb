//! A batch that one GPU runs alone, in pieces that overlap on it (`plan/pieces.rs` says in how
//! many).
//!
//! Whether they overlap is measured, by each batch in pieces: what a further piece added is
//! held against what it takes alone. That is known twice, from launches of earlier batches and
//! from the row's first piece, and the less counts: neither a first piece with dear tasks nor
//! a cost from when the device was slower passes for overlap.

use std::ops::Range;

use super::{LaunchTime, Ns, Schedule};
use crate::plan::{Tuning, pieces};

/// The pieces of a GPU's batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pieces: usize,
    /// Those that were not launched yet.
    pub(super) left: usize,
    began: Ns,
    /// What a launch costs, ns.
    launch: Ns,
    /// What a piece's work was predicted to take alone, ns.
    predicted: Ns,
    /// What the first piece took, ns.
    first: Option<Ns>,
}

impl Row {
    /// A launch of a batch in pieces ended well: the `successes`-th.
    pub(super) fn ended(&mut self, successes: u64, took: LaunchTime) {
        match successes {
            1 => self.first = took.ns,
            // The first one was looked at late, and is not to pass for all the work of both.
            2 if took.is_joint => {
                let alone = self.launch + self.predicted;
                self.first = self.first.map(|ns| ns.min(alone));
            }
            _ => {}
        }
    }

    /// Part of a piece's work that each further piece added, where the row ended at `end`,
    /// after so many launches that all went well.
    pub(super) fn bottleneck(&self, launches: u64, end: Ns, tuning: &Tuning) -> Option<f64> {
        let first = self.first.filter(|_| launches == self.pieces as u64)?;
        let further = (end - self.began - first) / (self.pieces - 1) as f64;
        if first < tuning.far_faster * (self.launch + self.predicted) {
            // What is known of launches is of another time, and is to be learned again.
            return Some(1.0);
        }
        let alone = (first - self.launch).min(self.predicted);
        (alone > 0.0).then(|| ((further - self.launch) / alone).clamp(0.0, 1.0))
    }
}

impl Schedule {
    /// True where another piece may be launched beside those in flight.
    pub(super) fn has_room(&self, index: usize) -> bool {
        let gpu = &self.gpus[index];
        let is_left = gpu.row.is_some_and(|row| row.left > 0) && self.free.tasks() > 0;
        is_left && !gpu.is_gone && !self.is_shared() && gpu.flights.len() < gpu.setup.depth
    }

    /// Decides before a GPU's first launch whether its tasks, which are these, are cut.
    pub(super) fn plan_row(&mut self, index: usize, range: Range<usize>, now: Ns) {
        let gpus = self.gpus.iter().filter(|gpu| gpu.takes());
        if self.is_shared() || gpus.count() > 1 {
            return;
        }
        if self.setup.corrects && !self.knows_shape() {
            // Parts that end one after the other tell where the work lies.
            return;
        }
        let gpu = &self.gpus[index];
        let setup = &gpu.setup;
        let Some(launch) = setup.launch.filter(|_| !setup.on_probation) else {
            return;
        };
        let alone = gpu.rate.predict(self.density.work(range.clone()));
        let Some(alone) = alone.filter(|_| gpu.rate.tells_fixed() && setup.depth > 1) else {
            return;
        };
        let pieces = pieces(alone, launch, setup.bottleneck, self.setup.tuning);
        if pieces.min(range.len()) < 2 {
            return;
        }
        let pieces = pieces.max(range.len().div_ceil(gpu.fits)).min(range.len());
        self.gpus[index].row = Some(Row {
            pieces,
            left: pieces,
            began: now,
            launch,
            predicted: (alone - launch).max(0.0) / pieces as f64,
            first: None,
        });
    }
}
