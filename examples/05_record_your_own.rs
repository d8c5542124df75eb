//! Records functions of your own, with `#[profile]` and with `scope!`, writes
//! the profile and shows what is in it. Run it with
//! `cargo run --example 05_record_your_own`.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use breakeven_profile::{file, get_profiler, profile, scope, unit};

/// A grey image of `side` × `side` pixels.
#[profile]
fn paint(side: usize) -> Vec<u8> {
    (0..side * side).map(|pixel| (pixel % 251) as u8).collect()
}

/// Mean of each pixel and its neighbours in the row.
#[profile(size = image.len(), bytes = 2 * image.len(), items = 1)]
fn blur(image: &[u8]) -> Vec<u8> {
    let mean = |three: &[u8]| three.iter().map(|pixel| u32::from(*pixel)).sum::<u32>() / 3;
    image.windows(3).map(|three| mean(three) as u8).collect()
}

fn frame(side: usize) -> usize {
    let _s = scope!("frame", side = side);
    blur(&paint(side)).len()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for _ in 0..50 {
        frame(64);
        frame(256);
    }

    let directory = tempfile::tempdir()?;
    let path = directory.path().join("current.json");
    get_profiler(true).export_json(&path)?;

    let written = file::read(&path)?;
    for operation in &written.operations {
        let summary = operation.summary()?;
        println!(
            "{}: {} calls, median {}, p95 {}",
            operation.key(),
            summary.count,
            unit::time(summary.median),
            unit::time(summary.p95),
        );
    }
    for stack in &written.stacks {
        let own = unit::time(stack.self_ns as f64);
        println!("{}: {own} of its own", stack.frames.join(" > "));
    }
    // `blur` is two operations: one for each size.
    assert_eq!(written.operations.len(), 4);
    assert_eq!(written.stacks.len(), 3);
    Ok(())
}
