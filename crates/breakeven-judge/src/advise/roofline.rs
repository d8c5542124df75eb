//! How far an operation is from what its own device was measured to do.

use super::case::{Case, Subject};
use super::elsewhere::roof_ns;
use super::evidence::Evidence;
use super::proposal::Gain;
use crate::roofline::{Roofline, compute_ns};

/// The distance of an operation from the roofline.
pub(super) struct Gap {
    /// Part of the bandwidth at its working set.
    pub(super) bytes_share: Option<f64>,
    /// Part of the arithmetic peak.
    pub(super) flops_share: Option<f64>,
    /// Its time at the peaks, ns.
    pub(super) least_ns: f64,
    /// The time that it computes for, ns, and that of the whole call; at the median.
    compute_ns: f64,
    call_ns: f64,
}

impl Gap {
    /// `None` without peaks of the device, or without the operation's amounts.
    pub(super) fn of(case: &Case<'_>, subject: &Subject<'_>) -> Option<Self> {
        let compute_ns = compute_ns(subject.operation, &subject.summary);
        let shares = Roofline::of(case.profile, subject.operation, compute_ns);
        Some(Self {
            bytes_share: shares.bytes_share,
            flops_share: shares.flops_share,
            least_ns: roof_ns(case.peak_of(subject)?, subject.operation)?,
            compute_ns,
            call_ns: subject.summary.median.max(compute_ns),
        })
        .filter(|gap| gap.call_ns > 0.0)
    }

    /// The gain of reaching that fraction of the peak, at most all of it.
    pub(super) fn closed_to(&self, share: f64, subject: &Subject<'_>) -> Gain {
        let likely = self.saved(self.least_ns / share);
        Gain::part(subject, likely, Some([0.0, self.saved(self.least_ns)]))
    }

    /// The most that there is to gain on the way to the peaks, ns over the whole profile.
    pub(super) fn most(&self, subject: &Subject<'_>) -> f64 {
        self.saved(self.least_ns) * subject.own_ns
    }

    /// The fraction of a call that is saved when computing takes that long, ns.
    fn saved(&self, after_ns: f64) -> f64 {
        ((self.compute_ns - after_ns) / self.call_ns).max(0.0)
    }

    pub(super) fn evidence(&self) -> Evidence {
        Evidence::Roofline {
            bytes_share: self.bytes_share,
            flops_share: self.flops_share,
            least_ns: self.least_ns,
        }
    }
}
