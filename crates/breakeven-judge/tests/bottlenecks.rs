//! Every rule that finds a bottleneck or names a cause, with a profile for
//! which it does and one for which it does not.

use breakeven_judge::budget::IdleBudget;
use breakeven_judge::{Finding, FindingKind, Held, Limited, Limits, Standing, overview};
use breakeven_profile::profile::{Bandwidth, Clock, Failure, Gpu, Operation, Peak, Profile, Run};

/// A profile of one operation whose only run has these samples.
fn profile(device: &str, samples_ns: &[f64]) -> Profile {
    let mut operation = Operation::new("f", device);
    operation.runs.push(run(samples_ns));
    Profile {
        operations: vec![operation],
        ..Profile::default()
    }
}

pub(crate) fn run(samples_ns: &[f64]) -> Run {
    Run {
        samples_ns: samples_ns.to_vec(),
        ..Run::default()
    }
}

fn findings(profile: &Profile) -> Vec<Finding> {
    overview(profile, &Limits::default()).findings
}

fn the_cause(profile: &Profile, kind: FindingKind) -> String {
    findings(profile)
        .into_iter()
        .find(|finding| finding.what == kind)
        .map_or_else(|| "not found".to_owned(), |finding| finding.cause)
}

const MS: f64 = 1e6;

#[test]
fn slow_is_a_mean_above_five_milliseconds() {
    assert_eq!(findings(&profile("cpu", &[5.0 * MS; 20])), []);
    let found = findings(&profile("cpu", &[5.0 * MS + 1.0; 20]));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].what, FindingKind::Slow);
    assert_eq!(found[0].value, 5_000_001.0);
}

#[test]
fn high_variance_is_a_cv_above_a_fifth() {
    // Two values at 1 ± d have a CV of d·√(n/(n − 1)).
    let spread = |d: f64| -> Vec<f64> {
        (0..20)
            .map(|i| if i % 2 == 0 { 1_000.0 - d } else { 1_000.0 + d })
            .collect()
    };
    assert_eq!(findings(&profile("cpu", &spread(190.0))), []);
    let found = findings(&profile("cpu", &spread(200.0)));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].what, FindingKind::HighVariance);
    assert!((found[0].value - 0.2052).abs() < 1e-4, "{}", found[0].value);
}

#[test]
fn an_outlier_is_above_twice_the_mean() {
    let mut samples = vec![100.0; 99];
    samples.push(200.0);
    assert_eq!(findings(&profile("cpu", &samples)), []);
    samples[50] = 220.0;
    let found = findings(&profile("cpu", &samples));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].what, FindingKind::Outliers);
    assert!(
        found[0]
            .cause
            .starts_with("calls far above the mean: 1 of 100"),
        "{}",
        found[0].cause
    );
}

#[test]
fn an_outlier_at_the_start_is_cold_caches() {
    let mut samples = vec![100.0; 99];
    samples.insert(0, 230.0);
    let cause = the_cause(&profile("cpu", &samples), FindingKind::Outliers);
    assert!(cause.contains("only the first call"), "{cause}");
}

#[test]
fn variance_by_a_slow_start_asks_for_warm_up() {
    let samples: Vec<f64> = (0..40)
        .map(|i| if i < 10 { 2_000.0 } else { 1_000.0 })
        .collect();
    let cause = the_cause(&profile("cpu", &samples), FindingKind::HighVariance);
    assert!(cause.contains("first calls"), "{cause}");
}

#[test]
fn variance_between_runs_is_distinguished_from_variance_inside() {
    let mut between = profile("cpu", &[1_000.0; 20]);
    between.operations[0].runs.push(run(&[2_000.0; 20]));
    let cause = the_cause(&between, FindingKind::HighVariance);
    assert!(cause.contains("2.00 × that of the fastest"), "{cause}");
    let inside: Vec<f64> = (0..20)
        .map(|i| if i % 2 == 0 { 500.0 } else { 1_000.0 })
        .collect();
    let cause = the_cause(&profile("cpu", &inside), FindingKind::HighVariance);
    assert!(cause.contains("inside the run"), "{cause}");
}

#[test]
fn variance_of_very_short_calls_is_the_clocks() {
    let samples: Vec<f64> = (0..20)
        .map(|i| if i % 2 == 0 { 100.0 } else { 200.0 })
        .collect();
    let mut short = profile("cpu", &samples);
    short.environment.clock = Some(Clock {
        source: "counter".into(),
        read_ns: 10.0,
        resolution_ns: 1.0,
    });
    let cause = the_cause(&short, FindingKind::HighVariance);
    assert!(cause.contains("clock"), "{cause}");
    short.environment.clock.as_mut().unwrap().read_ns = 1.0;
    let cause = the_cause(&short, FindingKind::HighVariance);
    assert!(!cause.contains("clock"), "{cause}");
}

/// A slow operation on a GPU with these parts of a call, ms.
fn on_gpu(kind: &str, upload: f64, launch: f64, kernel: f64, download: f64) -> Profile {
    let mut profile = profile("vulkan:g", &[20.0 * MS; 5]);
    let parts = [
        ("upload", upload),
        ("launch", launch),
        ("kernel", kernel),
        ("download", download),
    ];
    for (part, ms) in parts {
        profile.operations[0].runs[0]
            .phases_ns
            .insert(part.to_owned(), vec![ms * MS; 5]);
    }
    profile.environment.gpus.push(Gpu {
        id: "vulkan:g".into(),
        kind: Some(kind.into()),
        ..Gpu::default()
    });
    profile
}

#[test]
fn a_slow_call_is_traced_to_its_largest_part() {
    let transfer = on_gpu("discrete", 8.0, 1.0, 6.0, 5.0);
    let cause = the_cause(&transfer, FindingKind::Slow);
    assert_eq!(cause, "65.0 % of a call is transfer to and from the device");
    let launch = on_gpu("discrete", 2.0, 14.0, 2.0, 2.0);
    let cause = the_cause(&launch, FindingKind::Slow);
    assert_eq!(cause, "70.0 % of a call is launch latency");
    let software = on_gpu("software", 2.0, 1.0, 15.0, 2.0);
    let cause = the_cause(&software, FindingKind::Slow);
    assert!(cause.contains("software GPU"), "{cause}");
    let unknown = on_gpu("discrete", 2.0, 1.0, 15.0, 2.0);
    let cause = the_cause(&unknown, FindingKind::Slow);
    assert!(cause.starts_with("unknown"), "{cause}");
}

#[test]
fn a_slow_call_is_held_against_the_devices_peaks() {
    // 10 ms for 10^9 operations and 10^8 bytes: 100 GFLOP/s and 10 GB/s.
    let with_peaks = |flops: f64, bandwidth: f64| {
        let mut profile = profile("cpu", &[10.0 * MS; 5]);
        profile.operations[0].flops = Some(1_000_000_000);
        profile.operations[0].bytes = Some(100_000_000);
        profile.evidence.peaks.push(Peak {
            device: "cpu".into(),
            flops_per_s: Some(flops),
            memory: vec![Bandwidth {
                working_set_bytes: 1 << 20,
                bytes_per_s: bandwidth,
            }],
            ..Peak::default()
        });
        the_cause(&profile, FindingKind::Slow)
    };
    assert_eq!(
        with_peaks(125e9, 100e9),
        "bound by arithmetic: 80.0 % of the device's peak"
    );
    assert_eq!(
        with_peaks(1e12, 12.5e9),
        "bound by memory: 80.0 % of the device's bandwidth"
    );
    assert!(with_peaks(1e12, 100e9).starts_with("neither arithmetic nor memory"));
}

#[test]
fn bandwidth_is_looked_up_at_the_operations_own_size() {
    let point = |working_set_bytes, bytes_per_s| Bandwidth {
        working_set_bytes,
        bytes_per_s,
    };
    let peak = Peak {
        memory: vec![
            point(1_000, 100.0),
            point(10_000, 50.0),
            point(100_000, 10.0),
        ],
        ..Peak::default()
    };
    let at = |size| peak.bandwidth_at(size).unwrap();
    assert_eq!(at(1), 100.0);
    assert_eq!(at(10_000), 50.0);
    assert!(
        (at(31_623) - 30.0).abs() < 1e-3,
        "half-way in the logarithm: {}",
        at(31_623)
    );
    assert_eq!(at(u64::MAX), 10.0);
    assert_eq!(Peak::default().bandwidth_at(1), None);
}

#[test]
fn thresholds_move_the_findings() {
    let limits =
        Limits::from_toml("[thresholds]\nslow = \"1 ms\"\noutlier_ratio = 1.05\n").unwrap();
    let found = overview(&profile("cpu", &[2.0 * MS, 2.0 * MS, 3.0 * MS]), &limits).findings;
    let kinds: Vec<FindingKind> = found.iter().map(|finding| finding.what).collect();
    assert_eq!(
        kinds,
        [
            FindingKind::Slow,
            FindingKind::HighVariance,
            FindingKind::Outliers
        ]
    );
}

fn held(value: f64, standing: Standing) -> [Held; 1] {
    [Held {
        limited: Limited::Mean,
        value,
        max: 1e6,
        standing,
    }]
}

#[test]
fn the_budget_that_names_the_device_counts_and_none_is_left_unheld() {
    let budget = |rest: &str| format!("[[budget]]\noperation = \"f\"\n{rest}\n");
    let any = budget("max = \"1 ns\"");
    let cpu = budget("device = \"cpu\"\nmax = \"1 s\"");
    let limits = Limits::from_toml(&format!("{any}{cpu}")).unwrap();
    let profile = profile("cpu", &[100.0; 3]);
    let held = limits.hold(&profile.operations[0], Some(100.0), None);
    assert_eq!(held[0].max, 1e9);
    assert!(limits.unmatched(std::slice::from_ref(&profile)).is_empty());

    let other_size = budget("size = 7\nmax = \"1 s\"");
    let other_name = "[[budget]]\noperation = \"g\"\nmax = \"1 s\"\n";
    let limits = Limits::from_toml(&format!("{other_size}{other_name}")).unwrap();
    let unmatched: Vec<String> = limits
        .unmatched(std::slice::from_ref(&profile))
        .iter()
        .map(|idle| format!("{}: {}", idle.budget, idle.why))
        .collect();
    let why = "there is no such operation";
    assert_eq!(
        unmatched,
        [format!("\"f\" at size 7: {why}"), format!("\"g\": {why}")]
    );
}

#[test]
fn a_slow_first_call_is_the_cause_of_variance_too() {
    let mut samples = vec![100.0; 30];
    samples.insert(0, 1_000.0);
    let found = findings(&profile("cpu", &samples));
    assert_eq!(found.len(), 2);
    assert!(
        found
            .iter()
            .all(|finding| finding.cause.contains("only the first call")),
        "{found:?}"
    );
}

#[test]
fn targets_and_budgets_stand_in_the_row() {
    let limits =
        Limits::from_toml("[[budget]]\noperation = \"f\"\ndevice = \"cpu\"\nmax = \"1 ms\"\n")
            .unwrap();
    let row = |samples: &[f64]| overview(&profile("cpu", samples), &limits).rows.remove(0);
    let fast = row(&[100_000.0, 100_100.0, 99_900.0]);
    assert!(fast.targets.unwrap().all());
    assert_eq!(fast.budgets, held(1e5, Standing::Within));
    assert_eq!(fast.calls_per_s, Some(10_000.0));
    let slow = row(&[20.0 * MS, 20.0 * MS]);
    let targets = slow.targets.unwrap();
    assert_eq!(
        (targets.mean, targets.cv, targets.rate),
        (false, true, false)
    );
    assert_eq!(slow.budgets, held(2e7, Standing::Over));
    assert_eq!(row(&[900_000.0]).budgets, held(9e5, Standing::Near));
}

#[test]
fn a_failed_operation_has_a_row_and_no_figures() {
    let mut failed = profile("cpu", &[]);
    failed.operations[0].failure = Some(Failure {
        kind: "device lost".into(),
        message: "gone".into(),
    });
    let overview = overview(&failed, &Limits::default());
    assert_eq!(overview.rows.len(), 1);
    assert_eq!(overview.rows[0].summary, None);
    assert!(overview.findings.is_empty() && overview.winners.is_empty());
}

#[test]
fn a_zero_time_is_no_rate() {
    let row = overview(&profile("cpu", &[0.0, 0.0]), &Limits::default())
        .rows
        .remove(0);
    assert_eq!(row.calls_per_s, None);
    assert_eq!(row.share_of_total, 0.0);
}

#[test]
fn a_limit_of_memory_that_was_not_recorded_is_named_and_once() {
    let limits = |name: &str| {
        let text =
            format!("[[budget]]\noperation = \"{name}\"\nmax = \"1 s\"\nmax_memory = \"1 MiB\"\n");
        Limits::from_toml(&text).unwrap()
    };
    let mut profile = profile("cpu", &[100.0; 3]);
    assert_eq!(
        limits("f")
            .hold(&profile.operations[0], Some(100.0), None)
            .len(),
        1
    );
    let found = limits("f").unmatched(std::slice::from_ref(&profile));
    let [IdleBudget { budget, why, .. }] = &found[..] else {
        panic!("one limit that judges nothing")
    };
    assert_eq!(budget, "\"f\"");
    assert!(
        why.to_string().starts_with("no memory was recorded of it"),
        "{why}"
    );
    assert_eq!(
        limits("g").unmatched(std::slice::from_ref(&profile)).len(),
        1
    );
    profile.operations[0].memory_bytes = Some(5);
    assert!(
        limits("f")
            .unmatched(std::slice::from_ref(&profile))
            .is_empty()
    );
}
