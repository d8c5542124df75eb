//! The integration tests of `breakeven`, in one binary.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(feature = "gpu")]
mod adopt;
mod caches;
mod chains;
mod chains_measured;
#[cfg(feature = "gpu")]
mod device;
mod execute;
mod execute_async;
mod execute_auto;
mod execute_batches;
mod execute_broken;
mod execute_drops;
mod execute_edges;
mod execute_energy;
mod execute_items;
#[cfg(feature = "gpu")]
mod execute_kernels;
mod execute_late;
mod execute_limits;
#[cfg(feature = "metrics")]
mod execute_metrics;
mod execute_recall;
mod execute_record;
mod execute_shapes;
mod execute_stopped;
mod execute_transfers;
mod faults;
#[cfg(unix)]
mod fork;
mod kernels;
#[cfg(feature = "gpu")]
mod memory;
#[cfg(unix)]
mod monitor;
#[cfg(feature = "gpu")]
mod own_code;
#[cfg(feature = "gpu")]
mod tensors;
mod tune;
mod wait;
