//! Deciding where a batch runs: pure functions from what is known to a
//! [`Decision`]. Nothing in here reads a clock, a file or a device.

mod aimed;
mod choose;
pub(crate) mod costs;
mod decision;
mod description;
mod draws;
mod explain;
mod forecast;
mod kept;
mod machine;
mod objective;
mod orders;
mod pieces;
mod placement;
#[cfg(test)]
mod placement_tests;
mod prices;
mod rates;
#[cfg(test)]
mod reasons_tests;
mod roofline;
mod rule;
mod share;
mod strategy;
mod toml_file;
mod tuning;
mod weigh;
#[cfg(test)]
mod weigh_tests;

pub(crate) use choose::{Query, decide_tuned, probe_tasks};
pub use choose::{decide, decide_by, decide_for};
pub use costs::{
    Absence, Cost, Evidence, GpuCosts, Observation, OperationCosts, RanOn, Shape, Ways,
};
pub(crate) use costs::{Added, Learned, PLACES, PlaceWork, Took, Way};
pub use decision::{Aim, Basis, Candidate, Decision, Declined, Outcome};
pub(crate) use draws::Draws;
pub(crate) use forecast::level;
pub use machine::{GpuSpec, Machine, Power};
pub use objective::{Goal, Objective, Resource};
pub use orders::{Order, Orders};
pub(crate) use pieces::{Further, pieces};
pub use placement::{
    Alone, ChainCosts, DeviceLinks, Leg, Move, NextRun, PlacedStage, Placement, StageCosts,
    StageTime, TransferTime,
};
pub use prices::{Price, Prices};
pub use rates::costs_from_rates;
pub(crate) use rates::estimate;
#[cfg(feature = "gpu")]
pub(crate) use roofline::at_best_ns;
pub(crate) use roofline::{StatedWork, profile_of};
pub use rule::{
    MANY_TASKS, PARALLEL_FROM, ProfilingHeuristics, RuleFacts, Ruling, SEQUENTIAL_BELOW, Stage,
    rule,
};
pub use share::Share;
pub use strategy::ExecutionStrategy;
pub use tuning::Tuning;
