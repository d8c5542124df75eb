//! The integration tests of the crate, in one binary.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod damage;
mod keeping;
mod states;
mod support;
