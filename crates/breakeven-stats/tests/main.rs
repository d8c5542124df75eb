//! The statistics against SciPy, against their own laws, and against chance.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod by_hand;
mod calibration;
mod change_points;
mod laws;
#[path = "../../breakeven-profile/tests/stats/numbers.rs"]
mod numbers;
mod power;
mod published;
mod vectors;
