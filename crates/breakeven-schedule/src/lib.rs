#![doc = include_str!("../README.md")]

pub mod plan;
pub mod schedule;
pub mod simulator;
mod workload;

use breakeven_types::{Fact, GpuKind, error, whole};

pub use workload::WorkloadProfile;
