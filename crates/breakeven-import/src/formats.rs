//! One format per file.

pub(crate) mod hyperfine;
