//! The quantities of a kernel's workload that a sweep can vary.

use std::fmt;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// The quantity that a sweep varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Over {
    /// The size of one item: the length of a vector or series, the side of an image,
    /// the order of a matrix.
    #[default]
    Size,
    /// The items in the batch.
    Batch,
    /// The window of `pixel_entropy`.
    Window,
    /// The hidden units of `lstm_cell_forward`, with a quarter as many items in the
    /// batch: 16/64, 32/128, 64/256.
    Hidden,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Points {
    /// Any value in a range; this is the default range.
    Range([u64; 2]),
    /// Only these values.
    Fixed(Vec<u64>),
}

impl Over {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Batch => "batch",
            Self::Window => "window",
            Self::Hidden => "hidden",
        }
    }
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
