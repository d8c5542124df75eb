//! When something last had a part of the time that was spent running an operation.

use serde::{Deserialize, Serialize};

use super::Absence;

/// How long ago something last had a part in batches.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Part {
    /// Time spent running the operation since then, ns.
    since: u64,
    /// Tries in a row.
    #[serde(skip)]
    tries: u32,
}

impl Part {
    /// It has had none in all the time that was ever spent.
    pub(super) fn never(spent: u64) -> Self {
        Self {
            since: spent,
            tries: 0,
        }
    }

    pub(super) fn was_left_out(self) -> bool {
        self.since > 0
    }

    /// A batch took so many ns, in which it had no part.
    pub(super) fn had_none(&mut self, ns: u64) {
        self.since = self.since.saturating_add(ns);
    }

    /// It had one in the batch that ended now, of so many ns that are counted already.
    pub(super) fn had(&mut self, ns: u64) {
        // Who was left out before was tried now.
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

    /// Makes it the later of two last parts: this process's, where it was after the file was
    /// last read, and the file's. `unfiled` was spent since. True where it was the file's.
    pub(super) fn join(&mut self, filed: Self, unfiled: u64) -> bool {
        let is_filed = self.since >= unfiled;
        if is_filed {
            self.since = filed.since.saturating_add(unfiled);
        }
        is_filed
    }
}
