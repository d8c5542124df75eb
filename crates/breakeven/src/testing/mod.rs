//! What decisions, schedules and programs are tried with: batches in virtual time
//! ([`Scenario`]), and a GPU in real time that fails as a script says ([`SimulatedGpu`]).

#[cfg(test)]
mod deadline_tests;
mod events;
#[cfg(test)]
mod fair_tests;
mod gpu;
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

pub use gpu::{
    Fault, FaultKind, FaultScript, RandomFaults, SimulatedCounts, SimulatedGpu, SimulatedInFlight,
    SimulatedSpec,
};
pub use host::{Host, Load};
pub use noise::Noise;
pub use scenario::{Scenario, ScenarioGpu, Simulated, WarmUp};
