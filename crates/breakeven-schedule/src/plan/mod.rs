//! Decides where a batch runs ([`Decision`]), and learns from batches what they cost ([`Model`]).

mod aimed;
mod choose;
mod costs;
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

pub(crate) use choose::probe_tasks;
pub use choose::{Query, decide, decide_by, decide_for, decide_tuned};
pub use costs::{
    Absence, Added, Cost, Evidence, Forgotten, GpuCosts, Group, Learned, Model, Observation,
    OperationCosts, RanOn, Shape, Snapshot, Took, Way, Ways, micros,
};
pub(crate) use costs::{PLACES, PlaceWork};
pub use decision::{Aim, Basis, Candidate, Decision, Outcome};
pub(crate) use draws::Draws;
pub(crate) use forecast::level;
pub use machine::{GpuSpec, Machine, Power};
pub use objective::{Amounts, Goal, Objective, Resource};
pub use orders::{Order, Orders};
pub use pieces::Further;
pub(crate) use pieces::pieces;
pub use placement::{
    Alone, ChainCosts, DeviceLinks, Leg, Move, NextRun, PlacedStage, Placement, StageCosts,
    StageTime, TransferTime,
};
pub use prices::{Price, Prices};
pub use rates::{costs_from_rates, estimate};
pub use roofline::{StatedWork, Work, at_best_ns, profile_of};
pub use rule::{
    MANY_TASKS, PARALLEL_FROM, ProfilingHeuristics, RuleFacts, Ruling, SEQUENTIAL_BELOW, Stage,
    rule,
};
pub use share::Share;
pub use strategy::ExecutionStrategy;
pub use tuning::Tuning;
