//! Measures a history of many runs: adding a run, and finding all changes.
//!
//! ```sh
//! cargo bench -p breakeven-history --bench history             # 10 000 runs, minutes
//! cargo bench -p breakeven-history --bench history -- --quick  # 500 runs
//! ```
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

use std::time::Instant;

use breakeven_history::{At, Branches, History, Sensitivity, changes};
use breakeven_profile::profile::{Operation, Profile, Run};
use rand::{RngExt as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

#[path = "../../../bench/metric.rs"]
#[allow(dead_code, reason = "shared by all benches")]
mod metric;

use metric::{is_quick, metric};

/// Operations of a run, as many as a medium-sized project has.
const OPERATIONS: usize = 200;

/// Samples of an operation in a run.
const SAMPLES: usize = 20;

fn main() {
    let runs = if is_quick() { 500 } else { 10_000 };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("history.db");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
    let mut history = History::create(&path).expect("a history");
    let mut times_ms = Vec::new();
    for number in 0..runs {
        let profile = profile(number, runs, &mut random);
        let at = At {
            commit: Some(format!("{number:08x}")),
            branch: Some("main".to_owned()),
            time: Some(format!(
                "{}-{:02}-{:02}T{:02}:00:00Z",
                2000 + number / 8064,
                1 + number / 672 % 12,
                1 + number / 24 % 28,
                number % 24
            )),
        };
        let start = Instant::now();
        history.add(&profile, &at).expect("it can be added");
        times_ms.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let last = &mut times_ms[runs * 9 / 10..];
    last.sort_by(f64::total_cmp);
    metric("history_add", last[last.len() / 2], "ms");
    metric("history_add_p99", last[last.len() * 99 / 100], "ms");
    // Opens the file anew, as a command does: nothing is cached in this process.
    drop(history);
    let start = Instant::now();
    let history = History::open(&path).expect("a history");
    let loaded = history.load(&Branches::All).expect("it can be read");
    metric("history_load", start.elapsed().as_secs_f64(), "s");
    let found = changes(&loaded, &Sensitivity::default());
    metric("history_changes", start.elapsed().as_secs_f64(), "s");
    metric("history_changes_found", found.len() as f64, "changes");
    let size = std::fs::metadata(&path).map_or(0, |found| found.len());
    metric(
        "history_bytes_per_point",
        size as f64 / (runs * OPERATIONS) as f64,
        "B",
    );
}

/// Every tenth operation becomes 10 % slower half-way.
fn profile(number: usize, runs: usize, random: &mut Xoshiro256PlusPlus) -> Profile {
    let operations = (0..OPERATIONS).map(|index| {
        let mut operation = Operation::new(format!("operation_{index:03}"), "cpu");
        let slower = if index % 10 == 0 && number >= runs / 2 {
            1.1
        } else {
            1.0
        };
        let level = 1e6 * (1.0 + index as f64 / 10.0) * slower;
        let run = level * (1.0 + 0.02 * random.random::<f64>());
        let samples = (0..SAMPLES).map(|_| (run * (1.0 + 0.05 * random.random::<f64>())).round());
        operation.runs.push(Run {
            samples_ns: samples.collect(),
            ..Run::default()
        });
        operation
    });
    Profile {
        operations: operations.collect(),
        ..Profile::default()
    }
}
