//! Counts that several processes add to.

use serde::{Deserialize, Serialize};

/// A count that is partly in the file already.
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

    /// Adds what the file does not have yet to `filed`.
    pub(super) fn join(&mut self, filed: u64) {
        self.value = filed.saturating_add(self.unfiled());
        self.filed = filed;
    }

    /// Records what was written to the file.
    pub(super) fn written(&mut self, saved: Self) {
        self.filed = saved.value;
    }
}
