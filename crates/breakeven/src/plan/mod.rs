//! Deciding where a batch runs: pure functions from what is known to a
//! [`Decision`]. Nothing in here reads a clock, a file or a device.

mod choose;
pub(crate) mod costs;
mod decision;
mod description;
mod explain;
mod forecast;
mod heuristics;
mod machine;
mod pieces;
mod placement;
#[cfg(test)]
mod placement_tests;
mod rates;
mod reasons;
mod roofline;
mod rule;
mod strategy;
mod toml_file;
mod tuning;

pub(crate) use choose::decide_tuned;
pub use choose::{decide, decide_for};
pub use costs::{Cost, Evidence, GpuCosts, Observation, OperationCosts, RanOn, Shape};
pub(crate) use costs::{Learned, PLACES, PlaceWork};
pub use decision::{Basis, Candidate, Decision, Declined, Probe};
pub(crate) use forecast::level;
pub use heuristics::ProfilingHeuristics;
pub use machine::{GpuSpec, Machine};
pub(crate) use pieces::pieces;
pub use placement::{
    Alone, ChainCosts, DeviceLinks, Leg, Move, PlacedStage, Placement, StageCosts, StageTime,
    TransferTime,
};
pub use rates::costs_from_rates;
pub(crate) use rates::estimate;
#[cfg(feature = "gpu")]
pub(crate) use roofline::at_best_ns;
pub(crate) use roofline::{StatedWork, profile_of};
pub use rule::{MANY_TASKS, PARALLEL_FROM, RuleFacts, Ruling, Stage, rule};
pub use strategy::ExecutionStrategy;
pub use tuning::Tuning;
