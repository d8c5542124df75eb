//! Deciding where a batch runs: pure functions from what is known to a
//! [`Decision`]. Nothing in here reads a clock, a file or a device.

pub(crate) mod costs;
mod decision;
mod machine;
mod strategy;

pub use costs::{Cost, Costs, Observation, OperationCosts, RanOn};
pub use decision::{Basis, Candidate, Decision, Declined, Evidence, Stage};
pub use machine::{GpuSpec, Machine};
pub use strategy::ExecutionStrategy;
