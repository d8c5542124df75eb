//! A device is one type: what ran on both is no GPU's, and what is inside something else
//! is not counted twice.

use breakeven_judge::advise::{ProfilerOptimizer, Rule};
use breakeven_judge::{FindingKind, Limits, overview};
use breakeven_profile::profile::{Device, Gpu, Operation, Profile};

use crate::advise::{operation, profile};

const MS: f64 = 1e6;

#[test]
fn a_device_is_read_from_its_id() {
    let devices = ["cpu", "cuda:0", "cpu+vulkan:0", "cuda:0+cuda:1"].map(Device::of);
    let expected = [
        Device::Cpu,
        Device::Gpu("cuda:0"),
        Device::Both("vulkan:0"),
        Device::Gpu("cuda:0+cuda:1"),
    ];
    assert_eq!(devices, expected);
    assert_eq!(devices.map(Device::is_gpu), [false, true, false, true]);
}

#[test]
fn software_is_said_of_every_device_that_has_such_a_gpu() {
    let mut profile = Profile::default();
    profile.environment.gpus = ["vulkan:0", "cuda:0"]
        .map(|id| Gpu {
            id: id.to_owned(),
            kind: Some(
                if id == "vulkan:0" {
                    "software"
                } else {
                    "discrete"
                }
                .to_owned(),
            ),
            ..Gpu::default()
        })
        .into();
    for (id, label) in [
        ("cpu", "cpu"),
        ("cuda:0", "cuda:0"),
        ("vulkan:0", "vulkan:0 (software)"),
        ("cpu+vulkan:0", "cpu+vulkan:0 (software)"),
        ("cuda:0+vulkan:0", "cuda:0+vulkan:0 (software)"),
        ("cpu+cuda:0", "cpu+cuda:0"),
    ] {
        assert_eq!(profile.device_label(id), label);
    }
    assert_eq!(Device::label("cpu", true), "cpu");
}

fn rules(profile: &Profile) -> Vec<(String, Rule)> {
    let optimizer = ProfilerOptimizer::new(profile);
    let suggestions = optimizer.advice().suggestions.iter();
    let rules = suggestions.map(|each| (each.device.clone(), each.rule));
    rules.collect()
}

/// A split execution was taken for a call on a GPU: short ones were to go to the CPU.
#[test]
fn a_split_execution_is_neither_moved_nor_a_target() {
    let routing = |rules: Vec<(String, Rule)>| {
        let mut rules = rules;
        rules.retain(|(_, rule)| matches!(rule, Rule::GpuToCpu | Rule::CpuToGpu));
        rules
    };
    let short = profile(vec![operation("f", "cpu+vulkan:0", vec![0.1 * MS; 5])]);
    assert_eq!(routing(rules(&short)), []);
    let mut long = operation("f", "cpu+vulkan:0", vec![100.0 * MS; 5]);
    long.memory_bytes = Some(1 << 20);
    long.gpu_use = Some(0.1);
    assert_eq!(rules(&profile(vec![long])), []);
    let mut here = operation("f", "cpu", vec![100.0 * MS, 101.0 * MS, 102.0 * MS]);
    let mut there = operation("f", "cpu+vulkan:0", vec![1.0 * MS, 1.01 * MS, 1.02 * MS]);
    (here.size, there.size) = (Some(1_000), Some(1_000));
    assert_eq!(
        routing(rules(&profile(vec![here.clone(), there.clone()]))),
        []
    );
    there.device = "vulkan:0".to_owned();
    let found = routing(rules(&profile(vec![here, there])));
    assert_eq!(found, [("cpu".to_owned(), Rule::CpuToGpu)]);
}

/// The execution around a span counts its time.
#[test]
fn spans_were_counted_beside_their_execution() {
    let spans = ["f:span", "f:fallback"].map(|name| Operation {
        within_execution: true,
        ..operation(name, "cuda:0", vec![100.0 * MS; 5])
    });
    let mut operations = vec![
        operation("f", "cpu+cuda:0", vec![150.0 * MS; 5]),
        operation("g", "cpu", vec![50.0 * MS; 5]),
    ];
    operations.extend(spans);
    let profile = profile(operations);
    let found = overview(&profile, &Limits::default());
    let shares: Vec<f64> = found.rows.iter().map(|row| row.share_of_total).collect();
    assert_eq!(shares, [0.75, 0.25, 0.0, 0.0]);
    let slow: Vec<&str> = found.findings.iter().map(|each| &*each.key.name).collect();
    assert_eq!(slow, ["f", "g"]);
    let advice = ProfilerOptimizer::new(&profile);
    assert_eq!(advice.advice().total_ms, 1_000.0);
    assert!(rules(&profile).iter().all(|(device, _)| device != "cuda:0"));
}

/// `outer` takes 100 ms a call, of which `work` takes 99.
fn nested() -> Profile {
    let outer = operation("outer", "cpu", vec![100.0 * MS; 5]);
    profile(vec![outer, operation("work", "cpu", vec![99.0 * MS; 5])])
}

#[test]
fn an_operation_that_waits_for_others_was_slow_for_no_known_cause() {
    let slow = |profile: &Profile| -> Vec<String> {
        let findings = overview(profile, &Limits::default()).findings.into_iter();
        let slow = findings.filter(|finding| finding.what == FindingKind::Slow);
        slow.map(|finding| finding.key.name).collect()
    };
    let mut profile = nested();
    assert_eq!(slow(&profile), ["outer", "work"]);
    profile.operations[0].runs[0].self_ns = Some(5.0 * MS);
    assert_eq!(slow(&profile), ["work"]);
    profile.operations[0].runs[0].self_ns = Some(400.0 * MS);
    assert_eq!(slow(&profile), ["work", "outer"]);
}

#[test]
fn own_times_are_those_of_stacks_where_runs_have_none() {
    let stack = |frames: &[&str], total_ms: u64, self_ms: u64| breakeven_profile::profile::Stack {
        frames: frames.iter().map(|frame| (*frame).to_owned()).collect(),
        calls: 5,
        total_ns: total_ms * 1_000_000,
        self_ns: self_ms * 1_000_000,
    };
    let mut profile = nested();
    profile.stacks = vec![
        stack(&["outer"], 500, 5),
        stack(&["outer", "work"], 495, 495),
    ];
    let found = overview(&profile, &Limits::default());
    assert_eq!(found.rows[0].share_of_total, 0.01);
    assert_eq!(found.findings.len(), 1);
    assert_eq!(found.findings[0].key.name, "work");
}
