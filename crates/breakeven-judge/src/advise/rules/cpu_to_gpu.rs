//! ROUTING: a CPU operation that is faster on a GPU.
//!
//! The samples of the operation at the same size on the fastest GPU decide; else a measured
//! break-even size; else the rule of thumb: over 10 ms of own time per call, and memory to work on.
//! A software GPU is never a target, and a process is no call to route. The rule of thumb is overruled if every GPU of the machine is
//! software, or if launch, transfer and roofline of every GPU with peaks take longer than the call
//! does now.
//!
//! Estimate: own time × (1 − t_gpu / t_cpu) with the typical calls, if both were measured;
//! otherwise none, because a GPU's time cannot be derived from a CPU's.

use breakeven_profile::profile::Device;
use breakeven_profile::unit;

use super::super::case::{Case, Gain, Subject, Verdict};
use super::super::elsewhere::{Elsewhere, elsewhere, roof_with_transfer_ns};
use super::super::evidence::{Evidence, Quantity};
use super::{Definition, Saves, SuggestionType};

/// What to do, whatever the evidence.
const HINT: &str = "send inputs of this size to a GPU form; keep the following steps on the \
    device too, \
                    so that the data travels once";

pub(super) const RULE: Definition = Definition {
    kind: SuggestionType::Routing,
    saves: Saves::OtherDevice,
    applies: |_, subject| subject.device() == Device::Cpu && !subject.operation.is_process(),
    ask,
};

fn ask(case: &Case<'_>, subject: &Subject<'_>) -> Verdict {
    let limit = case.thresholds.large_cpu_call_ns;
    let has_memory = subject.memory_bytes.is_some_and(|bytes| bytes > 0);
    let large = subject.own_call_ns() > limit && has_memory;
    match elsewhere(case, subject, |device| case.is_real_gpu(device)) {
        Some(Elsewhere::Faster {
            device,
            gain,
            evidence,
        }) => {
            let description = format!("{device} does this faster than the CPU: {evidence}");
            Verdict::suggest(description, HINT, vec![evidence], gain).to(device)
        }
        Some(Elsewhere::NotFaster(evidence)) if large => Verdict::Overruled(vec![evidence]),
        None if large => by_rule_of_thumb(case, subject),
        _ => Verdict::Silent,
    }
}

fn by_rule_of_thumb(case: &Case<'_>, subject: &Subject<'_>) -> Verdict {
    let gpus = &case.profile.environment.gpus;
    if !gpus.is_empty() && gpus.iter().all(|gpu| gpu.is_software()) {
        return Verdict::Overruled(vec![Evidence::OnlySoftwareGpus]);
    }
    let call_ns = subject.summary.mean;
    let peaks = case.profile.evidence.peaks.iter();
    let real = peaks.filter(|peak| case.is_real_gpu(&peak.device));
    let least = real
        .filter_map(|peak| {
            Some((
                roof_with_transfer_ns(peak, subject.operation)?,
                &peak.device,
            ))
        })
        .min_by(|(a, _), (b, _)| a.total_cmp(b));
    let evidence = least.map(|(least_ns, device)| Evidence::LeastTime {
        device: device.clone(),
        least_ns,
        call_ns,
    });
    if least.is_some_and(|(least_ns, _)| least_ns >= call_ns) {
        return Verdict::Overruled(evidence.into_iter().collect());
    }
    let own_call_ns = subject.own_call_ns();
    let thumb = Quantity::CallTime.thumb(own_call_ns, case.thresholds.large_cpu_call_ns);
    let memory = unit::bytes(subject.memory_bytes.unwrap_or(0));
    Verdict::suggest(
        format!(
            "a call works on {memory} for {} on the CPU, which may be worth a GPU's launch and \
             transfers; {thumb}",
            unit::time(own_call_ns)
        ),
        HINT,
        std::iter::once(thumb).chain(evidence).collect(),
        Gain::unknown(
            "no GPU form was measured at this size",
            least.map(|(least_ns, _)| [0.0, (1.0 - least_ns / call_ns) * subject.own_ns]),
        ),
    )
}
