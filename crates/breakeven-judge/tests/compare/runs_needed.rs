//! The runs that are asked for, made: how often they decide.

use breakeven_judge::ChangeType;
use breakeven_judge::compare::{Options, compare};
use breakeven_profile::profile::{Operation, Profile, Run};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Operations of one noise; the first one slower by a factor.
fn side(
    runs: u64,
    operations: usize,
    noise: f64,
    factor: f64,
    random: &mut Xoshiro256PlusPlus,
) -> Profile {
    let operations = (0..operations).map(|number| {
        let mut operation = Operation::new(format!("operation {number}"), "cpu");
        let factor = if number == 0 { factor } else { 1.0 };
        let run = |_| {
            let off: f64 = StandardNormal.sample(random);
            Run {
                samples_ns: vec![1e6 * factor * (noise * off).exp(); 5],
                ..Run::default()
            }
        };
        operation.runs = (0..runs).map(run).collect();
        operation
    });
    Profile {
        operations: operations.collect(),
        ..Profile::default()
    }
}

/// 48 to 61 % of them decided, when estimate and noise were taken for the truth.
#[test]
fn the_runs_that_are_asked_for_decide_in_three_of_four_cases() {
    for (noise, runs, operations) in [(0.10, 5, 1), (0.10, 10, 5), (0.03, 5, 5)] {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(runs);
        let (mut asked, mut decided) = (0, 0);
        for number in 0..120 {
            let factor = [1.0, 1.02, 1.08, 1.10, 0.9, 1.0][number % 6];
            let mut first = |runs| {
                let baseline = side(runs, operations, noise, 1.0, &mut random);
                let current = side(runs, operations, noise, factor, &mut random);
                let found = compare(&[baseline], &[current], &Options::default()).unwrap();
                found.operations[0].clone()
            };
            // More are said to be too many.
            if let Some(needed) = first(runs).judged.runs_needed.filter(|runs| *runs <= 250) {
                asked += 1;
                let verdict = first(needed).change_type;
                decided += u32::from(verdict != ChangeType::Inconclusive);
            }
        }
        let fraction = f64::from(decided) / f64::from(asked);
        assert!(
            fraction >= 0.75,
            "{noise} {runs} runs: {decided} of {asked}"
        );
    }
}
