//! The integration tests of the crate, in one binary. The workspace's tidy
//! tests are here too: this crate needs no GPU library, so they build in seconds.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod advise;
mod audit;
mod bottlenecks;
mod causes;
mod compare;
mod devices;
mod export;
mod page;
mod tidy;
mod winners;
