//! ROUTING: a GPU operation that is faster on the CPU, or a CPU operation that is faster on a GPU.
//!
//! The samples of the operation at the same size on the other device decide; else a measured
//! break-even size; else a rule of thumb: a GPU call under 1 ms is mostly launch and transfer; a CPU
//! call over 10 ms of own time with memory to work on may be worth a GPU. Peaks overrule the rule of
//! thumb if the other device cannot be as fast: its roofline time, on a GPU with launch and
//! transfer, is no less than the call takes now. A software GPU is never a target, and a process is
//! no call to route.
//!
//! Estimate: with t the typical call (geometric mean of the run medians), own time × (1 − t_there /
//! t_here), and the same for the ends of its interval. A break-even size and the rule of thumb say
//! which device is faster, not by how much: no estimate.

use breakeven_profile::profile::Device;
use breakeven_profile::unit;

use super::super::case::{Case, Subject};
use super::super::elsewhere::{Elsewhere, elsewhere, roof_ns, roof_with_transfer_ns};
use super::super::evidence::{Evidence, Gain, Verdict};

/// A GPU call shorter than this is too small for the GPU, ns.
const SMALL_GPU_CALL_NS: f64 = 1e6;

/// A CPU call longer than this, with memory, may be worth a GPU, ns.
const LARGE_CPU_CALL_NS: f64 = 1e7;

pub(super) fn to_cpu(case: &Case<'_>, subject: &Subject<'_>) -> Verdict {
    if !subject.device().is_gpu() || subject.operation.is_process() {
        return Verdict::Silent;
    }
    let here = case.profile.device_label(&subject.operation.device);
    let call_ns = subject.summary.mean;
    let hint = "call the CPU form for inputs of this size, and let the size decide between the two \
                forms";
    match elsewhere(case, subject, |device| device == Device::CPU) {
        Some(Elsewhere::Faster(cpu, gain, evidence)) => {
            let description = format!("the CPU does this faster than {here}: {evidence}");
            Verdict::suggest(description, hint, vec![evidence], gain).to(cpu)
        }
        _ if call_ns >= SMALL_GPU_CALL_NS => Verdict::Silent,
        Some(Elsewhere::NotFaster(evidence)) => Verdict::Overruled(evidence),
        None => {
            let call = unit::time(call_ns);
            let peak = case.profile.peak(Device::CPU);
            let least =
                peak.and_then(|peak| Some((roof_ns(peak, subject.operation)?, Device::CPU)));
            let thumb = format!("{call} a call (under {})", unit::time(SMALL_GPU_CALL_NS));
            let why = format!(
                "a call on {here} takes {call}, and launch and transfer are a large fraction of \
                 so short a call"
            );
            let because = "the CPU form was not measured at this size";
            by_rule_of_thumb(subject, least, thumb, &why, hint, because).to(Device::CPU)
        }
    }
}

pub(super) fn to_gpu(case: &Case<'_>, subject: &Subject<'_>) -> Verdict {
    if subject.device() != Device::Cpu || subject.operation.is_process() {
        return Verdict::Silent;
    }
    let hint = "send inputs of this size to a GPU form; keep the following steps on the device \
                too, so that the data travels once";
    let own_call_ns = subject.own_call_ns();
    let memory = subject.memory_bytes.unwrap_or(0);
    match elsewhere(case, subject, |device| case.is_real_gpu(device)) {
        Some(Elsewhere::Faster(gpu, gain, evidence)) => {
            let description = format!("{gpu} does this faster than the CPU: {evidence}");
            Verdict::suggest(description, hint, vec![evidence], gain).to(gpu)
        }
        _ if own_call_ns <= LARGE_CPU_CALL_NS || memory == 0 => Verdict::Silent,
        Some(Elsewhere::NotFaster(evidence)) => Verdict::Overruled(evidence),
        None => {
            let gpus = &case.profile.environment.gpus;
            if !gpus.is_empty() && gpus.iter().all(|gpu| gpu.is_software()) {
                let text = "every GPU here computes on the CPU";
                return Verdict::Overruled(Evidence::measured(text.to_owned()));
            }
            let peaks = case.profile.evidence.peaks.iter();
            let real = peaks.filter(|peak| case.is_real_gpu(&peak.device));
            let least = real.filter_map(|peak| {
                let least_ns = roof_with_transfer_ns(peak, subject.operation)?;
                Some((least_ns, &*peak.device))
            });
            let least = least.min_by(|(a, _), (b, _)| a.total_cmp(b));
            let call = unit::time(own_call_ns);
            let thumb = format!("{call} a call (over {})", unit::time(LARGE_CPU_CALL_NS));
            let why = format!(
                "a call works on {} for {call} on the CPU, which may be worth a GPU's launch and \
                 transfers",
                unit::bytes(memory)
            );
            let because = "no GPU form was measured at this size";
            by_rule_of_thumb(subject, least, thumb, &why, hint, because)
        }
    }
}

/// A suggestion without an estimate, unless the other device needs as long even at its peaks.
fn by_rule_of_thumb(
    subject: &Subject<'_>,
    least: Option<(f64, &str)>,
    thumb: String,
    why: &str,
    hint: &'static str,
    because: &'static str,
) -> Verdict {
    let call_ns = subject.summary.mean;
    let thumb = Evidence::rule_of_thumb(thumb);
    let description = format!("{why}; {thumb}");
    let (mut evidence, mut gain) = (vec![thumb], Gain::unknown(because));
    if let Some((least_ns, device)) = least {
        let (least, call) = (unit::time(least_ns), unit::time(call_ns));
        let at_peaks = Evidence::measured(format!(
            "by its peaks {device} needs at least {least} a call, which takes {call} now"
        ));
        if least_ns >= call_ns {
            return Verdict::Overruled(at_peaks);
        }
        evidence.push(at_peaks);
        gain.range = Some([0.0, 1.0 - least_ns / call_ns]);
    }
    Verdict::suggest(description, hint, evidence, gain)
}
