//! Advice: each rule, what overrules it, the order, and what it was worth.

mod order;
mod routing;
mod rules;
mod text;

use breakeven_judge::advise::{Advice, OptimizationSuggestion, ProfilerOptimizer, Rule};
use breakeven_profile::profile::{
    BreakEven, Evidence, Gpu, Operation, Peak, Profile, RecorderCost, Run, Stack,
};

pub(super) const MS: f64 = 1e6;

/// An operation of one run with these samples.
pub(super) fn operation(name: &str, device: &str, samples_ns: Vec<f64>) -> Operation {
    let mut operation = Operation::new(name, device);
    operation.runs.push(Run {
        samples_ns,
        ..Run::default()
    });
    operation
}

/// `count` calls of about `ns`: a spread of two in a hundred, so that medians
/// can be compared.
pub(super) fn around(ns: f64, count: usize) -> Vec<f64> {
    let steps = [0.0, 1.0, 2.0, 1.0, 0.0];
    (0..count)
        .map(|index| ns - ns / 100.0 + ns / 100.0 * steps[index % 5])
        .collect()
}

pub(super) fn profile(operations: Vec<Operation>) -> Profile {
    Profile {
        operations,
        ..Profile::default()
    }
}

/// The profile as a recorder in a program would have marked it, at no cost.
pub(super) fn recorded(mut profile: Profile) -> Profile {
    profile.environment.recorder = Some(RecorderCost::default());
    profile
}

/// The profile as a benchmark would have marked it.
pub(super) fn benchmark(mut profile: Profile) -> Profile {
    profile.operations[0].runs[0].warmup_ns = vec![1.0];
    profile
}

pub(super) fn gpu(id: &str, kind: &str) -> Gpu {
    Gpu {
        id: id.to_owned(),
        kind: Some(kind.to_owned()),
        ..Gpu::default()
    }
}

pub(super) fn peak(device: &str) -> Peak {
    Peak {
        device: device.to_owned(),
        memory_bytes_per_s: Some(1e10),
        flops_per_s: Some(1e11),
        ..Peak::default()
    }
}

pub(super) fn break_even(device: &str, over: &str, size: Option<f64>) -> Evidence {
    Evidence {
        break_even: vec![BreakEven {
            operation: "f".to_owned(),
            device: device.to_owned(),
            over: over.to_owned(),
            size,
            tested_to: Some(1e6),
            ..BreakEven::default()
        }],
        ..Evidence::default()
    }
}

/// A call path of so many ms.
pub(super) fn stack(frames: &[&str], calls: u64, total_ms: u64, self_ms: u64) -> Stack {
    Stack {
        frames: frames.iter().map(|&frame| frame.to_owned()).collect(),
        calls,
        total_ns: 1_000_000 * total_ms,
        self_ns: 1_000_000 * self_ms,
    }
}

pub(super) fn advice(profile: &Profile) -> Advice {
    ProfilerOptimizer::new(profile).advice().clone()
}

/// The rules that suggested something, in order.
pub(super) fn rules_of(profile: &Profile) -> Vec<Rule> {
    let all = advice(profile).suggestions;
    all.into_iter().map(|each| each.rule).collect()
}

/// The rules that were overruled.
pub(super) fn overruled(profile: &Profile) -> Vec<Rule> {
    let all = advice(profile).overruled;
    all.into_iter().map(|each| each.rule).collect()
}

/// What the rule suggested.
#[track_caller]
pub(super) fn suggestion(profile: &Profile, rule: Rule) -> OptimizationSuggestion {
    let all = advice(profile).suggestions;
    all.into_iter()
        .find(|each| each.rule == rule)
        .unwrap_or_else(|| panic!("{rule} suggested nothing"))
}

#[track_caller]
pub(super) fn near(value: f64, expected: f64) {
    assert!(
        (value - expected).abs() <= 1e-9 * expected.abs(),
        "{value} is not {expected}"
    );
}
