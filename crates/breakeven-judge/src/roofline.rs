//! An operation's achieved performance compared with its device's peaks.

use breakeven_profile::profile::{Operation, Profile};
use breakeven_profile::stats::Summary;
use serde::Serialize;

use crate::winner::median;

/// Achieved rates, at the median: of the kernel's own time on a GPU, of the complete call on the
/// CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[must_use]
pub struct Roofline {
    /// Bytes per second.
    pub bytes_per_s: Option<f64>,
    /// Fraction of the device's bandwidth at this working set.
    pub bytes_share: Option<f64>,
    /// Floating-point operations per second.
    pub flops_per_s: Option<f64>,
    /// Fraction of the device's arithmetic peak.
    pub flops_share: Option<f64>,
}

impl Roofline {
    pub(crate) fn of(profile: &Profile, operation: &Operation, compute_ns: f64) -> Self {
        let rate = |amount: Option<u64>| {
            let rate = amount? as f64 / compute_ns * 1e9;
            (compute_ns > 0.0).then_some(rate)
        };
        let share = |rate: Option<f64>, peak: Option<f64>| {
            let peak = peak.filter(|peak| *peak > 0.0)?;
            Some(rate? / peak)
        };
        let peak = profile.peak(&operation.device);
        let working_set = operation.memory_bytes.or(operation.bytes);
        let bandwidth = working_set.and_then(|set| peak?.bandwidth_at(set));
        let (bytes_per_s, flops_per_s) = (rate(operation.bytes), rate(operation.flops));
        Self {
            bytes_per_s,
            bytes_share: share(bytes_per_s, bandwidth),
            flops_per_s,
            flops_share: share(flops_per_s, peak.and_then(|peak| peak.flops_per_s)),
        }
    }
}

/// An operation's computing time, ns: the kernel's if the profile has it, else the complete call's;
/// both at the median.
pub(crate) fn compute_ns(operation: &Operation, summary: &Summary) -> f64 {
    median(operation.phase_ns("kernel")).unwrap_or(summary.median)
}
