//! The runs that are planned, held against comparisons of simulated runs.

use breakeven_judge::compare::Options;
use breakeven_judge::{ChangeType, Noise, Threshold, planned_runs};
use breakeven_profile::profile::Run;
use rand::SeedableRng;
use rand_distr::{Distribution, Normal};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{compared, operation, profile, whole};

/// Comparisons that are simulated; their fractions are off by less than 4 % with it.
const COMPARISONS: u32 = 600;

fn five_percent() -> Threshold {
    Threshold::percent(5.0).unwrap()
}

/// The fraction of comparisons of `runs` a side that end in `verdict` where runs differ by
/// `noise` and the current side takes `ratio` times as long.
fn fraction(noise: f64, runs: u64, ratio: f64, verdict: ChangeType) -> f64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(runs);
    let normal = Normal::new(0.0, noise).unwrap();
    let mut side = |level: f64| {
        let median = |_| whole(level * f64::exp(normal.sample(&mut random)));
        profile([operation(
            "work",
            &(0..runs).map(median).collect::<Vec<_>>(),
        )])
    };
    let count = (0..COMPARISONS).filter(|_| {
        let (baseline, current) = (side(1e9), side(1e9 * ratio));
        let found = compared(&baseline, &current, &Options::default());
        found.operations[0].change_type == verdict
    });
    count.count() as f64 / f64::from(COMPARISONS)
}

#[test]
fn so_many_runs_see_that_nothing_changed_in_four_of_five_comparisons() {
    for noise in [0.02, 0.04, 0.08] {
        let planned = planned_runs(noise, five_percent(), 0.05).unwrap();
        let seen = fraction(noise, planned.runs, 1.0, ChangeType::NoChange);
        // Estimated noise makes the interval of some comparisons wider than the formula's.
        assert!((0.76..0.93).contains(&seen), "{noise}: {planned:?} {seen}");
        let fewer = fraction(noise, planned.runs / 2, 1.0, ChangeType::NoChange);
        assert!(fewer < 0.6, "{noise}: half of {planned:?} {fewer}");
    }
}

#[test]
fn a_change_from_which_it_is_seen_is_called_in_four_of_five_comparisons() {
    for noise in [0.02, 0.05] {
        let planned = planned_runs(noise, five_percent(), 0.05).unwrap();
        let change = 1.0 + planned.seen_from;
        let called = fraction(noise, planned.runs, change, ChangeType::Regression);
        assert!(
            (0.74..0.90).contains(&called),
            "{noise}: {planned:?} {called}"
        );
    }
}

#[test]
fn more_noise_takes_more_runs_and_a_larger_change_fewer() {
    let runs = |noise, percent| {
        let threshold = Threshold::percent(percent).unwrap();
        planned_runs(noise, threshold, 0.05).unwrap().runs
    };
    let noises = [0.001, 0.02, 0.03, 0.05, 0.1, 0.3];
    let needed = noises.map(|noise| runs(noise, 5.0));
    assert_eq!(needed[0], 4, "the fewest with which anything is called");
    assert!(
        needed.windows(2).all(|pair| pair[0] < pair[1]),
        "{needed:?}"
    );
    assert!(runs(0.05, 10.0) < runs(0.05, 5.0));
    for bad in [-0.1, f64::NAN, 1e9] {
        assert_eq!(planned_runs(bad, five_percent(), 0.05), None, "{bad}");
    }
}

#[test]
fn noise_is_that_inside_runs_and_that_between_them() {
    // Runs at e^-0.1, 1 and e^0.1, each with samples at e^-0.02, 1 and e^0.02 of it.
    let mut work = operation("work", &[]);
    work.runs = [-0.1f64, 0.0, 0.1]
        .map(|run| Run {
            samples_ns: [-0.02, 0.0, 0.02]
                .map(|it: f64| 1e6 * (run + it).exp())
                .to_vec(),
            ..Run::default()
        })
        .to_vec();
    let noise = Noise::of(&work).unwrap();
    assert_eq!((noise.runs, noise.samples), (3, 9));
    assert!((noise.within - 0.02).abs() < 1e-12, "{noise:?}");
    assert!((noise.between - 0.1).abs() < 1e-12, "{noise:?}");
    assert!((noise.typical_ns - 1e6).abs() < 1e-3, "{noise:?}");
    let [least, most] = noise.between_interval;
    assert!(least < 0.1 && 0.1 < most, "{noise:?}");
    work.runs.truncate(1);
    assert_eq!(
        Noise::of(&work),
        None,
        "one run shows nothing of how runs differ"
    );
    work.runs.push(Run {
        samples_ns: vec![0.0],
        ..Run::default()
    });
    assert_eq!(Noise::of(&work), None, "zero has no logarithm");
}

/// The table of docs/ci.md.
#[test]
fn the_thresholds_that_the_page_on_ci_names_are_those_that_so_many_runs_decide() {
    for (noise, thresholds) in [
        (0.01, [2.4, 1.5, 1.1]),
        (0.03, [7.3, 4.7, 3.2]),
        (0.05, [12.0, 8.0, 5.4]),
        (0.10, [26.0, 17.0, 11.0]),
    ] {
        for (runs, percent) in [5, 10, 20].into_iter().zip(thresholds) {
            let needed = |percent: f64| {
                let threshold = Threshold::percent(percent).unwrap();
                planned_runs(noise, threshold, 0.05).unwrap().runs
            };
            let (here, lower) = (needed(percent), needed(0.9 * percent));
            let what = format!("{noise}, {percent} %: {here} runs, {lower} for a tenth less");
            assert!(here <= runs + 1 && lower > runs, "{what}");
        }
    }
}
