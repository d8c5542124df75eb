//! Measures how far the estimates of an audit are from what resampling finds: the smallest change
//! that a rule and `compare` see in four of five pairs of results.

use breakeven_judge::ChangeType;
use breakeven_judge::audit::{Rule, audit};
use breakeven_judge::compare::{Options, compare};
use breakeven_profile::profile::{Operation, Profile, Run};
use breakeven_profile::stats::median;
use rand::SeedableRng;
use rand_distr::{Distribution, Normal};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::metric::metric;
use crate::pool::Pool;

/// Results of a past.
const ENTRIES: usize = 60;

/// Earlier results that `compare` gets beside a pair, as in an audit.
const HISTORY: usize = 50;

/// A source of A/A results of some operations: one result of that many runs.
type Draw<'d> = dyn FnMut(usize) -> Vec<Operation> + 'd;

pub(crate) fn audits(pool: &Pool, pairs: usize) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    check("pool", pairs, &mut |runs| pool.draw(runs, &mut random).0);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(8);
    for percent in [1, 3, 10] {
        let noise = Normal::new(0.0, f64::from(percent) / 100.0).expect("a spread");
        check(&format!("noise_of_{percent}"), pairs, &mut |runs| {
            let mut run = || Run {
                samples_ns: vec![1e6 * noise.sample(&mut random).exp()],
                ..Run::default()
            };
            let operation = |place: u32| Operation {
                runs: (0..runs).map(|_| run()).collect(),
                ..Operation::new(format!("f{place}"), "cpu")
            };
            (0..10).map(operation).collect()
        });
    }
}

fn check(what: &str, pairs: usize, draw: &mut Draw<'_>) {
    let rule: Rule = "mean > 5%".parse().expect("a rule");
    for runs in [1, 5] {
        let mut result = || Profile {
            operations: draw(runs),
            ..Profile::default()
        };
        let past: Vec<Profile> = (0..ENTRIES).map(|_| result()).collect();
        let found = audit(&past, &rule).expect("there are results");
        let operations = past[0].operations.len();
        let mut truths = [Vec::new(), Vec::new()];
        for place in 0..operations {
            let drawn: Vec<[Operation; 2]> = (0..pairs)
                .map(|_| [0, 1].map(|_| result().operations.swap_remove(place)))
                .collect();
            let history = past[..HISTORY]
                .iter()
                .map(|entry| of(&entry.operations[place]));
            let options = Options {
                threshold: rule.threshold,
                metric: rule.metric.clone(),
                history: history.collect(),
                ..Options::default()
            };
            let limit = 1.0 + rule.threshold.as_fraction();
            let by_rule = |[before, after]: [&Operation; 2]| mean(after) > limit * mean(before);
            let by_compare = |[before, after]: [&Operation; 2]| {
                let sides = [before, after].map(of);
                compare(&sides[..1], &sides[1..], &options)
                    .is_ok_and(|found| found.operations[0].change_type == ChangeType::Regression)
            };
            truths[0].push(seen_from(&drawn, &by_rule));
            truths[1].push(seen_from(&drawn, &by_compare));
        }
        let judges = [("rule", found.by_rule), ("compare", found.by_compare)];
        for ((name, judge), truths) in judges.into_iter().zip(truths) {
            let truth = median(&truths).expect("there are operations");
            let name = format!("{what}/{runs}_runs/{name}");
            metric(&format!("audit_seen_from/{name}"), 100.0 * truth, "%");
            if let Some(estimate) = judge.sees_from {
                let error = (estimate / truth - 1.0).abs();
                metric(&format!("audit_error/{name}"), 100.0 * error, "%");
            }
        }
    }
}

fn of(operation: &Operation) -> Profile {
    Profile {
        operations: vec![operation.clone()],
        ..Profile::default()
    }
}

fn mean(operation: &Operation) -> f64 {
    let runs = operation.runs.iter();
    let means = runs.map(|run| run.samples_ns.iter().sum::<f64>() / run.samples_ns.len() as f64);
    means.sum::<f64>() / operation.runs.len() as f64
}

/// The change, a fraction, that is seen in four of five pairs: by halving.
fn seen_from(pairs: &[[Operation; 2]], sees: &dyn Fn([&Operation; 2]) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..16 {
        let change = f64::midpoint(low, high);
        let seen = pairs.iter().filter(|[before, after]| {
            let mut slower = after.clone();
            let runs = slower.runs.iter_mut();
            let samples = runs.flat_map(|run| &mut run.samples_ns);
            samples.for_each(|ns| *ns *= 1.0 + change);
            sees([before, &slower])
        });
        match seen.count() * 5 >= pairs.len() * 4 {
            true => high = change,
            false => low = change,
        }
    }
    high
}
