//! The integration tests of the crate, in one binary: files that the tools themselves
//! wrote, in `tests/data/FORMAT`, and files that are wrong.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bad_input;
mod benchmarks;
mod chrome;
mod counters;
mod damaged;
mod failures;
mod hostile;
mod hyperfine;
mod identity;
mod messages;
mod nsys;
mod nvbench;
mod recognised;
mod rocprofv3;
mod stacks;
mod support;
mod survives;
mod table;
