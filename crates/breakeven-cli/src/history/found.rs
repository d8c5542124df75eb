//! Series and their changes, before they are laid out.

use breakeven_history::{Change, Failed, Loaded, Series};
use serde::Serialize;

/// Series and their changes.
pub(crate) struct Found<'l> {
    pub(crate) loaded: &'l Loaded,
    pub(crate) changes: Vec<Change>,
    /// Failures in the newest entries, if they were looked up.
    pub(crate) failed: Vec<Failed>,
    /// The commits and differences behind each change, if they were looked up.
    pub(crate) between: Vec<Between>,
}

/// The commits and differences between two values.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Between {
    /// Commits with their subjects, newest first.
    pub(crate) commits: Vec<String>,
    /// Number of further commits.
    pub(crate) more: usize,
    /// Differences of the machine or the build.
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
