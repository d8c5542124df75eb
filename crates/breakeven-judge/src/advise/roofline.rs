//! How far an operation is from its own device's measured peaks.

use super::case::{Case, Subject};
use super::elsewhere::roof_ns;
use super::evidence::Evidence;
use super::proposal::Gain;
use crate::roofline::{Roofline, compute_ns};

/// The distance of an operation from the roofline.
pub(super) struct Gap {
    /// Fraction of the bandwidth at its working set.
    pub(super) bytes_share: Option<f64>,
    /// Fraction of the arithmetic peak.
    pub(super) flops_share: Option<f64>,
    /// Its time at the peaks, ns.
    pub(super) least_ns: f64,
    /// Its computing time, ns, and the time of the complete call; at the median.
    compute_ns: f64,
    call_ns: f64,
}

impl Gap {
    /// `None` if the device's peaks or the operation's amounts are unknown.
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

    /// The gain of reaching that fraction of the peak, at most the complete gap.
    pub(super) fn closed_to(&self, share: f64, subject: &Subject<'_>) -> Gain {
        let likely = self.saved(self.least_ns / share);
        Gain::part(subject, likely, Some([0.0, self.saved(self.least_ns)]))
    }

    /// Largest possible gain up to the peaks, ns over the complete profile.
    pub(super) fn most(&self, subject: &Subject<'_>) -> f64 {
        self.saved(self.least_ns) * subject.own_ns
    }

    /// Fraction of a call that is saved if computing takes `ns`.
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
