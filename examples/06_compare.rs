//! Compares two builds of a program, five runs each, and asks the gate that a CI
//! job asks. Run it with `cargo run --example 06_compare`.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use breakeven_judge::{ChangeType, Outcome, Policy, Threshold, compare_profiling_runs, gate};
use breakeven_profile::profile::{Operation, Profile, Run};

/// A profile of operations, each with the samples of five runs around medians in ms.
/// Runs come from five processes: `breakeven profile --runs 5`, or a recorder in your program.
fn profile(operations: [(&str, [f64; 5]); 3]) -> Profile {
    let operation = |(name, medians): (&str, [f64; 5])| {
        let mut operation = Operation::new(name, "cpu");
        operation.runs = medians
            .map(|ms| Run {
                samples_ns: [0.99, 0.995, 1.0, 1.005, 1.01]
                    .map(|part| part * ms * 1e6)
                    .to_vec(),
                ..Run::default()
            })
            .to_vec();
        operation
    };
    Profile {
        operations: operations.map(operation).to_vec(),
        ..Profile::default()
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let baseline = profile([
        ("decode", [8.02, 7.98, 8.05, 8.01, 7.99]),
        ("resize", [2.1, 1.95, 2.04, 2.2, 1.99]),
        ("encode", [40.1, 39.5, 40.8, 40.3, 39.9]),
    ]);
    let current = profile([
        ("decode", [8.81, 8.79, 8.86, 8.8, 8.84]),
        ("resize", [2.08, 2.02, 1.97, 2.15, 2.06]),
        ("encode", [30.2, 29.9, 30.5, 29.7, 30.1]),
    ]);

    // From a change of 5 % on; less looks like noise on most machines.
    let comparison = compare_profiling_runs(&baseline, &current, Threshold::percent(5.0)?)?;
    let mut out = std::io::stdout();
    comparison.print_summary(&mut out)?;
    comparison.print_regressions(10, &mut out)?;
    comparison.print_improvements(10, &mut out)?;

    let verdict = gate(&comparison, Policy::default());
    println!("gate: {}", verdict.outcome);
    for reason in &verdict.reasons {
        println!("  {reason}");
    }

    let verdicts = comparison.operations.iter().map(|each| each.change_type);
    assert_eq!(
        verdicts.collect::<Vec<_>>(),
        [
            ChangeType::Regression,
            // Runs differ by 5 %: not slower, not unchanged, but unknown.
            ChangeType::Inconclusive,
            ChangeType::Improvement
        ]
    );
    assert_eq!(verdict.outcome, Outcome::Failed);
    Ok(())
}
