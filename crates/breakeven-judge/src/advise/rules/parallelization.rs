//! PARALLELIZATION: less than half of a GPU is in use.
//!
//! Overruled if the operation is already bound by a measured peak (60 % or more of bandwidth or
//! arithmetic): units that wait for memory gain nothing from more units.
//!
//! Estimate: the work is the same, so a kernel that keeps a fraction u of the units busy takes t ×
//! u / v with a fraction v busy. v = 50 %, where the rule ends, is the estimate; v = 100 % ends the
//! range; the roofline's time bounds both if there are peaks. t is the kernel's time if it was
//! measured separately, else the call's. A use of zero cannot be divided by: no estimate.

use breakeven_profile::unit::percent;

use super::super::case::{Case, Subject};
use super::super::elsewhere::Gap;
use super::super::evidence::{Evidence, Gain, Verdict};
use crate::roofline::compute_ns;

/// Fraction of a GPU's units in use below which it counts as hardly used.
const LOW_GPU_USE: f64 = 0.5;

pub(super) fn ask(case: &Case<'_>, subject: &Subject<'_>) -> Verdict {
    let in_use = subject.operation.gpu_use.filter(|part| *part < LOW_GPU_USE);
    let Some(in_use) = in_use.filter(|_| subject.device().is_gpu()) else {
        return Verdict::Silent;
    };
    let gap = Gap::of(case, subject);
    if let Some(gap) = &gap
        && (Gap::is_bound(gap.bytes_share) || Gap::is_bound(gap.flops_share))
    {
        return Verdict::Overruled(gap.evidence());
    }
    let gain = if in_use > 0.0 {
        let kernel_ns = compute_ns(subject.operation, &subject.summary);
        let call_ns = subject.summary.median.max(kernel_ns);
        let least_ns = gap.as_ref().map_or(0.0, |gap| gap.least_ns);
        let saved = |with: f64| {
            let after_ns = (kernel_ns * in_use / with).max(least_ns);
            ((kernel_ns - after_ns) / call_ns).max(0.0)
        };
        Gain::new(saved(LOW_GPU_USE), Some([0.0, saved(1.0)]))
    } else {
        Gain::unknown("a use of zero does not show how much work there is")
    };
    let (used, limit) = (percent(in_use), percent(LOW_GPU_USE));
    let thumb = Evidence::rule_of_thumb(format!("{used} of the GPU in use (under {limit})"));
    let mut evidence = vec![thumb];
    evidence.splice(0..0, gap.map(|gap| gap.evidence()));
    let on = case.profile.device_label(&subject.operation.device);
    let reasons: Vec<String> = evidence.iter().map(Evidence::to_string).collect();
    Verdict::suggest(
        format!("most of {on} is idle; {}", reasons.join("; ")),
        "launch more, smaller work items, or several independent launches at once; check \
         registers and shared memory per work item",
        evidence,
        gain,
    )
}
