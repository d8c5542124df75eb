//! Error rates and coverage over many seeded draws: a test at 5 % rejects a
//! true null hypothesis in about 5 % of them.

use breakeven_stats::{log_ratio_test, log_ratio_tests, log_ratio_with_noise, runs_needed};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const DRAWS: usize = 2000;
const NOISE: f64 = 0.03;

/// `n` log-normal run medians about `median`, with [`NOISE`] between runs.
fn runs(random: &mut Xoshiro256PlusPlus, n: usize, median: f64) -> Vec<f64> {
    let mut uniform = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    (0..n)
        .map(|_| {
            // Box and Muller 1958.
            let radius = (-2.0 * (1.0 - uniform()).ln()).sqrt();
            let normal = radius * (std::f64::consts::TAU * uniform()).cos();
            median * (NOISE * normal).exp()
        })
        .collect()
}

/// Share of draws of `n` and `m` runs, `ratio` apart, for which `found` holds.
fn share(n: usize, m: usize, ratio: f64, found: impl Fn(&[f64], &[f64]) -> bool) -> f64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    let hits = (0..DRAWS)
        .filter(|_| {
            let baseline = runs(&mut random, n, 1e6);
            found(&baseline, &runs(&mut random, m, 1e6 * ratio))
        })
        .count();
    hits as f64 / DRAWS as f64
}

#[test]
fn log_ratio_rejects_a_true_null_in_one_of_twenty() {
    for (n, m) in [(5, 5), (4, 9), (20, 20)] {
        let rejected = share(n, m, 1.0, |a, b| {
            log_ratio_test(a, b, 0.95).unwrap().p_value <= 0.05
        });
        assert!((0.03..=0.07).contains(&rejected), "{n} {m}: {rejected}");
    }
    let rejected = share(1, 1, 1.0, |a, b| {
        log_ratio_with_noise(a, b, NOISE, 0.95).unwrap().p_value <= 0.05
    });
    assert!((0.03..=0.07).contains(&rejected), "known noise: {rejected}");
}

/// Shares of tests with p ≤ 5 %, over operations whose noise is `NOISE` times
/// `spread` to the power of -1, 0 or 1, and over draws with any such test at
/// the level of Bonferroni.
fn shared_rejections(operations: usize, spread: f64) -> (f64, f64) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let draws = DRAWS / operations;
    let (mut single, mut family) = (0, 0);
    for _ in 0..draws {
        let mut side = || -> Vec<Vec<f64>> {
            (0..operations)
                .map(|operation| {
                    let power = spread.powi(operation as i32 % 3 - 1);
                    let runs = runs(&mut random, 5, 1.0);
                    runs.iter().map(|run| 1e6 * run.powf(power)).collect()
                })
                .collect()
        };
        let (baseline, current) = (side(), side());
        let pairs: Vec<(&[f64], &[f64])> = baseline
            .iter()
            .zip(&current)
            .map(|(baseline, current)| (&baseline[..], &current[..]))
            .collect();
        let p: Vec<f64> = log_ratio_tests(&pairs, 0.95)
            .iter()
            .map(|test| test.unwrap().p_value)
            .collect();
        single += p.iter().filter(|p| **p <= 0.05).count();
        family += usize::from(p.iter().any(|p| *p <= 0.05 / operations as f64));
    }
    (
        single as f64 / (draws * operations) as f64,
        family as f64 / draws as f64,
    )
}

#[test]
fn shared_variances_reject_a_true_null_in_one_of_twenty() {
    for operations in [2, 3, 10, 50] {
        for spread in [1.0, 2.0, 10.0] {
            let (single, family) = shared_rejections(operations, spread);
            let what = format!("{operations} operations, noise times {spread}");
            assert!((0.02..=0.07).contains(&single), "{what}: {single}");
            assert!(family <= 0.12, "{what}: {family} of families");
        }
    }
}

#[test]
fn log_ratio_interval_holds_the_truth_in_nineteen_of_twenty() {
    let held = share(5, 7, 1.08, |a, b| {
        let found = log_ratio_test(a, b, 0.95).unwrap();
        (found.lower..=found.upper).contains(&1.08)
    });
    assert!((0.93..=0.97).contains(&held), "{held}");
}

#[test]
fn the_runs_that_are_needed_suffice_and_two_fewer_do_not() {
    for (ratio, power) in [(1.05, 0.8), (1.03, 0.9)] {
        let found = |n| {
            share(n, n, ratio, |a, b| {
                log_ratio_test(a, b, 0.95).unwrap().p_value <= 0.05
            })
        };
        let n = usize::try_from(runs_needed(NOISE, ratio, 0.05, power).unwrap()).unwrap();
        let (enough, too_few) = (found(n), found(n - 2));
        assert!(enough > power - 0.02, "{n} runs: {enough} {power}");
        assert!(too_few < power, "{n} - 2 runs: {too_few} {power}");
    }
}
