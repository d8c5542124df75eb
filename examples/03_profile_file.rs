//! Measures a function of your own, writes a profile file, reads it back and
//! shows what it says. Run it with `cargo run --example 03_profile_file`.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::hint::black_box;

use breakeven_judge::{Limits, overview};
use breakeven_profile::profile::{Environment, Operation, Profile, Run};
use breakeven_profile::recorder::Clock;
use breakeven_profile::{file, unit};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Vec<u64> = (0..200_000).rev().collect();
    let clock = Clock::new();

    // `black_box` keeps the compiler from leaving the work out.
    let mut run = Run::default();
    for _ in 0..20 {
        let mut sorted = black_box(&numbers).clone();
        let start = clock.now();
        sorted.sort_unstable();
        run.samples_ns.push(clock.ns_since(start) as f64);
        black_box(sorted);
    }

    let mut sort = Operation::new("sort", "cpu");
    sort.size = Some(numbers.len() as u64);
    sort.items = sort.size;
    sort.runs.push(run);
    let written = Profile {
        environment: Environment {
            clock: Some(clock.measure()),
            ..Environment::default()
        },
        operations: vec![sort],
        ..Profile::default()
    };

    let directory = tempfile::tempdir()?;
    let path = directory.path().join("sort.json");
    file::write(&written, &path)?;
    let profile = file::read(&path)?;

    for row in overview(&profile, &Limits::default()).rows {
        let summary = row.summary.ok_or("an operation without samples")?;
        println!(
            "{}: median {}, p95 {}, {} calls, {}",
            row.key,
            unit::time(summary.median),
            unit::time(summary.p95),
            summary.count,
            unit::per_s(row.items_per_s.ok_or("a clock that stands still")?),
        );
        assert!(summary.min <= summary.median && summary.median <= summary.max);
    }
    assert_eq!(profile, written);
    Ok(())
}
