//! ROUTING: an operation that needs less energy on another device, which is not clearly faster.
//!
//! Decides by the energy of calls measured on both devices, with four runs or more each: lower by
//! 5 % or more, by a t-test on the logarithms of the joules per call in each run. It is the energy
//! of all devices over the call, idle power included. If one device's calls counted a device that
//! the other's did not, such as the GPU for calls on the CPU, that device waits meanwhile: its idle
//! power for the time of the call is added. If the CPU has no counter, its draw while it feeds a
//! GPU is unknown, and the rule does not apply.
//!
//! Does not apply if the other device is clearly faster by 5 % or more: the rules for time cover
//! that.
//!
//! Estimate: none, because it costs time or saves hardly any.

use breakeven_profile::profile::{Device, Energy, Operation};
use breakeven_stats::{LogRatio, log_ratio_test, typical};

use super::super::calls::CallsOf;
use super::super::case::{Case, Gain, Subject, Verdict};
use super::super::elsewhere::other_device;
use super::super::evidence::{Evidence, LessEnergy};
use super::{Definition, Saves, SuggestionType};
use crate::compare::FEWEST_RUNS;

/// Confidence level of the test.
const LEVEL: f64 = 0.95;

const HINT: &str = "if energy matters more than time, run it there; with the objective `energy` \
                    Auto weighs the energy of the whole machine";

pub(super) const RULE: Definition = Definition {
    kind: SuggestionType::Routing,
    saves: Saves::OtherDevice,
    applies: |case, subject| {
        // A program may have chosen the device by a size that was not recorded.
        let is_sized = subject.operation.size.is_some() || case.calls_of != CallsOf::Program;
        is_sized && subject.operation.energy().is_some()
    },
    ask,
};

fn ask(case: &Case<'_>, subject: &Subject<'_>) -> Verdict {
    let here = subject.operation;
    let threshold = case.thresholds.least_difference;
    let others = case.same_work(subject).into_iter();
    let least = others
        .map(|other| other.operation)
        .filter(|there| there.device != here.device)
        .filter(|there| there.device == Device::CPU || case.is_real_gpu(&there.device))
        .filter_map(|there| Some((less(here, there, threshold)?, there)))
        .min_by(|(a, _), (b, _)| a.test.ratio.total_cmp(&b.test.ratio));
    let Some((less, there)) = least else {
        return Verdict::Silent;
    };
    let Some((time, faster)) = other_device(here, there) else {
        return Verdict::Silent;
    };
    let times_as_fast = match faster.device == there.device {
        true => faster.ratio,
        false => 1.0 / faster.ratio,
    };
    if faster.clear && times_as_fast >= 1.0 + threshold {
        return Verdict::Silent;
    }
    let device = case.profile.device_label(&there.device);
    let time_text = match times_as_fast.ln().abs() < threshold.ln_1p() {
        true => "takes about as long",
        false => "takes longer",
    };
    let LogRatio {
        ratio,
        lower,
        upper,
        standard_error,
        ..
    } = less.test;
    let energy = Evidence::LessEnergy(LessEnergy {
        device: device.clone(),
        joules: less.joules[1],
        joules_here: less.joules[0],
        less: 1.0 - ratio,
        interval: (standard_error > 0.0).then_some([1.0 - upper, 1.0 - lower]),
        waiting: less.waiting,
    });
    let description = format!("{device} needs less energy for this and {time_text}: {energy}");
    let gain = Gain::unknown("it saves energy, not time", None);
    Verdict::suggest(description, HINT, vec![energy, time], gain).to(&there.device)
}

/// How much less energy an operation needs on another device.
struct Less {
    /// Energy there over energy here.
    test: LogRatio,
    /// Energy of a call, here and there, J.
    joules: [f64; 2],
    /// Devices whose idle power was added to one of the two.
    waiting: Vec<String>,
}

/// `None` unless the saving is significant and reaches the threshold.
fn less(here: &Operation, there: &Operation, threshold: f64) -> Option<Less> {
    let [all_here, all_there] = [here.energy()?, there.energy()?];
    let (waits_here, waits_there) = (
        waiting(&all_here, &all_there)?,
        waiting(&all_there, &all_here)?,
    );
    let was = per_run(here, &waits_here);
    let is = per_run(there, &waits_there);
    if was.len().min(is.len()) < FEWEST_RUNS {
        return None;
    }
    let test = log_ratio_test(&was, &is, LEVEL).ok()?;
    let is_less = test.p_value < 1.0 - LEVEL && -test.ratio.ln() >= threshold.ln_1p();
    let names = waits_here.into_iter().chain(waits_there);
    is_less.then(|| Less {
        joules: [typical(&was), typical(&is)],
        waiting: names.map(|(device, _)| device).collect(),
        test,
    })
}

/// The devices that only the other one's calls counted, with their idle power, W. `None` if the two
/// cannot be compared: only one of them counts the CPU, a device has different counters, or an idle
/// power is unknown.
fn waiting(energy: &Energy, other: &Energy) -> Option<Vec<(String, f64)>> {
    let mut waiting = Vec::new();
    for theirs in &other.counters {
        let ours = energy.counters.iter().find(|ours| ours.of == theirs.of);
        match ours {
            Some(ours) => {
                let is_same = ours.how == theirs.how && ours.covers == theirs.covers;
                is_same.then_some(())?;
            }
            None if theirs.of == Device::CPU => return None,
            None => waiting.push((theirs.of.clone(), theirs.idle_watts?)),
        }
    }
    Some(waiting)
}

/// Joules per call in each run, including the idle energy of these devices.
fn per_run(operation: &Operation, waiting: &[(String, f64)]) -> Vec<f64> {
    let watts: f64 = waiting.iter().map(|(_, watts)| watts).sum();
    let energies = operation.runs.iter().filter_map(|run| run.energy.as_ref());
    energies
        .filter_map(|energy| Some(energy.joules_per_call()? + watts * energy.call_seconds()))
        .collect()
}
