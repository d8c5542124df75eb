//! Profiles made for the tests, and their pages.

use std::collections::BTreeMap;

use breakeven_judge::advise::ProfilerOptimizer;
use breakeven_judge::compare::Options;
use breakeven_judge::page::Page;
use breakeven_judge::{Limits, compare, overview};
use breakeven_profile::profile::{
    Bandwidth, BreakEven, Cpu, DeviceLoad, Gpu, LoadRecord, LoadSample, Operation, Peak, Profile,
    Run, Stack, Timeline, TimelineEvent,
};
use breakeven_report::{HistorySeries, Report, Words};

/// A number from 0 to 1 that depends on nothing but its place.
fn noise(place: usize) -> f64 {
    let mut bits = (place as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits ^= bits >> 29;
    bits = bits.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (bits >> 40) as f64 / (1_u64 << 24) as f64
}

/// Runs of samples around a time; every 20th sample takes twice as long.
pub(crate) fn runs(ns: f64, runs: usize, samples: usize, seed: usize) -> Vec<Run> {
    let sample = |run: usize, at: usize| {
        let place = seed * 7919 + run * 101 + at;
        let stray = if noise(place + 1) < 0.05 { 2.0 } else { 1.0 };
        ns * (1.0 + 0.02 * noise(seed + run)) * (1.0 + 0.1 * noise(place)) * stray
    };
    (0..runs)
        .map(|run| Run {
            samples_ns: (0..samples).map(|at| sample(run, at).round()).collect(),
            first_call_ns: Some(3.0 * ns),
            ..Run::default()
        })
        .collect()
}

/// Many operations, on two devices.
pub(crate) fn many(operations: usize, of_runs: usize, samples: usize) -> Profile {
    let mut profile = machine();
    for index in 0..operations {
        let device = if index % 2 == 0 { "cpu" } else { "cuda:0" };
        let name = format!("stage_{}::operation_{:04}", index % 17, index / 2);
        let mut operation = Operation::new(name, device);
        let ns = 1e3 * 1.012_f64.powi(i32::try_from(index % 1_000).unwrap_or(0));
        operation.size = Some(1 << (10 + index % 8));
        operation.workload = Some(format!("{} images of 64×64", 1 + index % 9));
        operation.bytes = Some(4_096 + 64 * index as u64);
        operation.flops = Some(65_536 + 1_024 * (index as u64 % 300));
        operation.memory_bytes = Some(1 << (12 + index % 10));
        operation.items = Some(16);
        operation.runs = runs(ns, of_runs, samples, index);
        profile.operations.push(operation);
    }
    profile
}

/// A machine with its peaks.
fn machine() -> Profile {
    let mut profile = Profile {
        generator: Some("made for a test".to_owned()),
        ..Profile::default()
    };
    profile.environment.cpu = Some(Cpu {
        model: Some("Example 9000".to_owned()),
        ..Cpu::default()
    });
    profile.environment.gpus.push(Gpu {
        id: "cuda:0".to_owned(),
        kind: Some("discrete".to_owned()),
        ..Gpu::default()
    });
    for (device, scale) in [("cpu", 1.0), ("cuda:0", 20.0)] {
        profile.evidence.peaks.push(Peak {
            device: device.to_owned(),
            memory_bytes_per_s: Some(4e10 * scale),
            memory: vec![
                Bandwidth {
                    working_set_bytes: 1 << 20,
                    bytes_per_s: 2e11 * scale,
                },
                Bandwidth {
                    working_set_bytes: 1 << 28,
                    bytes_per_s: 4e10 * scale,
                },
            ],
            flops_per_s: Some(6e11 * scale),
            ..Peak::default()
        });
    }
    profile
}

/// One of everything that a page draws.
pub(crate) fn whole() -> Profile {
    let mut profile = machine();
    for (size, cpu, gpu) in [
        (256_u64, 2e4, 9e4),
        (1024, 8e4, 1e5),
        (4096, 3.2e5, 1.3e5),
        (16_384, 1.3e6, 2.4e5),
    ] {
        for (device, ns) in [("cpu", cpu), ("cuda:0", gpu)] {
            let mut operation = Operation::new("blur", device);
            operation.size = Some(size);
            operation.bytes = Some(size * 8);
            operation.flops = Some(size * 90);
            operation.runs = runs(ns, 5, 30, usize::try_from(size).unwrap_or(0));
            profile.operations.push(operation);
        }
    }
    let mut failed = Operation::new("matmul", "cuda:0");
    failed.failure = Some(breakeven_profile::profile::Failure {
        kind: "out of memory".to_owned(),
        message: "51.5 GB asked for, 17.2 GB there".to_owned(),
    });
    profile.operations.push(failed);
    profile.evidence.break_even.push(BreakEven {
        operation: "blur".to_owned(),
        device: "cuda:0".to_owned(),
        over: "cpu".to_owned(),
        size: Some(1500.0),
        interval: Some([1300.0, 1800.0]),
        tested_to: Some(16_384.0),
    });
    let stack = |frames: &[&str], calls: u64, total_ns: u64, self_ns: u64| Stack {
        frames: frames.iter().map(|&name| name.to_owned()).collect(),
        calls,
        total_ns,
        self_ns,
    };
    profile.stacks = vec![
        stack(&["frame"], 10, 1_000_000, 100_000),
        stack(&["frame", "decode"], 10, 600_000, 200_000),
        stack(&["frame", "decode", "huffman"], 80, 400_000, 400_000),
        stack(&["frame", "blur"], 10, 300_000, 300_000),
    ];
    let mut timeline = Timeline {
        threads: vec!["main".to_owned(), "worker".to_owned()],
        ..Timeline::default()
    };
    for frame in 0..10_u64 {
        for (name, thread, start_ns, duration_ns) in [
            ("frame", 0, 0, 100_000),
            ("decode", 0, 5_000, 60_000),
            ("blur", 1, 66_000, 30_000),
        ] {
            timeline.events.push(TimelineEvent {
                name: name.to_owned(),
                thread,
                start_ns: frame * 110_000 + start_ns,
                duration_ns,
                ..TimelineEvent::default()
            });
        }
    }
    profile.timeline = Some(timeline);
    profile.load = vec![load("cuda:0")];
    profile
}

/// A minute of load, with limited clocks in its middle.
pub(crate) fn load(device: &str) -> LoadRecord {
    let sample = |second: u64| LoadSample {
        start_ns: second * 1_000_000_000,
        duration_ns: 1_000_000_000,
        used: Some((second as f64 / 60.0).into()),
        other_used: Some(0.02.into()),
        temperature_celsius: Some((50.0 + second as f64 / 2.0).into()),
        clock_hz: Some(1.5e9.into()),
        limited: Some(u64::from((20..40).contains(&second))),
        ..LoadSample::default()
    };
    LoadRecord {
        interval_ns: 1_000_000_000,
        merged: 1,
        devices: vec![DeviceLoad {
            device: device.to_owned(),
            name: None,
            samples: (0..60).map(sample).collect(),
        }],
        ..LoadRecord::default()
    }
}

/// The profile with some operations slower and some faster.
pub(crate) fn changed(profile: &Profile) -> Profile {
    let mut changed = profile.clone();
    for (index, operation) in changed.operations.iter_mut().enumerate() {
        let factor = [1.3, 1.0, 0.8][index % 3] * (1.0 + 0.003 * noise(index));
        for run in &mut operation.runs {
            for ns in &mut run.samples_ns {
                *ns = (*ns * factor).round();
            }
        }
    }
    changed
}

/// The page of a profile, against a baseline where there is one.
pub(crate) fn page(
    profile: &Profile,
    baseline: Option<&Profile>,
    history: &[HistorySeries],
) -> String {
    let comparison = baseline.map(|baseline| {
        let sides = [baseline, profile].map(std::slice::from_ref);
        compare(sides[0], sides[1], &Options::default()).expect("they have much in common")
    });
    let compared = comparison.as_ref().map(|comparison| comparison.page());
    let mut judged = Page::default();
    let findings = overview(profile, &Limits::default()).findings;
    let findings = findings.iter();
    judged.list(
        "Bottlenecks",
        findings.map(|finding| format!("{}: {}", finding.key.name, finding.cause)),
    );
    let optimizer = ProfilerOptimizer::new(profile);
    let report = Report {
        title: "A profile made for a test",
        profile,
        overview: &overview(profile, &Limits::default()),
        advice: optimizer.advice(),
        comparison: comparison.as_ref(),
        history,
        words: Words {
            judged,
            compared: compared.unwrap_or_default(),
            ..Words::default()
        },
    };
    report.html()
}

/// The data of a part, as the page has it.
pub(crate) fn data(html: &str, part: &str) -> serde_json::Value {
    let begin = format!("<script type=\"application/json\" id=\"{part}-data\">");
    let (_, rest) = html.split_once(&begin).expect("the part has data");
    let (json, _) = rest.split_once("</script>").expect("it ends");
    serde_json::from_str(json).expect("JSON")
}

/// Attributes of any kind, of which no page shows one.
pub(crate) fn attributes(text: &str) -> BTreeMap<String, serde_json::Value> {
    BTreeMap::from([(text.to_owned(), serde_json::json!({ text: [text] }))])
}
