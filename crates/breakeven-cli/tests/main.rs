//! The integration tests of the command, in one binary.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(unix)]
mod ab;
#[cfg(unix)]
mod action;
mod advise;
mod bad_input;
mod bad_use;
mod baseline;
mod ci_page;
mod command;
mod compare;
mod describe;
mod detection;
mod doctor;
mod energy;
#[cfg(unix)]
mod every;
mod export;
mod faults;
mod formats;
mod github;
mod history;
mod import;
mod inconclusive;
#[cfg(unix)]
mod interrupt;
#[cfg(unix)]
mod monitor;
mod no_gpu;
mod plan;
mod profile;
mod profile_strategy;
#[cfg(unix)]
mod record;
mod report;
#[cfg(unix)]
mod run;
mod series;
#[cfg(unix)]
mod serve;
mod sweep;
mod traces;
mod tune;
mod vulkan;
