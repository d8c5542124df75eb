//! Measures two functions, one inside the other, and writes what was measured
//! for other tools: a trace for Perfetto, a flame graph for the browser.
//! Run it with `cargo run --example 08_export`.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::hint::black_box;

use breakeven_judge::export::{ExportError, chrome, collapsed, flamegraph, speedscope};
use breakeven_profile::file::{self, FileError};
use breakeven_profile::profile::{Profile, Stack, Timeline, TimelineEvent};
use breakeven_profile::recorder::Clock;

/// What can go wrong; a program would use `anyhow`.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
enum Error {
    File(#[from] FileError),
    Export(#[from] ExportError),
    Io(#[from] std::io::Error),
}

fn main() -> Result<(), Error> {
    let clock = Clock::new();
    let begin = clock.now();
    let mut numbers: Vec<u64> = (0..200_000).rev().collect();
    let sort_at = clock.ns_since(begin);
    let inner = clock.now();
    numbers.sort_unstable();
    let sort_ns = clock.ns_since(inner);
    black_box(numbers);
    let total_ns = clock.ns_since(begin);

    let call = |name: &str, start_ns, duration_ns| TimelineEvent {
        name: name.to_owned(),
        start_ns,
        duration_ns,
        ..TimelineEvent::default()
    };
    let stack = |frames: &[&str], total_ns, self_ns| Stack {
        frames: frames.iter().map(|name| (*name).to_owned()).collect(),
        calls: 1,
        total_ns,
        self_ns,
    };
    let profile = Profile {
        timeline: Some(Timeline {
            threads: vec!["main".to_owned()],
            events: vec![
                call("fill and sort", 0, total_ns),
                call("sort", sort_at, sort_ns),
            ],
            ..Timeline::default()
        }),
        stacks: vec![
            stack(&["fill and sort"], total_ns, total_ns - sort_ns),
            stack(&["fill and sort", "sort"], sort_ns, sort_ns),
        ],
        ..Profile::default()
    };

    let mut lines = Vec::new();
    collapsed(&profile, &mut lines)?;
    print!("{}", String::from_utf8_lossy(&lines));
    assert_eq!(lines.iter().filter(|byte| **byte == b'\n').count(), 2);

    // A file is there whole or not at all.
    let directory = tempfile::tempdir()?;
    for name in ["trace.json", "speedscope.json", "flame.svg"] {
        let path = directory.path().join(name);
        file::replace(&path, |out| {
            let written = match name {
                "trace.json" => chrome(&profile, out),
                "speedscope.json" => speedscope(&profile, out),
                _ => flamegraph(&profile, out),
            };
            written.map_err(Error::from)
        })?;
        println!("{name}: {} bytes", std::fs::metadata(&path)?.len());
    }
    Ok(())
}
