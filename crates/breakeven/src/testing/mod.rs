//! What decisions, schedules and programs are tried with: batches in virtual time
//! ([`Scenario`]), and a GPU in real time that fails as a script says ([`SimulatedGpu`]).

mod gpu;

pub use breakeven_schedule::simulator::{
    Host, Load, Noise, Scenario, ScenarioGpu, Simulated, WarmUp,
};
pub use gpu::{
    Fault, FaultKind, FaultScript, RandomFaults, SimulatedCounts, SimulatedGpu, SimulatedInFlight,
    SimulatedSpec,
};
