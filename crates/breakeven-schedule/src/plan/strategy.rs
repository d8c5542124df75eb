//! Where a batch runs, in the user's terms.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::Error;

/// Where a batch runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ExecutionStrategy {
    /// Where it pays: decided for each batch from measurements, or by the rule if there are none.
    #[default]
    Auto,
    /// On the CPU's workers alone.
    CpuOnly,
    /// On the GPU; the CPU runs what fails on the GPU.
    GpuOnly,
    /// On both at once, with fixed shares.
    Hybrid {
        /// Percentage of the tasks for the GPU.
        gpu_allocation: u8,
        /// Percentage of the tasks for the CPU; both sum to 100.
        cpu_allocation: u8,
    },
}

impl ExecutionStrategy {
    /// Splits with `gpu` percent of the tasks for the GPU and the rest for the CPU.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](breakeven_types::ErrorKind::Invalid) past 100.
    pub fn hybrid(gpu: u8) -> Result<Self, Error> {
        let strategy = Self::split(gpu);
        strategy.check().map(|()| strategy)
    }

    /// As [`hybrid`](Self::hybrid), for a percentage that is known to be valid.
    pub const fn split(gpu: u8) -> Self {
        Self::Hybrid {
            gpu_allocation: gpu,
            cpu_allocation: 100_u8.saturating_sub(gpu),
        }
    }

    /// Splits with the given fraction of the tasks for GPUs, rounded to a percentage, at least 1 %
    /// for each side.
    #[expect(clippy::cast_sign_loss, reason = "1 to 99")]
    pub(crate) fn split_at(gpu: f64) -> Self {
        Self::split((100.0 * gpu).round().clamp(1.0, 99.0) as u8)
    }

    /// Checks that the percentages sum to 100.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](breakeven_types::ErrorKind::Invalid), with the sum.
    pub fn check(&self) -> Result<(), Error> {
        let sum = match *self {
            Self::Hybrid {
                gpu_allocation,
                cpu_allocation,
            } => u16::from(gpu_allocation) + u16::from(cpu_allocation),
            Self::Auto | Self::CpuOnly | Self::GpuOnly => 100,
        };
        match sum {
            100 => Ok(()),
            sum => Err(Error::invalid(format!(
                "{self} sums to {sum} %; the GPU's and the CPU's percentages must sum to 100"
            ))),
        }
    }

    /// Returns how many of `tasks` are the GPU's, and how many the CPU's. A split rounds to the
    /// nearest task. For Auto, which is no decision yet, all are the CPU's.
    ///
    /// ```
    /// use breakeven_schedule::plan::ExecutionStrategy;
    ///
    /// assert_eq!(ExecutionStrategy::hybrid(60)?.shares(1_000), (600, 400));
    /// assert_eq!(ExecutionStrategy::GpuOnly.shares(1_000), (1_000, 0));
    /// # Ok::<(), breakeven_types::Error>(())
    /// ```
    pub fn shares(&self, tasks: usize) -> (usize, usize) {
        let gpu = match *self {
            Self::Auto | Self::CpuOnly => 0,
            Self::GpuOnly => tasks,
            Self::Hybrid { gpu_allocation, .. } => {
                let hundredths = tasks as u128 * u128::from(gpu_allocation);
                usize::try_from((hundredths + 50) / 100).map_or(tasks, |gpu| gpu.min(tasks))
            }
        };
        (gpu, tasks - gpu)
    }
}

impl fmt::Display for ExecutionStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.pad("auto"),
            Self::CpuOnly => f.pad("cpu-only"),
            Self::GpuOnly => f.pad("gpu-only"),
            Self::Hybrid {
                gpu_allocation,
                cpu_allocation,
            } => f.pad(&format!("hybrid:{gpu_allocation}/{cpu_allocation}")),
        }
    }
}

/// Serialized as it is printed: `hybrid:60/40`.
impl Serialize for ExecutionStrategy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ExecutionStrategy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl FromStr for ExecutionStrategy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let lower = text.trim().to_ascii_lowercase();
        let split = || {
            let (gpu, cpu) = lower.strip_prefix("hybrid:")?.split_once('/')?;
            Some(Self::Hybrid {
                gpu_allocation: gpu.trim().parse().ok()?,
                cpu_allocation: cpu.trim().parse().ok()?,
            })
        };
        let strategy = match lower.as_str() {
            "auto" => Some(Self::Auto),
            "cpu-only" => Some(Self::CpuOnly),
            "gpu-only" => Some(Self::GpuOnly),
            _ => split(),
        };
        let strategy = strategy.ok_or_else(|| {
            Error::invalid(format!(
                "{text:?} is not a strategy; give auto, cpu-only, gpu-only or hybrid:GPU/CPU in \
                 percent, as in hybrid:60/40"
            ))
        })?;
        strategy.check().map(|()| strategy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read() {
        for text in "auto cpu-only gpu-only hybrid:60/40 hybrid:0/100".split(' ') {
            let strategy: ExecutionStrategy = text.parse().expect("a strategy");
            assert_eq!(strategy.to_string(), text);
        }
        assert_eq!(" GPU-Only ".parse(), Ok(ExecutionStrategy::GpuOnly));
    }

    #[test]
    fn shares_are_all_of_the_tasks() {
        let both = ExecutionStrategy::hybrid(60).expect("a split");
        assert_eq!(both.shares(0), (0, 0));
        assert_eq!(both.shares(1), (1, 0));
        assert_eq!(both.shares(7), (4, 3));
        let (gpu, cpu) = both.shares(usize::MAX);
        assert_eq!(gpu + cpu, usize::MAX);
        assert_eq!(ExecutionStrategy::CpuOnly.shares(9), (0, 9));
        assert_eq!(ExecutionStrategy::Auto.shares(9), (0, 9));
    }

    #[test]
    fn what_is_none_says_what_there_is() {
        let said = |text: &str| {
            let error = text.parse::<ExecutionStrategy>().expect_err("no strategy");
            error.to_string()
        };
        assert!(said("hybrid:60/60").contains("sums to 120 %"));
        for text in " hybrid hybrid:60 hybrid:-1/101 hybrid:300/1 gpu".split(' ') {
            assert!(said(text).contains("as in hybrid:60/40"), "{text}");
        }
    }
}
