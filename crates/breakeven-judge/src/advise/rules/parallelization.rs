//! PARALLELIZATION: less than half of a GPU is in use.
//!
//! Overruled if the operation is already bound by a measured peak (60 % or more of bandwidth or
//! arithmetic): units that wait for memory gain nothing from more units.
//!
//! Estimate: the work is the same, so a kernel that keeps a fraction u of the units busy takes t ×
//! u / v with a fraction v busy. v = 50 %, where the rule ends, is the estimate; v = 100 % ends the
//! range; the roofline's time bounds both if there are peaks. t is the kernel's time if it was
//! measured separately, else the call's. A use of zero cannot be divided by: no estimate.

use super::super::case::{Case, Gain, Subject, Verdict};
use super::super::elsewhere::Gap;
use super::super::evidence::Quantity;
use super::{Definition, Saves, SuggestionType};
use crate::roofline::compute_ns;

pub(super) const RULE: Definition = Definition {
    kind: SuggestionType::Parallelization,
    saves: Saves::Roofline,
    applies: |case, subject| {
        let in_use = subject.operation.gpu_use;
        subject.device().is_gpu() && in_use.is_some_and(|part| part < case.thresholds.low_gpu_use)
    },
    ask,
};

fn ask(case: &Case<'_>, subject: &Subject<'_>) -> Verdict {
    let limit = case.thresholds.low_gpu_use;
    let in_use = subject.operation.gpu_use.unwrap_or(0.0);
    let gap = Gap::of(case, subject);
    let bound = case.thresholds.bound_share;
    if let Some(gap) = &gap
        && [gap.bytes_share, gap.flops_share]
            .into_iter()
            .flatten()
            .any(|share| share >= bound)
    {
        return Verdict::Overruled(vec![gap.evidence()]);
    }
    let thumb = Quantity::GpuUse.thumb(in_use, limit);
    let gain = if in_use > 0.0 {
        let kernel_ns = compute_ns(subject.operation, &subject.summary);
        let call_ns = subject.summary.median.max(kernel_ns);
        let least_ns = gap.as_ref().map_or(0.0, |gap| gap.least_ns);
        let saved = |with: f64| {
            let after_ns = (kernel_ns * in_use / with).max(least_ns);
            ((kernel_ns - after_ns) / call_ns).max(0.0)
        };
        Gain::part(subject, saved(limit), Some([0.0, saved(1.0)]))
    } else {
        Gain::unknown("a use of zero does not show how much work there is", None)
    };
    let roofline = gap.map(|gap| gap.evidence());
    let on = case.profile.device_label(&subject.operation.device);
    let description = match &roofline {
        Some(measured) => format!("most of {on} is idle; {measured}; {thumb}"),
        None => format!("most of {on} is idle; {thumb}"),
    };
    Verdict::suggest(
        description,
        "launch more, smaller work items, or several independent launches at once; check \
         registers and shared memory per work item",
        roofline.into_iter().chain([thumb]).collect(),
        gain,
    )
}
