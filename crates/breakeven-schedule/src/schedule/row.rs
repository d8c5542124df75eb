//! Runs a batch on one GPU alone, in pieces that overlap there (`plan/pieces.rs` decides how many).
//!
//! Each batch in pieces measures the overlap: what a further piece added is compared with its time
//! alone. That time is known twice, from launches of earlier batches and from the first piece, and
//! the smaller one counts. So neither a first piece with expensive tasks nor an outdated cost
//! passes for overlap.

use std::ops::Range;

use super::{LaunchTime, Ns, Schedule};
use crate::plan::{Added, Tuning, pieces};

/// The pieces of a GPU's batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pieces: usize,
    /// Pieces that were not launched yet.
    pub(super) left: usize,
    began: Ns,
    /// Cost of a launch, ns, as pieces of two sizes showed it; 0 if none did.
    pub(super) launch: Ns,
    /// Predicted time of a piece's work alone, ns.
    predicted: Ns,
    /// Time of the first piece, ns.
    first: Option<Ns>,
}

impl Row {
    /// Records that the `successes`-th launch of a batch in pieces succeeded.
    pub(super) fn ended(&mut self, successes: u64, took: LaunchTime) {
        match successes {
            1 => self.first = took.ns,
            // The first one was polled late, and must not count as the work of both.
            2 if took.is_joint => {
                let alone = self.launch + self.predicted;
                self.first = self.first.map(|ns| ns.min(alone));
            }
            _ => {}
        }
    }

    /// Returns what each further piece added if the row ended at `end` after `launches` successful
    /// launches.
    pub(super) fn added(&self, launches: u64, end: Ns, tuning: &Tuning) -> Option<Added> {
        let first = self.first.filter(|_| launches == self.pieces as u64)?;
        let further = (end - self.began - first) / (self.pieces - 1) as f64;
        if tuning.failed_prediction * first < self.launch + self.predicted {
            // The known launch times are outdated, and must be learned again.
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
    /// Returns true if another piece may be launched in addition to those in flight.
    pub(super) fn has_room(&self, index: usize) -> bool {
        let gpu = &self.gpus[index];
        let is_left = gpu.row.is_some_and(|row| row.left > 0) && self.free.tasks() > 0;
        is_left && !gpu.is_gone && !self.is_shared() && gpu.flights.len() < gpu.setup.depth
    }

    /// Decides before a GPU's first launch whether its tasks are cut into pieces.
    pub(super) fn plan_row(&mut self, index: usize, range: Range<usize>, now: Ns) {
        let gpus = self.gpus.iter().filter(|gpu| gpu.takes());
        if self.is_shared() || gpus.count() > 1 {
            return;
        }
        if self.setup.orders.by_prediction && !self.knows_shape() {
            // Pieces that end one after the other would have to show where the work lies.
            return;
        }
        let gpu = &self.gpus[index];
        let setup = &gpu.setup;
        let Some(further) = setup.further.filter(|_| !setup.on_probation) else {
            return;
        };
        let alone = gpu.rate.predict(self.density.work(range.clone()));
        let Some(alone) = alone.filter(|_| gpu.rate.is_fixed_known() && setup.depth > 1) else {
            return;
        };
        let pieces = pieces(alone, further, self.setup.tuning);
        if pieces.min(range.len()) < 2 {
            return;
        }
        let pieces = pieces.max(range.len().div_ceil(gpu.fits)).min(range.len());
        // Complete launches do not measure a cost as small as a piece's.
        let launch = further.launch_ns * f64::from(further.is_measured);
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
