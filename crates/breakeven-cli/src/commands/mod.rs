//! One command per file.

pub(crate) mod devices;
pub(crate) mod profile;
pub(crate) mod show;
