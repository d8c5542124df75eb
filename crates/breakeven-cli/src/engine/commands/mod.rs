//! One command per file.

pub(crate) mod ab;
pub(crate) mod devices;
pub(crate) mod doctor;
pub(crate) mod monitor;
pub(crate) mod plan;
pub(crate) mod profile;
#[cfg(unix)]
pub(crate) mod run;
pub(crate) mod sweep;
pub(crate) mod tune;
