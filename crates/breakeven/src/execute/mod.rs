//! Running a batch where it pays.

mod executor;
mod rates;
mod schedule;
mod simulated;
mod slots;
mod spans;
mod sync;

#[cfg(test)]
mod slots_tests;
#[cfg(test)]
mod spans_loom;
#[cfg(test)]
mod spans_tests;

pub use executor::{CpuExecutor, GpuExecutor, Leaf, NoGpu, OnDevice};
pub use simulated::{
    Fault, FaultKind, FaultScript, Onset, RandomFaults, SimulatedCounts, SimulatedGpu,
    SimulatedInFlight, SimulatedSpec, Slowdown,
};
