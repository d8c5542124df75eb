//! ALGORITHM: time that grows faster than the size.
//!
//! Applies to an operation on one device at three or more sizes, the largest at least four times
//! the smallest. The exponent of time over size is fitted through the typical times (Theil–Sen on
//! logarithms), and its complete 95 % interval must lie more than 0.2 above the expected exponent:
//! that of the operation's flops and bytes at the device's measured peaks (which accounts for
//! caches), else of the flops and bytes alone, whichever grows faster, else 1.
//!
//! The rule makes one suggestion for all sizes, at the one that takes the most time.
//!
//! Estimate: a method of the expected growth that is as fast as this one at the smallest size n₀
//! saves at size n the fraction 1 − (n/n₀)^(expected − exponent) of the own time. The ends of the
//! exponent's interval give the range. Only the size of the suggestion counts.

use breakeven_profile::profile::Operation;
use breakeven_stats::power_law;

use super::super::case::{Case, Subject};
use super::super::elsewhere::roof_ns;
use super::super::evidence::{Evidence, Gain, Verdict};
use crate::winner::typical_ns;

/// Confidence level of the exponent's interval.
const LEVEL: f64 = 0.95;

/// Smallest ratio of the largest size to the smallest.
const LEAST_SPAN: f64 = 4.0;

/// Most sizes of a fit; above it, every k-th is used.
const MOST_SIZES: usize = 500;

/// How far above the expected exponent the complete interval of the measured one must lie.
/// Sorting 150 or more elements grows by less: n·log n has the local exponent 1 + 1/ln n.
const MARGIN: f64 = 0.2;

pub(super) fn ask(case: &Case<'_>, subject: &Subject<'_>) -> Verdict {
    if !subject.leads_sizes || subject.mostly_others() {
        return Verdict::Silent;
    }
    let here = subject.operation;
    // In the order of their sizes.
    let family: Vec<&Operation> = (case.named(&here.name))
        .map(|other| other.operation)
        .filter(|other| other.device == here.device && other.size > Some(0))
        .collect();
    let step = family.len().div_ceil(MOST_SIZES).max(1);
    let fitted: Vec<&Operation> = family.iter().copied().step_by(step).collect();
    let size = |operation: &Operation| operation.size.unwrap_or(0) as f64;
    let sizes: Vec<f64> = fitted.iter().map(|each| size(each)).collect();
    let growth = |of: &dyn Fn(&Operation) -> Option<f64>| {
        let values: Option<Vec<f64>> = fitted.iter().map(|each| of(each)).collect();
        power_law(&sizes, &values?, LEVEL).ok()
    };
    let (Some(least), Some(greatest)) = (sizes.first(), sizes.last()) else {
        return Verdict::Silent;
    };
    let Some(law) = growth(&typical_ns).filter(|_| *greatest >= LEAST_SPAN * least) else {
        return Verdict::Silent;
    };
    let at_peaks = |peak| growth(&|operation: &Operation| roof_ns(peak, operation));
    let at_peaks = case.peak_of(subject).and_then(at_peaks);
    let flops = growth(&|operation| operation.flops.map(|flops| flops as f64));
    let bytes = growth(&|operation| operation.bytes.map(|bytes| bytes as f64));
    let of_work = [flops, bytes].into_iter().flatten().map(|law| law.slope);
    let (expected, what) = match (at_peaks, of_work.reduce(f64::max)) {
        (Some(at_peaks), _) => (at_peaks.slope, "its work at the peaks"),
        (None, Some(of_work)) => (of_work, "its work"),
        (None, None) => (1.0, "linear growth"),
    };
    let evidence = Evidence::measured(format!(
        "time grows as size^{:.2} ({:.2} to {:.2}, 95 %) over {} sizes; {what} as size^{expected:.2}",
        law.slope,
        law.slope_lower,
        law.slope_upper,
        sizes.len()
    ));
    if law.slope_lower <= expected + MARGIN {
        // Time grows faster than linear because the work does: the method is not at fault.
        return match law.slope_lower > 1.0 + MARGIN {
            true => Verdict::Overruled(evidence),
            false => Verdict::Silent,
        };
    }
    let saved = |exponent: f64| 1.0 - (size(here) / least).powf(expected - exponent);
    let range = [law.slope_lower, law.slope_upper].map(saved);
    Verdict::suggest(
        format!("time grows faster than the work; {evidence}"),
        "look for a loop within a loop over the input; an index, a sort, a hash table or a search \
         among neighbours can replace it",
        vec![evidence],
        Gain::new(saved(law.slope), Some(range)),
    )
}
