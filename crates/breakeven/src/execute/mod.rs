//! Running a batch where it pays.
pub(crate) mod given;
