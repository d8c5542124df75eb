//! The integration tests of the command, in one binary.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(unix)]
mod action;
mod advise;
mod bad_input;
mod baseline;
mod ci_page;
mod command;
mod compare;
mod compare_gate;
mod describe;
#[cfg(feature = "engine")]
mod engine;
mod export;
mod formats;
mod github;
mod history;
mod import;
mod inconclusive;
#[cfg(not(feature = "engine"))]
mod left_out;
mod newcomer;
mod report;
mod tools;
mod traces;
#[cfg(target_os = "linux")]
mod unwritten;
