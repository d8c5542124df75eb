//! The default workloads as a table, and how they are measured.
//!
//! [`Workload`] says what a kernel is run on and what that takes, before
//! anything is allocated; the [`Problem`] that it builds measures itself and hands
//! over every time as an [`Event`] the moment it is taken, so that nothing that
//! was measured is lost to what comes after. [`BatchWorkload`] is the same work
//! as a batch of tasks, for an executor to split over the devices.

mod batch;
mod event;
mod images;
mod inputs;
mod matrices;
mod measure;
mod models;
mod table;
mod vectors;
mod workload;

#[cfg(feature = "gpu")]
pub use batch::TaskExecutor;
pub use batch::{BatchWorkload, TaskKernel, WithTasks};
pub use event::{Event, Phase};
pub use measure::{Iterations, Problem};
pub use models::forecast;
pub use table::default_budgets_us;
pub use workload::Workload;
