//! The integration tests of the page, in one binary. Those in `behaviour`, `hostile` and
//! `figures` open it in a headless Chromium, and are skipped where there is none.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "a test that is skipped says so")]

mod behaviour;
mod browser;
mod content;
mod figures;
mod hostile;
mod made;
