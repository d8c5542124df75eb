//! Simulations for decisions, schedules and programs: batches in virtual time ([`Scenario`]), and a
//! GPU in real time that fails by a script ([`SimulatedGpu`]).

mod gpu;

pub use breakeven_schedule::simulator::{
    Host, Load, Noise, Scenario, ScenarioGpu, Simulated, WarmUp,
};
pub use gpu::{
    Fault, FaultKind, FaultScript, RandomFaults, SimulatedCounts, SimulatedGpu, SimulatedInFlight,
    SimulatedSpec,
};
