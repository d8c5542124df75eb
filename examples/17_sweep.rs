//! Finds the size from which a program's own GPU path pays. Run it with
//! `cargo run --example 17_sweep`.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::time::Duration;

use breakeven::{Sweep, coarse_sizes};

/// The CPU path.
fn on_the_cpu(numbers: &[f64]) -> f64 {
    numbers.iter().fold(0.0, |sum, x| sum + x.sqrt())
}

/// The GPU path, here without a GPU: a launch and the transfers of 200 µs, whatever the size.
fn on_the_gpu(numbers: &[f64]) -> f64 {
    std::thread::sleep(Duration::from_micros(200));
    numbers.first().copied().unwrap_or_default()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let swept = Sweep::new("sum of roots", coarse_sizes(1_000, 5_000_000))
        .time_limit(Duration::from_secs(1))
        .closures(
            |n| vec![2.0; n as usize],
            |numbers| on_the_cpu(numbers),
            |numbers| on_the_gpu(numbers),
        );
    println!("{swept}");

    // From this size on, the program should take its GPU path.
    let size = swept.break_even().and_then(|found| found.constant());
    println!("GPU_FROM = {}", size.ok_or("the times do not decide")?);

    // `breakeven show`, `report` and `advise --evidence` read this.
    let path = std::env::temp_dir().join("sum_of_roots.json");
    breakeven::profile::file::write(&swept.profile(), &path)?;
    Ok(())
}
