//! Running a batch where it pays.

mod executor;

pub use executor::{CpuExecutor, GpuExecutor, Leaf, NoGpu, OnDevice};
