//! The integration tests of the command, in one binary.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod command;
mod detection;
mod faults;
mod vulkan;
