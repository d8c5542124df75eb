//! One format per file.

pub(crate) mod chrome;
pub(crate) mod hyperfine;
