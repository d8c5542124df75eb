//! When a device last had a share of an operation's time.

use serde::{Deserialize, Serialize};

use super::Absence;

/// How long ago a device last had a share of batches.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Part {
    /// Time spent running the operation since then, ns.
    since: u64,
    /// Consecutive trials.
    #[serde(skip)]
    tries: u32,
}

impl Part {
    /// Creates the record of a device without a share in all the time spent.
    pub(super) fn never(spent: u64) -> Self {
        Self {
            since: spent,
            tries: 0,
        }
    }

    pub(super) fn was_left_out(self) -> bool {
        self.since > 0
    }

    /// Records a batch of `ns` without a share.
    pub(super) fn had_none(&mut self, ns: u64) {
        self.since = self.since.saturating_add(ns);
    }

    /// Records a share of the batch that just ended, of `ns` that are counted already.
    pub(super) fn had(&mut self, ns: u64) {
        // A device that was left out before was tried now.
        self.tries = match self.since > ns {
            true => self.tries.saturating_add(1),
            false => 0,
        };
        self.since = 0;
    }

    pub(super) fn absence(self) -> Absence {
        Absence {
            since_ns: self.since as f64,
            tries: self.tries,
        }
    }

    /// Keeps the later of two last shares: this process's, if it was after the last read of the
    /// file, and the file's. `unfiled` was spent since. Returns true if it was the file's.
    pub(super) fn join(&mut self, filed: Self, unfiled: u64) -> bool {
        let is_filed = self.since >= unfiled;
        if is_filed {
            self.since = filed.since.saturating_add(unfiled);
        }
        is_filed
    }
}
