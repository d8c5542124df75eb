//! The default workloads as a table, and how they are measured.
//!
//! [`Workload`] gives a kernel's input and its memory before anything is allocated. The [`Problem`]
//! that it builds fills an operation and offers it after every call, so that a later failure loses
//! nothing. [`BatchWorkload`] is the same work as a batch of tasks, for an executor to split over
//! the devices.

mod batch;
mod energy;
mod measure;
mod noise;
mod rows;
mod table;
mod workload;

pub(crate) use batch::{BatchWorkload, Chained, Task};
pub(crate) use energy::{CallMeter, Counted, counted, meter};
pub(crate) use measure::{Iterations, Problem, Report};
pub(crate) use noise::NoiseWork;
pub(crate) use table::{Made, Over, Points, with_operator};
pub(crate) use workload::Workload;
