//! Compares two builds of a program, five runs each, and asks the gate that a CI
//! job asks. Run it with `cargo run --example 06_compare`.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use breakeven_judge::{ChangeType, Outcome, Policy, compare_profiling_runs, gate};
use breakeven_profile::profile::{Operation, Profile, Run};

/// A profile of operations, each with the samples of five runs, which come from
/// five processes: `breakeven profile --runs 5`, or a recorder in your program.
fn profile(operations: [(&str, [u64; 5]); 3]) -> Profile {
    let operation = |(name, medians): (&str, [u64; 5])| {
        let mut operation = Operation::new(name, "cpu");
        operation.runs = medians
            .map(|us| Run {
                samples_ns: vec![us * 990, us * 995, us * 1_000, us * 1_005, us * 1_010],
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
        ("decode", [8_020, 7_980, 8_050, 8_010, 7_990]),
        ("resize", [2_100, 1_950, 2_040, 2_200, 1_990]),
        ("encode", [40_100, 39_500, 40_800, 40_300, 39_900]),
    ]);
    let current = profile([
        ("decode", [8_810, 8_790, 8_860, 8_800, 8_840]),
        ("resize", [2_080, 2_020, 1_970, 2_150, 2_060]),
        ("encode", [30_200, 29_900, 30_500, 29_700, 30_100]),
    ]);

    // From a change of 5 % on; less cannot be told from noise on most machines.
    let comparison = compare_profiling_runs(&baseline, &current, 0.05)?;
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
