//! Running a batch where it pays.

mod executor;
mod simulated;

pub use executor::{CpuExecutor, GpuExecutor, Leaf, NoGpu, OnDevice};
pub use simulated::{
    Fault, FaultKind, FaultScript, Onset, RandomFaults, SimulatedCounts, SimulatedGpu,
    SimulatedInFlight, SimulatedSpec, Slowdown,
};
