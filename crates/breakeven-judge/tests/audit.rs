//! Past results through a rule and through `compare`.

use breakeven_judge::audit::{Rule, audit};
use breakeven_profile::profile::{Operation, Profile, Run};
use rand::SeedableRng;
use rand_distr::{Distribution, Normal};
use rand_xoshiro::Xoshiro256PlusPlus;

fn result(ms: f64) -> Profile {
    let run = Run {
        samples_ns: vec![1e6 * ms],
        ..Run::default()
    };
    Profile {
        operations: vec![Operation {
            runs: vec![run],
            ..Operation::new("parse", "cpu")
        }],
        ..Profile::default()
    }
}

fn rule(text: &str) -> Rule {
    text.parse().expect("a rule")
}

#[test]
fn a_step_stays_and_strays_come_back() {
    let level = |at: usize| match at {
        10 | 20 => 1.2,
        0..30 => 1.0,
        _ => 1.3,
    };
    let wave = |at: usize| 0.01 * (at as f64 * 2.4).sin();
    let past: Vec<Profile> = (0..40).map(|at| result(level(at) + wave(at))).collect();
    let found = audit(&past, &rule("mean > 5%")).expect("an audit");
    assert_eq!((found.changes, found.operations, found.runs), (39, 1, 1));
    assert_eq!((found.by_rule.stopped, found.by_rule.came_back), (3, 2));
    // A change larger than those that the noise hides.
    let seen = found.by_rule.sees_from.expect("known");
    assert!((0.05..0.08).contains(&seen), "{seen}");
}

#[test]
fn noise_alone_stops_a_rule_and_says_which_threshold_suits() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let noise = Normal::new(0.0, 0.08).expect("a spread");
    let past: Vec<Profile> = (0..200)
        .map(|_| result(f64::exp(noise.sample(&mut random))))
        .collect();
    let found = audit(&past, &rule("mean > 5%")).expect("an audit");
    // One in three neighbours differs by more.
    assert!((50..90).contains(&found.by_rule.stopped), "{found:?}");
    assert!(found.by_rule.came_back * 10 > found.by_rule.stopped * 8);
    assert!(found.by_compare.stopped < 12, "{found:?}");
    let deviation = found.noise.expect("known");
    assert!((0.07..0.09).contains(&deviation), "{deviation}");
    let (threshold, runs) = found.suggested.expect("one suits");
    assert!(threshold > 0.05 && runs <= 20, "{found:?}");
    assert!(found.runs_needed.is_some_and(|runs| runs > 20));
}

#[test]
fn less_is_worse_for_throughput() {
    let past = [1.0, 1.0, 1.3].map(result);
    let found = audit(&past, &rule("throughput > 10%")).expect("an audit");
    assert_eq!(found.by_rule.stopped, 1);
    let found = audit(&[1.3, 1.3, 1.0].map(result), &rule("throughput > 10%"));
    assert_eq!(found.expect("an audit").by_rule.stopped, 0);
}

#[test]
fn what_is_no_rule_and_no_past() {
    for text in ["mean", "mean > 5", "> 5%", "mean > 0%", "mean > x%", ""] {
        assert!(text.parse::<Rule>().is_err(), "{text:?}");
    }
    assert_eq!(rule(" p95>12.5 % ").to_string(), "p95 > 12.5 %");
    for past in [vec![], vec![result(1.0)]] {
        let error = audit(&past, &rule("mean > 5%")).expect_err("nothing to compare");
        assert!(error.to_string().contains("in two of"), "{error}");
    }
}
