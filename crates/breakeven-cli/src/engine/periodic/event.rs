//! What happens in the periodic mode, as the log has it.

use serde::Serialize;

use super::alert::Alert;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Event {
    /// A run ended, and what it measured was added.
    Measured {
        entry: i64,
        operations: usize,
        took_s: f64,
        /// Ctrl-C ended it early.
        interrupted: bool,
    },
    /// A run measured nothing, or it could not be added.
    Failed { reason: String, took_s: f64 },
    /// An alert opened or recovered.
    Alert(Box<Alert>),
    /// An alert could not be told.
    NotTold { by: &'static str, reason: String },
    /// A run was longer than the period; so many starts were left out.
    Late {
        took_s: f64,
        period_s: f64,
        left_out: u64,
    },
}
