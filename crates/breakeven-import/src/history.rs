//! Files that hold more than one measurement.

use breakeven_profile::profile::Profile;

/// A measurement in a file that keeps a history, as `github-action-benchmark` does.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// What was measured. Its `environment.revision` is the commit, its `created` the date.
    pub profile: Profile,
    /// The measured commit.
    pub commit: Option<String>,
    /// Its branch, where the file tells it.
    pub branch: Option<String>,
    /// When it was measured, RFC 3339 in UTC.
    pub date: Option<String>,
}
