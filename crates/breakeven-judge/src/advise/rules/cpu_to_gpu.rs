//! ROUTING: a CPU operation that a GPU does faster.
//!
//! The samples of the operation at the same size on a GPU decide, the fastest
//! GPU of several; else a measured break-even size; else the rule of thumb: over
//! 10 ms of own time in a call, and memory to work on. A GPU that is a program
//! on the CPU is never a target. The rule of thumb is overruled where every GPU
//! of the machine is software, and where launch, transfer and the roofline of
//! every GPU with peaks take longer than the call does now.
//!
//! Estimate: own time × (1 − t_gpu / t_cpu) with the typical calls, where both
//! were measured; otherwise none, for a GPU's time cannot be told from a CPU's.

use breakeven_profile::unit;

use super::super::case::is_gpu;
use super::super::elsewhere::{Elsewhere, elsewhere, roof_with_transfer_ns};
use super::super::evidence::{Evidence, Quantity};
use super::{Case, Gain, Proposal, Rule, Subject, Verdict};

pub(super) fn ask(case: &Case<'_>, subject: &Subject<'_>) -> Verdict {
    if subject.is_gpu() {
        return Verdict::Silent;
    }
    let limit = case.thresholds.large_cpu_call_ns;
    let has_memory = subject.memory_bytes.is_some_and(|bytes| bytes > 0);
    let large = subject.own_call_ns() > limit && has_memory;
    match elsewhere(case, subject, |device| case.is_real_gpu(device)) {
        Some(Elsewhere::Faster {
            device,
            saved,
            evidence,
        }) => suggest(
            subject,
            Some(device.clone()),
            format!("{device} does this faster than the CPU: {evidence}"),
            vec![evidence],
            match saved {
                Some((part, range)) => Gain::part(subject, part, range),
                None => {
                    Gain::unknown("a break-even size tells which device is faster, not by how much")
                }
            },
        ),
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
    let least = peaks
        .filter(|peak| is_gpu(&peak.device) && case.is_real_gpu(&peak.device))
        .filter_map(|peak| {
            Some(Evidence::LeastTime {
                device: peak.device.clone(),
                least_ns: roof_with_transfer_ns(peak, subject.operation)?,
                call_ns,
            })
        })
        .min_by(|a, b| least_ns(a).total_cmp(&least_ns(b)));
    if let Some(least) = least.as_ref().filter(|least| least_ns(least) >= call_ns) {
        return Verdict::Overruled(vec![least.clone()]);
    }
    let thumb = Evidence::RuleOfThumb {
        quantity: Quantity::CallTime,
        value: subject.own_call_ns(),
        limit: case.thresholds.large_cpu_call_ns,
    };
    let memory = unit::bytes(subject.memory_bytes.unwrap_or(0));
    let range = least
        .as_ref()
        .map(|least| [0.0, (1.0 - least_ns(least) / call_ns) * subject.own_ns]);
    suggest(
        subject,
        None,
        format!(
            "a call works on {memory} for {} on the CPU, which may be worth a GPU's launch and \
             transfers; {thumb}",
            unit::time(subject.own_call_ns())
        ),
        std::iter::once(thumb).chain(least).collect(),
        Gain::Unknown {
            because: "no GPU form was measured at this size",
            range_ns: range,
        },
    )
}

fn least_ns(evidence: &Evidence) -> f64 {
    match evidence {
        Evidence::LeastTime { least_ns, .. } => *least_ns,
        _ => f64::INFINITY,
    }
}

fn suggest(
    subject: &Subject<'_>,
    target_device: Option<String>,
    description: String,
    evidence: Vec<Evidence>,
    gain: Gain,
) -> Verdict {
    Verdict::Suggest(Box::new(Proposal {
        rule: Rule::CpuToGpu,
        subject: subject.place,
        target_device,
        description,
        hint: "send inputs of this size to a GPU form; keep what follows on the device too, so \
               that the data travels once"
            .to_owned(),
        evidence,
        gain,
    }))
}
