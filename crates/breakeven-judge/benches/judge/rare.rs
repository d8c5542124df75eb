//! Cases of unequal noise, which mislead a judge: machines with two states, one noisy operation
//! among quiet ones, one run per side with a history, a common shift.

use breakeven_judge::compare::{Metric, Options, ProfilerComparison, compare};
use breakeven_judge::{ChangeType, Threshold};
use breakeven_profile::profile::{Operation, Profile, Run};
use rand::{Rng, RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::metric::metric;
use crate::pool::Pool;
use crate::synthetic::{SHAPES, Shape};

/// Operations of a synthetic profile.
const OPERATIONS: usize = 50;

/// A side with these run medians: a list per operation.
fn side(medians: impl IntoIterator<Item = Vec<f64>>) -> Profile {
    let operations = medians.into_iter().enumerate().map(|(number, medians)| {
        let mut operation = Operation::new(format!("operation {number}"), "cpu");
        operation.runs = medians.into_iter().map(run).collect();
        operation
    });
    profile(operations.collect())
}

fn run(median: f64) -> Run {
    Run {
        samples_ns: vec![1e6 * median; 5],
        ..Run::default()
    }
}

fn profile(operations: Vec<Operation>) -> Profile {
    Profile {
        operations,
        ..Profile::default()
    }
}

fn compared(baseline: Profile, current: Profile, options: &Options) -> ProfilerComparison {
    compare(&[baseline], &[current], options).expect("both sides have the same operations")
}

/// Run medians of one operation with this noise.
fn noisy(runs: usize, noise: f64, random: &mut impl Rng) -> Vec<f64> {
    let draws = (0..runs).map(|_| StandardNormal.sample(random));
    draws.map(|place: f64| (noise * place).exp()).collect()
}

fn fails(comparison: &ProfilerComparison) -> bool {
    comparison.get_summary().regressions_count > 0
}

fn percent(count: usize, of: usize) -> f64 {
    100.0 * count as f64 / of as f64
}

/// Half of the processes run in a state in which work takes 2.5 × as long: either the complete
/// process, or each operation independently.
pub(crate) fn two_states(pairs: usize) {
    for (what, together) in [("together", true), ("each_operation", false)] {
        for runs in [2, 3, 4, 5] {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(20 + runs as u64);
            let failed = (0..pairs).filter(|_| {
                let mut drawn = || {
                    let mut states = Vec::new();
                    let mut operation = |number| {
                        if number == 0 || !together {
                            let slow = (0..runs).map(|_| random.random_bool(0.5));
                            states = slow.map(|slow| if slow { 2.5 } else { 1.0 }).collect();
                        }
                        let medians = noisy(runs, 0.01, &mut random).into_iter();
                        medians
                            .zip(&states)
                            .map(|(median, state)| median * state)
                            .collect()
                    };
                    side((0..OPERATIONS).map(&mut operation).collect::<Vec<_>>())
                };
                fails(&compared(drawn(), drawn(), &Options::default()))
            });
            let name = format!("judge_false_gates/two_states/{what}/{runs}_runs");
            metric(&name, percent(failed.count(), pairs), "%");
        }
    }
}

/// 49 operations have a noise of 1 %, one of 10 %: how often that operation fails the gate, and how
/// often its interval misses the truth.
pub(crate) fn noisy_minority(pairs: usize) {
    for runs in [2, 3, 4, 5, 10] {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(40 + runs as u64);
        let (mut failed, mut missed) = (0, 0);
        for _ in 0..pairs {
            let mut drawn = || {
                let noise = |number| if number == 0 { 0.10 } else { 0.01 };
                let all = (0..OPERATIONS).map(|number| noisy(runs, noise(number), &mut random));
                side(all.collect::<Vec<_>>())
            };
            let found = compared(drawn(), drawn(), &Options::default());
            let first = &found.operations[0];
            failed += usize::from(first.change_type == ChangeType::Regression);
            let interval = first.judged.interval;
            missed += usize::from(interval.is_some_and(|[low, high]| low > 1.0 || high < 1.0));
        }
        let name = |what| format!("judge_noisy_minority/{runs}_runs/{what}");
        metric(&name("fails_the_gate"), percent(failed, pairs), "%");
        metric(&name("interval_misses"), percent(missed, pairs), "%");
    }
}

/// 49 operations have a noise of 10 %, one of 1 %: how often a slowdown of 8 % of that operation is
/// found, and how often a gate fails without a change.
pub(crate) fn quiet_minority(pairs: usize) {
    for runs in [5, 7, 10, 20, 40] {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(140 + runs as u64);
        let mut drawn = |factor: f64| {
            let mut operation = |number| {
                let is_first = number == 0;
                let noise = if is_first { 0.01 } else { 0.10 };
                let factor = if is_first { factor } else { 1.0 };
                let medians = noisy(runs, noise, &mut random).into_iter();
                medians.map(|median| factor * median).collect()
            };
            side((0..OPERATIONS).map(&mut operation).collect::<Vec<_>>())
        };
        let (mut found, mut failed) = (0, 0);
        for _ in 0..pairs {
            let slower = compared(drawn(1.0), drawn(1.08), &Options::default());
            let first = slower.operations[0].change_type;
            found += usize::from(first == ChangeType::Regression);
            failed += usize::from(fails(&compared(
                drawn(1.0),
                drawn(1.0),
                &Options::default(),
            )));
        }
        let name = |what| format!("judge_quiet_minority/{runs}_runs/{what}");
        metric(&name("found"), percent(found, pairs), "%");
        metric(&name("false_gates"), percent(failed, pairs), "%");
    }
}

/// 20 operations with 3 % of noise, one slower by 7 %, by the number of runs; read exactly, and by
/// a clock with steps of 5 %.
pub(crate) fn by_runs(pairs: usize) {
    for (what, step) in [("fine_clock", 0.0), ("coarse_clock", 0.05)] {
        for runs in [5, 7, 9, 10, 11, 15, 20] {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(160);
            let mut drawn = |factor: f64| {
                let mut operation = |number| {
                    let factor = if number == 0 { factor } else { 1.0 };
                    let medians = noisy(runs, 0.03, &mut random).into_iter();
                    let read = |median: f64| match step > 0.0 {
                        true => (median / step).round() * step,
                        false => median,
                    };
                    medians.map(|median| read(factor * median)).collect()
                };
                side((0..20).map(&mut operation).collect::<Vec<_>>())
            };
            let found = (0..pairs).filter(|_| {
                let found = compared(drawn(1.0), drawn(1.07), &Options::default());
                found.operations[0].change_type == ChangeType::Regression
            });
            let name = format!("judge_by_runs/{what}/{runs}_runs");
            metric(&name, percent(found.count(), pairs), "%");
        }
    }
}

/// How often the requested runs decide, up to 250; more are reported as too many. One operation,
/// unchanged or slower, and half of these comparisons with ten runs.
pub(crate) fn runs_asked_for(pairs: usize) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(180);
    for noise in [0.03, 0.10] {
        for factor in [1.0, 1.02, 1.08, 1.15] {
            let (mut asked, mut decided) = (0, 0);
            for number in 0..pairs {
                let mut first = |runs| {
                    let mut drawn = |factor: f64| {
                        let medians = noisy(runs, noise, &mut random).into_iter();
                        side(vec![medians.map(|median| factor * median).collect()])
                    };
                    let (baseline, current) = (drawn(1.0), drawn(factor));
                    compared(baseline, current, &Options::default())
                        .operations
                        .remove(0)
                };
                let needed = first(5 + 5 * (number % 2)).judged.runs_needed;
                if let Some(needed) = needed.filter(|needed| *needed <= 250) {
                    asked += 1;
                    let verdict = first(needed as usize).change_type;
                    decided += usize::from(verdict != ChangeType::Inconclusive);
                }
            }
            let name = format!("judge_runs_asked_for/noise_{noise}/by_{factor}");
            metric(&name, percent(decided, asked.max(1)), "%");
        }
    }
}

/// Pairs that do not differ, by each metric.
pub(crate) fn metrics(pool: &Pool, pairs: usize) {
    let metrics = ["time", "mean", "p95", "p99", "total", "throughput"].map(Metric::from);
    let count = |what: &str, pair: &mut dyn FnMut() -> (Vec<Operation>, Vec<Operation>)| {
        let (mut failed, mut beside) = ([0; 6], 0);
        for _ in 0..pairs {
            let (baseline, current) = pair();
            for (metric, failed) in metrics.iter().zip(&mut failed) {
                let options = Options {
                    metric: metric.clone(),
                    ..Options::default()
                };
                let sides = [&baseline, &current].map(|side| {
                    let mut side = profile(side.clone());
                    let operations = side.operations.iter_mut();
                    for run in operations.flat_map(|operation| &mut operation.runs) {
                        // Marks the profile as a recorder's; otherwise it has no total.
                        run.nested_calls = Some(0);
                    }
                    side
                });
                let [before, after] = sides;
                let found = compared(before, after, &options);
                *failed += usize::from(fails(&found));
                if *metric == Metric::TIME {
                    let worse = |each: &breakeven_judge::OperationComparison| {
                        let mut beside = each.changed_beside();
                        beside.any(|change| change.change_type == ChangeType::Regression)
                    };
                    beside += usize::from(found.operations.iter().any(worse));
                }
            }
        }
        for (by, failed) in metrics.iter().zip(failed) {
            metric(
                &format!("judge_false_gates/{what}/{by}"),
                percent(failed, pairs),
                "%",
            );
        }
        let name = format!("judge_false_gates/{what}/mean_beside_time");
        metric(&name, percent(beside, pairs), "%");
    };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(60);
    count("pool", &mut || pool.draw(5, &mut random));
    for shape in SHAPES {
        count(shape.name(), &mut || {
            shape.pair(OPERATIONS, 5, 1.0, &mut random)
        });
    }
}

/// Five and ten runs per side, on the pool: which changes are detected, and which operations are
/// shown to be unchanged.
pub(crate) fn more_runs(pool: &Pool, pairs: usize) {
    for runs in [5, 10, 20] {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(80 + runs as u64);
        let (mut seen, mut failed) = (0, 0);
        let (mut unchanged, mut operations) = (0, 0);
        for _ in 0..pairs {
            let (baseline, current) = pool.draw(runs, &mut random);
            let same = compared(
                profile(baseline.clone()),
                profile(current.clone()),
                &Options {
                    threshold: Threshold::percent(50.0).expect("in range"),
                    ..Options::default()
                },
            );
            failed += usize::from(fails(&same));
            unchanged += same.get_summary().no_change_count;
            operations += same.operations.len();
            let mut slower = current;
            let samples = slower[0]
                .runs
                .iter_mut()
                .flat_map(|run| &mut run.samples_ns);
            samples.for_each(|sample| *sample *= 2.0);
            let found = compared(profile(baseline), profile(slower), &Options::default());
            seen += usize::from(found.operations[0].change_type == ChangeType::Regression);
        }
        let name = |what| format!("judge_pool_by_runs/{runs}_runs/{what}");
        metric(&name("sees_a_doubling"), percent(seen, pairs), "%");
        let unchanged = percent(unchanged, operations);
        metric(&name("no_change_within_50_percent"), unchanged, "%");
        metric(&name("false_gates"), percent(failed, pairs), "%");
    }
}

/// One run per side, and operations with a noise from 0.5 to 15 %, known from ten earlier profiles
/// of one run each.
pub(crate) fn known_noise(pairs: usize) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(100);
    let (mut by_history, mut seen) = (0, 0);
    for _ in 0..pairs {
        let noises: Vec<f64> = (0..OPERATIONS)
            .map(|_| 0.005 * 30f64.powf(random.random()))
            .collect();
        let mut drawn = |factor: f64| {
            let each = noises.iter().enumerate().map(|(number, noise)| {
                let factor = if number == 0 { factor } else { 1.0 };
                let mut medians = noisy(1, *noise, &mut random);
                medians.iter_mut().for_each(|median| *median *= factor);
                medians
            });
            side(each.collect::<Vec<_>>())
        };
        let history: Vec<Profile> = (0..10).map(|_| drawn(1.0)).collect();
        let (baseline, current) = (drawn(1.0), drawn(1.0));
        let slower = drawn(1.5);
        let known = Options {
            history,
            ..Options::default()
        };
        by_history += usize::from(fails(&compared(baseline.clone(), current, &known)));
        let found = compared(baseline, slower, &known);
        seen += usize::from(found.operations[0].change_type == ChangeType::Regression);
    }
    metric(
        "judge_known_noise/history/false_gates",
        percent(by_history, pairs),
        "%",
    );
    metric(
        "judge_known_noise/history/sees_half_as_long_again",
        percent(seen, pairs),
        "%",
    );
}

/// How often a common shift is reported: if there is one, if nothing changed, and if one operation
/// changed.
pub(crate) fn common_shift(pairs: usize) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(120);
    for (what, all, one) in [
        ("all_by_10_percent", 1.1, 1.0),
        ("none", 1.0, 1.0),
        ("one_by_50_percent", 1.0, 1.5),
    ] {
        let reported = (0..pairs).filter(|_| {
            let (baseline, mut current) = Shape::Plain.pair(9, 5, one, &mut random);
            let runs = current.iter_mut().flat_map(|operation| &mut operation.runs);
            let samples = runs.flat_map(|run| &mut run.samples_ns);
            samples.for_each(|sample| *sample *= all);
            let found = compared(profile(baseline), profile(current), &Options::default());
            found.common_shift.is_some()
        });
        let reported = reported.count();
        metric(
            &format!("judge_common_shift/{what}"),
            percent(reported, pairs),
            "%",
        );
    }
}
