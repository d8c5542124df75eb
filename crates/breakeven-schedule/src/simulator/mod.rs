//! Batches in virtual time: the decisions, the schedule and the drivers of the executor on a
//! machine that is described ([`Scenario`]).

#[cfg(test)]
mod deadline_tests;
mod events;
#[cfg(test)]
mod fair_tests;
#[cfg(test)]
mod hindrance_tests;
mod host;
#[cfg(test)]
mod learning_tests;
mod noise;
#[cfg(test)]
mod overlap_tests;
mod scenario;
mod simulate;
#[cfg(test)]
mod stall_tests;

pub use host::{Host, Load};
pub use noise::Noise;
pub use scenario::{Scenario, ScenarioGpu, Simulated, WarmUp};
