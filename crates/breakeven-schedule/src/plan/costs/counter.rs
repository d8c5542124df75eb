//! Counts that several processes add to.

use serde::{Deserialize, Serialize};

/// A count of which a part is known to be in the file already.
///
/// Joining with the file adds what this process counted since it last read or
/// wrote it, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Counter {
    value: u64,
    #[serde(skip)]
    filed: u64,
}

impl Counter {
    pub(super) fn value(self) -> u64 {
        self.value
    }

    pub(super) fn add(&mut self, more: u64) {
        self.value = self.value.saturating_add(more);
    }

    /// What was counted since the file was last read or written.
    pub(super) fn unfiled(self) -> u64 {
        self.value.saturating_sub(self.filed)
    }

    /// The file says `filed`: that, and what it does not know of yet.
    pub(super) fn join(&mut self, filed: u64) {
        self.value = filed.saturating_add(self.unfiled());
        self.filed = filed;
    }

    /// That was written to the file.
    pub(super) fn written(&mut self, saved: Self) {
        self.filed = saved.value;
    }
}
