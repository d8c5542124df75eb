//! How a GPU sits in the machine.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a GPU sits in the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GpuKind {
    /// A card with memory of its own.
    Discrete,
    /// Integrated in the processor; shares the machine's memory.
    Integrated,
    /// A virtual machine's share of a GPU.
    Virtual,
    /// The driver does not say.
    Other,
    /// The CPU, behind a GPU's interface (llvmpipe, SwiftShader, WARP): listed,
    /// and never counted as available.
    Software,
}

impl fmt::Display for GpuKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            GpuKind::Discrete => "discrete",
            GpuKind::Integrated => "integrated",
            GpuKind::Virtual => "virtual",
            GpuKind::Other => "other",
            GpuKind::Software => "software",
        })
    }
}
