//! What these commands print, one per file.

pub(crate) mod ab;
pub(crate) mod devices;
pub(crate) mod doctor;
pub(crate) mod metrics;
pub(crate) mod monitor;
pub(crate) mod plan;
pub(crate) mod sweep;
pub(crate) mod tune;
