//! Runs a batch where it pays.

mod batch;
mod bridge;
mod calls;
mod chain;
mod check;
mod control;
mod counts;
mod cpu;
mod drive;
#[cfg(feature = "metrics")]
mod emitted;
mod ended;
mod energy;
mod engine;
mod executor;
mod explain;
mod item_work;
mod items;
mod manager;
mod operator;
#[cfg(test)]
mod overlap_tests;
mod portion;
mod promise;
#[cfg_attr(not(unix), allow(dead_code, reason = "nothing is published there"))]
pub(crate) mod published;
mod quarantine;
mod record;
mod result;
mod run;
mod shared;
mod slot;
mod slots;
mod start;
mod tasks;
mod threads;
mod work;

#[cfg(test)]
mod slots_tests;

pub use crate::device::{
    Device, GpuExecutor, NoGpu, OnDevice, TensorDevice, TensorFlight, TensorFuture,
};
pub use batch::Batch;
pub use bridge::{ExecuteBatch, PoolOf};
pub use control::{CancelToken, CrossCheck, FallbackPolicy, Unchecked, Verify};
pub use cpu::RayonCpu;
#[cfg(feature = "metrics")]
pub use emitted::describe_metrics;
pub use energy::measure_power;
pub use engine::Leaf;
pub use executor::CpuExecutor;
pub use explain::Explanation;
pub use manager::StrategyManager;
pub use operator::{
    PRICES_VARIABLE, STRATEGY_VARIABLE, ordered_prices, ordered_strategy, read_prices,
};
pub use portion::Portion;
pub use promise::Executing;
pub use quarantine::end_quarantine;
pub use record::recorded_size;
pub use result::{
    DeviceShare, ExecuteError, ExecutionResult, Fallback, LeftOut, Share, Stop, TaskError,
};
pub use shared::ManagerStats;
