//! A running program's own figures, for `breakeven monitor`: batches, tasks per device,
//! fallbacks, quarantines, latencies, the last decisions.
//!
//! A program publishes them if `BREAKEVEN_MONITOR=1` is in its environment when it creates its
//! first [`StrategyManager`](crate::execute::StrategyManager), or calls [`publish`]. They are
//! served on a Unix socket in a folder that only its user can enter, never on a network, by a
//! thread that sleeps until a reader connects. A `Publisher` is such a program from a reader's
//! view; its answer is [`Figures`] as JSON.

#[cfg_attr(not(unix), allow(dead_code, reason = "nothing is published there"))]
mod figures;
#[cfg_attr(not(unix), path = "publish_nowhere.rs")]
mod publish;
#[cfg(unix)]
mod socket;

pub use figures::{DecisionFigures, Figures, Latency, OperationFigures, VERSION};
pub use publish::{MONITOR_VARIABLE, PublishError, publish, withdraw};
#[cfg(unix)]
pub use socket::{Publisher, folders};

pub(crate) use figures::{
    MOST_DECISIONS, MOST_DEVICES, MOST_OPERATIONS, OTHER_OPERATIONS, shortened,
};
pub(crate) use publish::publish_if_asked;
