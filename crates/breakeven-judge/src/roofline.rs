//! An operation's achieved performance compared with its device's peaks.

use breakeven_profile::profile::{DeviceWork, Limit, Operation, Profile};
use breakeven_profile::stats::Summary;
use serde::Serialize;

use crate::page::figures::share;
use crate::winner::median;

/// Fraction of a peak from which an operation counts as bound by it.
pub(crate) const BOUND_SHARE: f64 = 0.6;

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
    /// The resource that limits the operation on its GPU, if its work was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<Limit>,
    /// The least time that the work needs of that resource, as a fraction of the computing time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_share: Option<f64>,
}

impl Roofline {
    pub(crate) fn of(profile: &Profile, operation: &Operation, compute_ns: f64) -> Self {
        let rate = |amount: Option<u64>| {
            let rate = amount? as f64 / compute_ns * 1e9;
            (compute_ns > 0.0).then_some(rate)
        };
        let of_peak = |rate: Option<f64>, peak: Option<f64>| {
            let peak = peak.filter(|peak| *peak > 0.0)?;
            Some(rate? / peak)
        };
        let peak = profile.peak(&operation.device);
        let working_set = operation.memory_bytes.or(operation.bytes);
        let bandwidth = working_set.and_then(|set| peak?.bandwidth_at(set));
        let (bytes_per_s, flops_per_s) = (rate(operation.bytes), rate(operation.flops));
        let counted = DeviceWork::of(&operation.attributes);
        let bound = counted.and_then(|work| work.bound(peak?));
        // A program on the CPU has no such units.
        let is_gpu = !profile.is_software_gpu(&operation.device);
        let bound = bound.filter(|_| is_gpu && compute_ns > 0.0);
        Self {
            bound: bound.map(|(limit, _)| limit),
            bound_share: bound.map(|(_, least_ns)| least_ns / compute_ns),
            bytes_per_s,
            bytes_share: of_peak(bytes_per_s, bandwidth),
            flops_per_s,
            flops_share: of_peak(flops_per_s, peak.and_then(|peak| peak.flops_per_s)),
        }
    }

    /// What limits the operation and how near it is, as in `37% of shared memory`.
    pub(crate) fn of_bound(&self) -> Option<String> {
        Some(format!("{} of {}", share(self.bound_share?), self.bound?))
    }
}

/// An operation's computing time, ns: the kernel's if the profile has it, else the complete call's;
/// both at the median.
pub(crate) fn compute_ns(operation: &Operation, summary: &Summary) -> f64 {
    median(operation.phase_ns("kernel")).unwrap_or(summary.median)
}

#[cfg(test)]
mod tests {
    use breakeven_profile::profile::{Evidence, Peak};

    use super::*;

    #[test]
    fn a_kernel_whose_work_is_counted_is_judged_by_what_limits_it() {
        let mut operation = Operation::new("f", "gpu");
        operation.bytes = Some(1_000);
        let peak = Peak {
            device: "gpu".to_owned(),
            memory_bytes_per_s: Some(1e9),
            shared_accesses_per_s: Some(1e9),
            ..Peak::default()
        };
        let profile = Profile {
            evidence: Evidence {
                peaks: vec![peak],
                ..Evidence::default()
            },
            ..Profile::default()
        };
        let before = Roofline::of(&profile, &operation, 10_000.0);
        assert_eq!((before.bytes_share, before.bound), (Some(0.1), None));
        let work = DeviceWork {
            bytes: 1_000,
            accesses: 5_000,
            ..DeviceWork::default()
        };
        work.write(&mut operation.attributes);
        let found = Roofline::of(&profile, &operation, 10_000.0);
        assert_eq!(
            (found.bound, found.bound_share),
            (Some(Limit::SharedMemory), Some(0.5))
        );
        assert_eq!(found.of_bound().as_deref(), Some("50% of shared memory"));
        assert_eq!(
            Roofline::of(&Profile::default(), &operation, 1.0).bound,
            None
        );
    }
}
