//! The integration tests of the command, in one binary.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod advise;
mod bad_use;
mod command;
mod detection;
mod faults;
mod formats;
#[cfg(unix)]
mod interrupt;
mod no_gpu;
mod profile;
mod vulkan;
