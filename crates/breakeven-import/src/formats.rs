//! One format per file.

pub(crate) mod chrome;
pub(crate) mod hyperfine;
pub(crate) mod nsys;
pub(crate) mod rocprofv3;
