//! What `show` answers of a trace of a GPU, and that exported profiles can be read again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use breakeven_profile::file;
use breakeven_profile::profile::{OperationKey, Profile, Run};
use insta::assert_snapshot;

use crate::command::{directory, line, show};

/// Three steps of a millisecond with kernels, communication, copies and a fill.
fn trace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../breakeven-import/tests/data/chrome/kineto-gpu.json")
}

#[test]
fn table() {
    let table = show(&trace(), "").quietly(0).stdout;
    for line in table.lines() {
        assert!(line.chars().count() <= 80, "wider than 80: {line}");
    }
    assert_snapshot!(table);
}

#[test]
fn annotations_of_a_gpu_are_not_among_what_ran_on_it() {
    let event = |category: &str, name: &str, start: u32, duration: u32| {
        format!(
            r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": 0, "tid": 7, "ts": {start}, "dur": {duration}, "args": {{"device": 0, "stream": 7}}}}"#
        )
    };
    let events = [
        event("gpu_user_annotation", "fwd", 0, 60),
        event("kernel", "gemm", 0, 30),
        event("kernel", "relu", 40, 20),
        event("gpu_user_annotation", "bwd", 60, 40),
        event("kernel", "gemm", 60, 40),
    ];
    let directory = directory();
    let path = directory.path().join("trace.json");
    std::fs::write(&path, format!("[{}]", events.join(","))).unwrap();
    let table = show(&path, "").quietly(0).stdout;
    let compute: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with("compute"))
        .collect();
    assert_eq!(compute.len(), 1, "{table}");
    assert!(compute[0].contains("90.0µs"), "{table}");
    let (_, gemm) = table.split_once("\ngemm\n").unwrap();
    let gemm = gemm.lines().next().unwrap();
    assert!(gemm.contains("70.0µs  70.0µs    78%"), "{table}");
}

#[test]
fn markdown_and_csv() {
    assert_snapshot!(show(&trace(), "--format markdown").quietly(0).stdout);
    assert_snapshot!(show(&trace(), "--format csv").quietly(0).stdout);
}

#[test]
fn json_is_a_profile_with_the_activity() {
    let json = show(&trace(), "--format json").quietly(0).stdout;
    let profile = file::read_from(json.as_bytes(), "").unwrap();
    let [activity] = &profile.activity[..] else {
        panic!("{:?}", profile.activity);
    };
    assert_eq!(
        (activity.busy_ns, activity.idle_ns()),
        (1_446_000, 1_046_000)
    );
}

/// Calls and time of each operation, in whole ns.
fn totals(profile: &Profile) -> BTreeMap<OperationKey, (u64, u64)> {
    let operations = profile.operations.iter();
    let totals = operations.map(|operation| {
        let calls = operation.runs.iter().map(Run::calls).sum();
        #[expect(clippy::cast_sign_loss, reason = "times are not negative")]
        let total = operation.total_ns().round() as u64;
        (operation.key(), (calls, total))
    });
    totals.filter(|(_, (calls, _))| *calls > 0).collect()
}

/// Exports a profile and imports what came of it.
fn again(profile: &Path, to: &str, options: &str) -> Profile {
    let directory = directory();
    let exported = directory.path().join("exported");
    let imported = directory.path().join("imported.json");
    let export = line("convert").arg(profile).args(&format!("--to {to}"));
    export.args("-o").arg(&exported).run().quietly(0);
    let import = line("convert").arg(&exported).args(options);
    let ended = import.args("-o").arg(&imported).run();
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    file::read(&imported).unwrap()
}

#[test]
fn a_trace_of_an_exported_profile_has_its_operations() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sample.json");
    let of_samples = again(&sample, "chrome", "");
    assert_eq!(totals(&of_samples), totals(&file::read(&sample).unwrap()));
    let runs = |profile: &Profile| profile.operations.iter().map(|each| each.runs.len()).max();
    assert_eq!(runs(&of_samples), Some(2));
    // A timeline: the imported trace, exported and imported once more.
    let directory = directory();
    let first = directory.path().join("first.json");
    let import = line("convert").arg(trace()).args("-o").arg(&first);
    import.run().quietly(0);
    let timeline = again(&first, "chrome", "");
    assert_eq!(totals(&timeline), totals(&file::read(&first).unwrap()));
}

/// Stacks have frames, not operations: the device is one of them, so a name has the time
/// that it took on all devices.
#[test]
fn stacks_of_an_exported_profile_have_its_time() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sample.json");
    let by_name = |profile: &Profile| {
        let mut times = BTreeMap::new();
        for (key, (_, total)) in totals(profile) {
            *times.entry(key.name).or_insert(0) += total;
        }
        times
    };
    let measured = by_name(&file::read(&sample).unwrap());
    assert_eq!(measured.len(), 2);
    for (to, options) in [("speedscope", ""), ("collapsed", "--unit ns")] {
        let stacks = by_name(&again(&sample, to, options));
        for (name, total) in &measured {
            assert!(stacks[name].abs_diff(*total) <= 10, "{to}: {name}");
        }
    }
}

#[test]
fn a_report_says_what_the_devices_of_a_trace_did() {
    let directory = directory();
    let page = directory.path().join("report.html");
    let report = line("report").arg(trace()).args("-o").arg(&page);
    report.run().quietly(0);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("Devices over the trace") && page.contains("1.05ms"));
}
