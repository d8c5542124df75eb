//! What decisions and schedules are tried with: batches in virtual time.

mod events;
mod scenario;

pub use scenario::{Load, Scenario, ScenarioGpu, Simulated};
