//! Running a batch where it pays.

mod batch;
mod control;
mod cpu;
mod driver;
mod engine;
mod executor;
mod explain;
mod manager;
mod operator;
mod portion;
mod quarantine;
mod rates;
mod record;
mod result;
mod run;
mod schedule;
mod seen;
pub mod simulate;
mod simulated;
mod slots;
mod spans;
mod start;
mod sync;
mod tally;
mod terms;

#[cfg(test)]
mod schedule_tests;
#[cfg(test)]
mod schedule_walk;
#[cfg(test)]
mod slots_tests;
#[cfg(test)]
mod spans_loom;
#[cfg(test)]
mod spans_tests;

pub use batch::Batch;
pub use control::{CancelToken, CrossCheck, FallbackPolicy, Unchecked, Verify};
pub use cpu::RayonCpu;
pub use executor::{CpuExecutor, GpuExecutor, Leaf, NoGpu, OnDevice};
pub use explain::Explanation;
pub use manager::StrategyManager;
pub use operator::{STRATEGY_VARIABLE, ordered_strategy};
pub use portion::Portion;
pub use record::recorded_size;
pub use result::{ExecuteError, ExecutionResult, Fallback, Share, Stop, TaskError};
pub use simulated::{
    Fault, FaultKind, FaultScript, Onset, RandomFaults, SimulatedCounts, SimulatedGpu,
    SimulatedInFlight, SimulatedSpec, Slowdown,
};
