//! The default workloads as a table, and how they are measured.
//!
//! [`Workload`] says what a kernel is run on and what that takes, before
//! anything is allocated; [`measure_cpu`] and [`measure_gpu`] run it and hand
//! over every time as an [`Event`] the moment it is taken, so that nothing that
//! was measured is lost to what comes after. [`BatchWorkload`] is the same work
//! as a batch of tasks, for an executor to split over the devices.

mod batch;
mod event;
mod inputs;
mod measure;
mod workload;

pub use batch::{BatchWorkload, TaskKernel, WithTasks};
pub use event::{Event, Phase};
#[cfg(feature = "gpu")]
pub use measure::measure_gpu;
pub use measure::{Iterations, measure_cpu};
pub use workload::{DEFAULT_BUDGETS_US, Workload};
