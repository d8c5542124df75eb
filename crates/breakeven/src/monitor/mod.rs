//! A running program's own figures, for `breakeven monitor`: batches, tasks per device,
//! fallbacks, quarantines, latencies, the last decisions.
//!
//! A program publishes them where `BREAKEVEN_MONITOR=1` is in its environment when it
//! makes its first [`StrategyManager`](crate::execute::StrategyManager), or by
//! [`publish`]. They are served on a Unix socket in a folder that only its user can
//! enter, never on a network, by a thread that sleeps until somebody asks. [`Programs`]
//! reads those of all programs of this user.

#[cfg(unix)]
mod ask;
#[cfg_attr(not(unix), allow(dead_code, reason = "nothing is published there"))]
mod figures;
mod latency;
#[cfg(unix)]
mod place;
#[cfg_attr(not(unix), allow(dead_code, reason = "nothing is published there"))]
mod programs;
#[cfg_attr(not(unix), path = "publish_nowhere.rs")]
mod publish;

#[cfg(all(test, unix))]
mod programs_tests;

pub use figures::{DecisionFigures, Figures, OperationFigures, VERSION};
pub use latency::Latency;
pub use programs::{
    OperationReading, ProgramReading, Programs, ProgramsReading, Quantiles, UnreadProgram,
};
pub use publish::{MONITOR_VARIABLE, PublishError, publish, withdraw};

pub(crate) use figures::{
    MOST_DECISIONS, MOST_DEVICES, MOST_OPERATIONS, OTHER_OPERATIONS, shortened,
};
pub(crate) use publish::publish_if_asked;
