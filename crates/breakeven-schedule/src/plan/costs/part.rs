//! When something last had a part of the time that was spent running an operation.

use super::Absence;
use super::counter::Counter;

/// The last part that something had in batches.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Part {
    /// What was spent by then.
    pub(super) at: u64,
    /// Tries in a row.
    tries: u32,
}

impl Part {
    /// It had one in a batch before which so much was spent, and after.
    pub(super) fn had(&mut self, before: u64, after: u64) {
        // Who was left out before was tried now.
        self.tries = match self.at < before {
            true => self.tries.saturating_add(1),
            false => 0,
        };
        self.at = after;
    }

    pub(super) fn absence(self, spent: u64) -> Absence {
        Absence {
            since_ns: spent.saturating_sub(self.at) as f64,
            tries: self.tries,
        }
    }
}

/// How counts of spent time move when those of the file come in.
pub(super) struct Parts {
    pub(super) old: Counter,
    pub(super) new: u64,
    pub(super) filed: u64,
}

impl Parts {
    /// Makes it the later of two last parts: this process's, where it was after the file was
    /// last read, and the file's. True where it was not this process's.
    pub(super) fn join(&self, part: &mut Part, filed_since: u64) -> bool {
        let filed = self.filed.saturating_sub(filed_since);
        let is_own = self.old.is_unfiled(part.at);
        part.at = match is_own {
            false => filed,
            true => {
                let since = self.old.value().saturating_sub(part.at);
                filed.max(self.new.saturating_sub(since))
            }
        };
        !is_own
    }
}
