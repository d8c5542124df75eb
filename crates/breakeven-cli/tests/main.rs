//! The integration tests of the command, in one binary.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(unix)]
mod ab;
mod advise;
mod bad_input;
mod bad_use;
mod baseline;
mod ci_page;
mod command;
mod compare;
mod detection;
mod export;
mod faults;
mod formats;
mod github;
#[cfg(unix)]
mod interrupt;
mod no_gpu;
mod plan;
mod profile;
mod profile_strategy;
mod report;
mod series;
mod sweep;
mod tune;
mod vulkan;
