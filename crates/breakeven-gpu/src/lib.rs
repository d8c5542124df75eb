#![doc = include_str!("../README.md")]

pub mod cache;
pub mod device;
#[cfg(feature = "gpu")]
pub mod gpu;
mod kernel_times;
pub mod large_pages;
pub mod operator;
pub mod peak;
pub mod tensor;
pub mod tune;

use breakeven_machine as hardware;
use breakeven_schedule::plan;
use breakeven_types::{error, locked};

pub use kernel_times::{KernelTimes, profile_kernel};
pub use operator::{Chain, Operator, Parameter, Stage, Stages, View};
pub use tensor::{Element, Inputs, Tensor};
