//! Counts that several processes add to.

/// A count of which a part is known to be in the file already.
///
/// Joining with the file adds what this process counted since it last read or
/// wrote it, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counter {
    value: u64,
    filed: u64,
}

impl Counter {
    pub(super) fn value(self) -> u64 {
        self.value
    }

    pub(super) fn add(&mut self, more: u64) {
        self.value = self.value.saturating_add(more);
    }

    /// True for a value of this counter that was reached after the file was
    /// last read or written.
    pub(super) fn is_unfiled(self, value: u64) -> bool {
        value > self.filed
    }

    /// The file says `filed`: that, and what it does not know of yet.
    pub(super) fn join(&mut self, filed: u64) {
        let unfiled = self.value.saturating_sub(self.filed);
        self.value = filed.saturating_add(unfiled);
        self.filed = filed;
    }

    /// `value` was written to the file.
    pub(super) fn written(&mut self, value: u64) {
        self.filed = value;
    }
}
