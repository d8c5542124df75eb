//! One format per file.

pub(crate) mod chrome;
pub(crate) mod collapsed;
pub(crate) mod hyperfine;
pub(crate) mod nsys;
pub(crate) mod nvbench;
pub(crate) mod rocprofv3;
pub(crate) mod speedscope;
