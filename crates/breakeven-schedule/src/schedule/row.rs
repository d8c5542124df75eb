//! A batch that one GPU runs alone, in pieces that overlap on it (`plan/pieces.rs` says in how
//! many).
//!
//! Whether they overlap is measured, by each batch in pieces: what a further piece added is
//! held against what it takes alone. That is known twice, from launches of earlier batches and
//! from the row's first piece, and the less counts: neither a first piece with dear tasks nor
//! a cost from when the device was slower passes for overlap.

use std::ops::Range;

use super::{LaunchTime, Ns, Schedule};
use crate::plan::{Added, Tuning, pieces};

/// The pieces of a GPU's batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pieces: usize,
    /// Those that were not launched yet.
    pub(super) left: usize,
    began: Ns,
    /// What a launch costs, ns, as pieces of two sizes told; 0 where none did.
    pub(super) launch: Ns,
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

    /// What each further piece added, where the row ended at `end`, after so many launches that
    /// all went well.
    pub(super) fn added(&self, launches: u64, end: Ns, tuning: &Tuning) -> Option<Added> {
        let first = self.first.filter(|_| launches == self.pieces as u64)?;
        let further = (end - self.began - first) / (self.pieces - 1) as f64;
        if tuning.failed_prediction * first < self.launch + self.predicted {
            // What is known of launches is of another time, and is to be learned again.
            return Some(Added::ALL);
        }
        let alone = first.min(self.predicted);
        (alone > 0.0).then(|| Added {
            part: (further / alone).max(0.0),
            per_ns: alone.recip(),
        })
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
        if self.setup.orders.by_prediction && !self.knows_shape() {
            // Parts that end one after the other tell where the work lies.
            return;
        }
        let gpu = &self.gpus[index];
        let setup = &gpu.setup;
        let Some(further) = setup.further.filter(|_| !setup.on_probation) else {
            return;
        };
        let alone = gpu.rate.predict(self.density.work(range.clone()));
        let Some(alone) = alone.filter(|_| gpu.rate.tells_fixed() && setup.depth > 1) else {
            return;
        };
        let pieces = pieces(alone, further, self.setup.tuning);
        if pieces.min(range.len()) < 2 {
            return;
        }
        let pieces = pieces.max(range.len().div_ceil(gpu.fits)).min(range.len());
        // Of one that only whole launches told nothing is known that is as small as a piece.
        let launch = further.launch_ns * f64::from(further.is_told);
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
