//! ROUTING: a GPU operation that is faster on the CPU.
//!
//! The CPU's own samples of the operation at the same size decide; else a measured break-even size;
//! else the rule of thumb: a GPU call under 1 ms is mostly launch and transfer. Peaks overrule the
//! rule of thumb if the CPU cannot be as fast: its roofline time is no less than the GPU's call.
//!
//! Estimate: with t the typical call (geometric mean of the run medians), own time × (1 − t_cpu /
//! t_gpu), and the same for the ends of its interval. A break-even size and the rule of thumb say
//! which device is faster, not by how much: no estimate.

use breakeven_profile::profile::Device;
use breakeven_profile::unit;

use super::super::case::{Case, Gain, Subject, Verdict};
use super::super::elsewhere::{Elsewhere, elsewhere, roof_ns};
use super::super::evidence::{Evidence, Quantity};
use super::{Definition, Saves, SuggestionType};

pub(super) const RULE: Definition = Definition {
    kind: SuggestionType::Routing,
    saves: Saves::OtherDevice,
    applies: |_, subject| subject.device().is_gpu() && !subject.operation.is_process(),
    ask,
};

fn ask(case: &Case<'_>, subject: &Subject<'_>) -> Verdict {
    let here = case.profile.device_label(&subject.operation.device);
    let call_ns = subject.summary.mean;
    let limit = case.thresholds.small_gpu_call_ns;
    let small = call_ns < limit;
    let suggest = |description: String, evidence: Vec<Evidence>, gain: Gain| {
        let hint = "call the CPU form for inputs of this size, and let the size decide between \
                    the two forms";
        Verdict::suggest(description, hint, evidence, gain).to(Device::CPU)
    };
    match elsewhere(case, subject, |device| device == Device::CPU) {
        Some(Elsewhere::Faster { gain, evidence, .. }) => suggest(
            format!("the CPU does this faster than {here}: {evidence}"),
            vec![evidence],
            gain,
        ),
        Some(Elsewhere::NotFaster(evidence)) if small => Verdict::Overruled(vec![evidence]),
        None if small => {
            let least = case.profile.peak(Device::CPU);
            let least_ns = least.and_then(|peak| roof_ns(peak, subject.operation));
            let least = least_ns.map(|least_ns| Evidence::LeastTime {
                device: Device::CPU.to_owned(),
                least_ns,
                call_ns,
            });
            if least_ns.is_some_and(|least_ns| least_ns >= call_ns) {
                return Verdict::Overruled(least.into_iter().collect());
            }
            let thumb = Quantity::CallTime.thumb(call_ns, limit);
            suggest(
                format!(
                    "a call on {here} takes {}, and launch and transfer are a large fraction of \
                     so short a call; {thumb}",
                    unit::time(call_ns)
                ),
                std::iter::once(thumb).chain(least).collect(),
                Gain::unknown("the CPU form was not measured at this size", None),
            )
        }
        _ => Verdict::Silent,
    }
}
