//! Why a file of costs was not used.

use std::fmt;
use std::path::PathBuf;

use crate::error::{Error, ErrorKind};

/// What is wrong with a file of costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CostsWarningKind {
    /// It is no file of costs, or not all of one. Saving keeps it under another
    /// name.
    Damaged,
    /// A newer version wrote it. Saving leaves it alone.
    NewerVersion,
    /// The operating system refuses it.
    Unreadable,
    /// There is no cache directory to have one in.
    NoPlace,
}

/// A file of costs was not used: nothing is known of what was measured before.
///
/// Displayed it is one line: what is wrong, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostsWarning {
    /// The kind of thing that is wrong.
    pub kind: CostsWarningKind,
    /// The file; none where there is no place for one.
    pub path: Option<PathBuf>,
    /// What is wrong and what to do, in one line without the path.
    pub message: String,
}

impl CostsWarning {
    pub(super) fn no_place() -> Self {
        Self {
            kind: CostsWarningKind::NoPlace,
            path: None,
            message: "no home directory to keep measured costs in; set BREAKEVEN_CACHE_DIR, or BREAKEVEN_CACHE=off to do without".to_owned(),
        }
    }
}

impl fmt::Display for CostsWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.display())?;
        }
        f.write_str(&self.message)
    }
}

impl From<CostsWarning> for Error {
    fn from(warning: CostsWarning) -> Self {
        Self::new(ErrorKind::File, warning.to_string())
    }
}
