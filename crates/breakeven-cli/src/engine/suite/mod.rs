//! The default workloads as a table, and how they are measured.
//!
//! [`Workload`] says what a kernel is run on and what that takes, before
//! anything is allocated; the [`Problem`] that it builds hands over every time as an
//! [`Event`] the moment it is taken, so that nothing that was measured is lost to what
//! comes after. [`BatchWorkload`] is the same work as a batch of tasks, for an executor
//! to split over the devices.

mod batch;
mod chain;
mod energy;
mod event;
mod inputs;
mod measure;
mod noise;
mod rows;
mod sweep;
mod table;
mod workload;

pub(crate) use batch::{BatchWorkload, Task};
pub(crate) use chain::Chained;
pub(crate) use energy::{CallMeter, Counted, counted, meter};
pub(crate) use event::Event;
pub(crate) use measure::{Iterations, Problem, Report};
pub(crate) use noise::{NoiseWork, WORKING_SET_BYTES};
pub(crate) use sweep::{Over, Points};
pub(crate) use table::{Made, with_operator};
pub(crate) use workload::Workload;
