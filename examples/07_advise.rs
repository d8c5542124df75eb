//! Asks what to change first in a profile, follows the advice, and compares what it
//! gained. Run it with `cargo run -p breakeven-judge --example 07_advise`.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use breakeven_judge::ChangeType;
use breakeven_judge::advise::{ProfilerOptimizer, Rule};
use breakeven_judge::compare::{Metric, Options, compare};
use breakeven_profile::profile::{Operation, Peak, Profile, RecorderCost, Run};

/// Runs of the program.
const RUNS: u32 = 5;

/// A program's profile: five runs, in each as many calls of `blur` on a GPU that
/// takes 20 µs to launch, and one of `load` on the CPU.
fn profile(calls: usize, blur_ns: f64) -> Profile {
    let operation = |name: &str, device: &str, calls: usize, ns: f64| {
        let mut operation = Operation::new(name, device);
        operation.runs = (0..RUNS)
            .map(|run| Run {
                samples_ns: vec![ns + ns / 200.0 * f64::from(run); calls],
                // A recorder took them.
                nested_calls: Some(0),
                ..Run::default()
            })
            .collect();
        operation
    };
    let mut profile = Profile {
        operations: vec![
            operation("blur", "cuda:0", calls, blur_ns),
            operation("load", "cpu", 1, 3e6),
        ],
        ..Profile::default()
    };
    // A recorder's mark: these are calls of a program, not of a benchmark.
    profile.environment.recorder = Some(RecorderCost::default());
    profile.evidence.peaks.push(Peak {
        device: "cuda:0".to_owned(),
        launch_ns: Some(20_000.0),
        ..Peak::default()
    });
    profile
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let before = profile(90, 60_000.0);
    let optimizer = ProfilerOptimizer::new(&before);
    optimizer.print_suggestions(2, std::io::stdout())?;
    let first = &optimizer.get_suggestions(1)[0];
    assert_eq!(first.rule, Rule::Batching);
    let predicted = first.saved_ms;

    // Nine batches of ten in place of ninety calls.
    let after = profile(9, 10.0 * 42_500.0);
    let options = Options {
        metric: Metric::from("total"),
        ..Options::default()
    };
    let comparison = compare(&[before], &[after], &options)?;
    let blur = &comparison.operations[0];
    let saved_ms = blur
        .judged
        .baseline_value
        .zip(blur.judged.current_value)
        .map(|(before, after)| f64::from(RUNS) * (before - after))
        .ok_or("it is on both sides")?;
    let predicted_ms = predicted.ok_or("the launch was measured")?;
    println!("predicted {predicted_ms:.2} ms, saved {saved_ms:.2} ms");

    assert_eq!(blur.change_type, ChangeType::Improvement);
    assert!((0.8..1.2).contains(&(saved_ms / predicted_ms)));
    Ok(())
}
