//! Measures a comparison of large profiles: reads and compares two files of a million samples each,
//! and reports the time and the peak memory of the process.
//!
//!     cargo bench -p breakeven-judge --bench compare [-- --quick]
#![allow(
    clippy::print_stdout,
    missing_docs,
    reason = "a bench prints its figures"
)]

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use breakeven_judge::compare::{Options, compare};
use breakeven_judge::{Budget, Limited, Limits, Scope};
use breakeven_profile::file;
use breakeven_profile::profile::{Operation, Profile, Run};
use breakeven_profile::stats::median;

#[path = "../../../bench/metric.rs"]
mod metric;

use metric::{is_quick, metric, write_profile};

/// Operations, runs of each, and samples of each run: a million in all.
const SHAPE: [usize; 3] = [50, 5, 4_000];

fn main() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let paths = ["baseline.json", "current.json"].map(|name| directory.path().join(name));
    for (seed, path) in (1..).zip(&paths) {
        write(path, seed).expect("the directory can be written");
    }
    let times = if is_quick() { 3 } else { 20 };
    let seconds: Vec<f64> = (0..times).map(|_| compared(&paths[0], &paths[1])).collect();
    let samples = SHAPE.iter().product::<usize>() as f64;
    metric("compare_samples_a_side", samples, "samples");
    let typical = median(&seconds).expect("measured at least once");
    metric("compare_million_samples_s", typical, "s");
    if let Some(bytes) = peak_memory() {
        metric("compare_million_samples_mb", bytes / 1e6, "MB");
    }
    let mut operation = Operation::new("compare_million_samples", "cpu");
    operation.runs = vec![Run {
        samples_ns: seconds.iter().map(|s| (s * 1e9).round()).collect(),
        ..Run::default()
    }];
    write_profile(
        "compare",
        Profile {
            operations: vec![operation],
            ..Profile::default()
        },
    );
}

/// Reads both files and compares them; returns the seconds.
fn compared(baseline: &Path, current: &Path) -> f64 {
    let start = Instant::now();
    let read = |path: &Path| [file::read(path).expect("it was written above")];
    let options = Options {
        limits: Limits {
            budgets: vec![Budget {
                scope: Scope {
                    operation: "operation0".to_owned(),
                    device: None,
                    size: None,
                },
                limited: Limited::Mean,
                max: 2e6,
            }],
            ..Limits::default()
        },
        ..Options::default()
    };
    let comparison = compare(&read(baseline), &read(current), &options);
    let comparison = comparison.expect("the sides have all in common");
    assert_eq!(comparison.operations.len(), SHAPE[0]);
    start.elapsed().as_secs_f64()
}

/// Writes a profile sample by sample, so that only reading takes memory.
fn write(path: &Path, seed: u64) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let mut state = seed;
    // Includes all optional fields, so that every check runs.
    let environment = "{\"clock\": {\"source\": \"tsc\", \"read_ns\": 12.0, \"resolution_ns\": 1.0}, \
                       \"recorder\": {\"guard_ns\": 30.0, \"inside_ns\": 20.0}}";
    write!(
        out,
        "{{\"format\": \"breakeven-profile\", \"version\": 1, \
         \"environment\": {environment}, \"operations\": ["
    )?;
    let [operations, runs, samples] = SHAPE;
    let comma = |index| if index == 0 { "" } else { ", " };
    for index in 0..operations {
        write!(
            out,
            "{}{{\"name\": \"operation{index}\", \"runs\": [",
            comma(index)
        )?;
        for run in 0..runs {
            write!(out, "{}{{\"samples_ns\": [", comma(run))?;
            for sample in 0..samples {
                // Knuth's generator (MMIX) is random enough for samples.
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                write!(out, "{}{}", comma(sample), 1_000_000 + (state >> 48))?;
            }
            write!(out, "]}}")?;
        }
        write!(out, "]}}")?;
    }
    writeln!(out, "]}}")?;
    out.flush()
}

/// Peak memory of this process, bytes, if the system reports it.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024.0)
}
