//! Series and what changed in them, before it is laid out.

use breakeven_history::{Change, Failed, Loaded, Series};
use serde::Serialize;

/// Series and what changed in them.
pub(crate) struct Found<'l> {
    pub(crate) loaded: &'l Loaded,
    pub(crate) changes: Vec<Change>,
    /// What failed in the newest entries, if it was looked up.
    pub(crate) failed: Vec<Failed>,
    /// What lies between, for each change, where it was looked up.
    pub(crate) between: Vec<Between>,
}

/// What lies between two values.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Between {
    /// Commits with their subjects, newest first.
    pub(crate) commits: Vec<String>,
    /// How many more commits there are.
    pub(crate) more: usize,
    /// What of the machine or the build changed as well.
    pub(crate) environment: Vec<String>,
}

impl<'l> Found<'l> {
    pub(crate) fn new(loaded: &'l Loaded, changes: Vec<Change>) -> Self {
        Self {
            loaded,
            changes,
            failed: Vec::new(),
            between: Vec::new(),
        }
    }

    pub(super) fn series(&self, change: &Change) -> &'l Series {
        &self.loaded.series[change.series]
    }

    pub(super) fn of(&self, series: usize) -> impl DoubleEndedIterator<Item = &Change> {
        let changes = self.changes.iter();
        changes.filter(move |change| change.series == series)
    }
}
