//! Runs each batch of work where it pays (CPU, GPU or both), measures it, and judges the
//! measurements. This crate detects the machine, decides, runs, and has the kernels; profiles and
//! statistics are in [`profile`], judging is in `breakeven-judge`.
//!
//! | module | what |
//! |---|---|
//! | [`plan`] | where a batch should run: the rule, the cost model, the decision |
//! | [`execute`] | running it there: [`StrategyManager`](execute::StrategyManager), executors, fallback |
//! | [`hardware`] | what the machine has, how much of it this process may use, how busy it is |
//! | [`Tensor`], [`Operator`] | data on the host and on devices, and what is done to it |
//! | [`kernels`] | operators with a CPU form, a GPU form and their work counted |
//! | `gpu` (feature `gpu`) | one open device: operators and your own kernels on it, time by its own clock |
//! | [`monitor`] | a running program's own figures, for `breakeven monitor` |
//! | [`peak`] | what a device can do at best, measured |
//! | [`tune`] | kernels' launch configurations: searched, kept, used |
//!
//! ```
//! use breakeven::kernels::MatrixMultiply;
//! use breakeven::{Operator, Tensor};
//!
//! // One 2×3 matrix times one 3×1 matrix.
//! let a = Tensor::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[1, 2, 3])?;
//! let b = Tensor::new(vec![1.0, 0.0, -1.0], &[1, 3, 1])?;
//! let product = MatrixMultiply;
//! assert_eq!(product.on_cpu(&[&a, &b])?.host()?, [-2.0, -2.0]);
//! # #[cfg(feature = "gpu")]
//! if let Some(gpu) = breakeven::hardware::HardwareCapabilities::detect().best_gpu() {
//!     let gpu = breakeven::gpu::Gpu::open(&gpu.id)?;
//!     assert_eq!(gpu.run(&product, &[&a, &b])?.host()?, [-2.0, -2.0]);
//! }
//! # Ok::<(), breakeven::Error>(())
//! ```

pub mod execute;
pub mod hardware;
mod measure;
pub mod monitor;
mod recommend;
mod store;
pub mod testing;

/// One open GPU: the crate `breakeven-gpu`.
#[cfg(feature = "gpu")]
pub mod gpu {
    pub use breakeven_gpu::gpu::{
        Buffer, Call, Client, DEFAULT_TIMEOUT, DeviceForm, DeviceMemory, Flight, Gpu, KernelClock,
        Launch, Lent, Memory, MemoryStats, OperatorExecutor, Output, Transfers, WgslOperator,
        cubecl, cudarc, grid, wgpu,
    };
}

/// Measures what a device can do at best: memory bandwidth over the size of the working set, f32
/// arithmetic, launch latency, transfer rates.
pub mod peak {
    pub use breakeven_gpu::peak::measure_cpu;
    #[cfg(feature = "gpu")]
    pub use breakeven_gpu::peak::measure_gpu;
    pub(crate) use breakeven_gpu::peak::{KeptPeaks, joined};
}

/// Decides where a batch runs, and learns what batches cost: the crate `breakeven-schedule`.
pub mod plan {
    #[cfg(test)]
    pub(crate) use breakeven_schedule::plan::Added;
    pub use breakeven_schedule::plan::{
        Absence, Aim, Alone, Amounts, Basis, Candidate, ChainCosts, Cost, Decision, DeviceLinks,
        Evidence, ExecutionStrategy, Goal, GpuCosts, GpuSpec, Leg, MANY_TASKS, Machine, Move,
        NextRun, Objective, Observation, OperationCosts, Order, Orders, Outcome, PARALLEL_FROM,
        PlacedStage, Placement, Power, Price, Prices, ProfilingHeuristics, RanOn, Resource,
        RuleFacts, Ruling, SEQUENTIAL_BELOW, Shape, Share, Stage, StageCosts, StageTime,
        TransferTime, Tuning, Ways, Work, costs_from_rates, decide, decide_by, decide_for, rule,
    };
    pub(crate) use breakeven_schedule::plan::{
        Forgotten, Group, Learned, Model, Query, StatedWork, Took, decide_tuned, estimate, micros,
        profile_of,
    };
}

use breakeven_gpu::{cache, device, operator, tensor};
use breakeven_schedule::schedule;
use breakeven_types::{error, locked, whole};

pub use breakeven_gpu::tune;
#[cfg(feature = "gpu")]
pub use breakeven_gpu::with_client;
pub use breakeven_kernels as kernels;

/// Profiles, their file, the recorder, and the context of a sample: the crate `breakeven-profile`.
pub use breakeven_profile as profile;

/// Finds the size from which a GPU pays: see [`sweep()`].
pub use breakeven_judge::break_even::{BreakEven, Missed, Side, Sweep, Swept, coarse_sizes, sweep};

pub use breakeven_gpu::{KernelTimes, profile_kernel};
pub use breakeven_schedule::WorkloadProfile;
pub use cache::{CostsWarning, CostsWarningKind};
pub use error::{DeviceError, DeviceErrorKind, Error, ErrorKind};
pub use operator::{Chain, Operator, Parameter, Stage, Stages, View};
pub use plan::Work;
pub use recommend::{StrategyRecommendation, WorkloadProfiler};
pub use store::Costs;
pub use tensor::{Element, Inputs, Tensor};

/// The examples of the pages, compiled.
#[cfg(doctest)]
mod pages {
    #[cfg(feature = "gpu")] // its first example opens one
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/guide.md")]
    struct Guide;
    #[doc = include_str!("../../../docs/chains.md")]
    struct Chains;
    #[doc = include_str!("../../../docs/tuning.md")]
    struct Tuning;
    #[doc = include_str!("../../../docs/porting.md")]
    struct Porting;
    #[doc = include_str!("../../../docs/tutorial-rust.md")]
    struct TutorialRust;
    #[doc = include_str!("../../../docs/tutorial-break-even.md")]
    struct TutorialBreakEven;
}
