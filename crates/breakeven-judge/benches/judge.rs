//! Measures how often a comparison raises a false alarm, and how often it detects a change.
//!
//!     cargo bench -p breakeven-judge --bench judge [-- --quick] [--only TABLE]
//!
//! First, pairs of sides that do not differ (A/A), five runs per side: from a pool of real runs,
//! and synthetic with the difficulties of real runs. Then pairs in which one operation is slower by
//! a known fraction, and pairs with unequal noise, which mislead a judge. Each pair goes through
//! `compare` with its defaults, and through the two most common alternatives. `docs/judging.md`
//! explains the figures.
#![allow(
    clippy::print_stdout,
    missing_docs,
    reason = "a bench prints its figures; its parts are in its own folder"
)]

#[path = "judge/ab.rs"]
mod ab;
#[path = "judge/audit.rs"]
mod audit;
#[path = "judge/methods.rs"]
mod methods;
#[path = "../../../bench/metric.rs"]
mod metric;
#[path = "judge/pool.rs"]
mod pool;
#[path = "judge/rare.rs"]
mod rare;
#[path = "judge/synthetic.rs"]
mod synthetic;
#[path = "judge/threshold.rs"]
mod threshold;

use std::time::Instant;

use breakeven_judge::compare::{Options, compare};
use breakeven_profile::profile::{Operation, Profile, Run};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use methods::{METHODS, Verdicts};
use metric::{is_quick, metric, write_profile};
use pool::Pool;
use synthetic::{CV, SHAPES, Shape};

/// Runs per side.
const RUNS: usize = 5;

fn main() {
    let parts = if is_quick() { 20 } else { 1 };
    let pool = Pool::read();
    metric("judge_pool_runs", pool.len() as f64, "runs");
    metric("judge_pool_minutes", pool.minutes(), "min");
    let [quietest, noisiest] = pool.noise();
    metric("judge_pool_least_noise", 100.0 * quietest, "%");
    metric("judge_pool_most_noise", 100.0 * noisiest, "%");
    type Table<'t> = (&'t str, &'t dyn Fn());
    let tables: [Table<'_>; 16] = [
        ("pool", &|| false_alarms_on_the_pool(&pool, 200 / parts)),
        ("made_up", &|| false_alarms_on_made_up_pairs(200 / parts)),
        ("power", &|| power_on_made_up_pairs(2_000 / parts)),
        ("power_on_the_pool", &|| {
            power_on_the_pool(&pool, 400 / parts)
        }),
        ("two_states", &|| rare::two_states(1_000 / parts)),
        ("noisy_minority", &|| rare::noisy_minority(2_000 / parts)),
        ("quiet_minority", &|| rare::quiet_minority(500 / parts)),
        ("by_runs", &|| rare::by_runs(1_000 / parts)),
        ("runs_asked_for", &|| rare::runs_asked_for(1_000 / parts)),
        ("metrics", &|| rare::metrics(&pool, 200 / parts)),
        ("more_runs", &|| rare::more_runs(&pool, 400 / parts)),
        ("known_noise", &|| rare::known_noise(500 / parts)),
        ("common_shift", &|| rare::common_shift(500 / parts)),
        ("ab", &|| ab::ab(1_000 / parts)),
        ("audit", &|| audit::audits(&pool, 400 / parts)),
        ("threshold", &|| threshold::thresholds(400 / parts)),
    ];
    let mut arguments = std::env::args().skip_while(|argument| argument != "--only");
    let only = arguments.nth(1);
    for (name, table) in tables {
        if only.as_deref().is_none_or(|only| only == name) {
            table();
        }
    }
    cost(200 / parts);
}

/// Fraction of pairs in which a method reports any operation as slower, by method.
#[derive(Default)]
struct Alarms {
    pairs: usize,
    wrong: [usize; METHODS.len()],
    verdicts: Verdicts,
}

impl Alarms {
    fn count(&mut self, baseline: &[Operation], current: &[Operation]) {
        self.pairs += 1;
        for (method, wrong) in METHODS.iter().zip(&mut self.wrong) {
            let slower = method.slower(baseline, current, &mut self.verdicts);
            *wrong += usize::from(slower.contains(&true));
        }
    }

    fn print(&self, what: &str) {
        for (method, wrong) in METHODS.iter().zip(self.wrong) {
            let name = format!("judge_false_alarms/{what}/{method}");
            metric(&name, wrong as f64, &format!("of {} pairs", self.pairs));
        }
        let verdicts = &self.verdicts;
        let part = |count: usize| 100.0 * count as f64 / verdicts.operations.max(1) as f64;
        metric(
            &format!("judge_no_change/{what}"),
            part(verdicts.no_change),
            "%",
        );
        metric(
            &format!("judge_inconclusive/{what}"),
            part(verdicts.inconclusive),
            "%",
        );
    }
}

fn false_alarms_on_the_pool(pool: &Pool, pairs: usize) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut drawn = Alarms::default();
    for _ in 0..pairs {
        let (baseline, current) = pool.draw(RUNS, &mut random);
        drawn.count(&baseline, &current);
    }
    drawn.print("pool");
    let (mut in_turns, mut one_after_the_other) = (Alarms::default(), Alarms::default());
    for first in 0..=pool.len() - 2 * RUNS {
        let (baseline, current) = pool.in_turns(RUNS, first);
        in_turns.count(&baseline, &current);
        let (baseline, current) = pool.one_after_the_other(RUNS, first);
        one_after_the_other.count(&baseline, &current);
    }
    in_turns.print("pool_in_turns");
    one_after_the_other.print("pool_one_after_the_other");
}

fn false_alarms_on_made_up_pairs(pairs: usize) {
    for (number, shape) in SHAPES.iter().enumerate() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(100 + number as u64);
        let mut alarms = Alarms::default();
        for _ in 0..pairs {
            let (baseline, current) = shape.pair(50, RUNS, 1.0, &mut random);
            alarms.count(&baseline, &current);
        }
        alarms.print(shape.name());
    }
}

/// Fraction of pairs in which each method detects that the first operation is slower.
fn seen(pairs: usize, mut pair: impl FnMut() -> (Vec<Operation>, Vec<Operation>)) -> Vec<f64> {
    let mut seen = [0; METHODS.len()];
    for _ in 0..pairs {
        let (baseline, current) = pair();
        for (method, seen) in METHODS.iter().zip(&mut seen) {
            let slower = method.slower(&baseline, &current, &mut Verdicts::default());
            *seen += usize::from(slower[0]);
        }
    }
    seen.iter()
        .map(|seen| 100.0 * *seen as f64 / pairs as f64)
        .collect()
}

fn print_seen(what: &str, percent: u32, seen: &[f64]) {
    for (method, share) in METHODS.iter().zip(seen) {
        metric(
            &format!("judge_power/{what}/{percent}/{method}"),
            *share,
            "%",
        );
    }
}

fn power_on_made_up_pairs(pairs: usize) {
    metric("judge_power_between_run_cv", 100.0 * CV, "%");
    for operations in [50, 9] {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(operations as u64);
        for percent in 1..=20 {
            let factor = 1.0 + f64::from(percent) / 100.0;
            let shares = seen(pairs, || {
                Shape::Plain.pair(operations, RUNS, factor, &mut random)
            });
            print_seen(&format!("one_of_{operations}"), percent, &shares);
        }
    }
}

/// Real noise: one operation of a real pair is made slower by a known fraction.
fn power_on_the_pool(pool: &Pool, pairs: usize) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    for percent in [10, 15, 25, 50, 100] {
        let shares = seen(pairs, || {
            let (mut baseline, mut current) = pool.draw(RUNS, &mut random);
            let chosen = pool.any_operation(&mut random);
            baseline.swap(0, chosen);
            current.swap(0, chosen);
            for sample in current[0]
                .runs
                .iter_mut()
                .flat_map(|run| &mut run.samples_ns)
            {
                *sample *= 1.0 + f64::from(percent) / 100.0;
            }
            (baseline, current)
        });
        print_seen("pool", percent, &shares);
    }
}

/// Time of one comparison of fifty operations.
fn cost(pairs: usize) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut run = Run::default();
    for _ in 0..pairs {
        let (baseline, current) = Shape::Plain.pair(50, RUNS, 1.0, &mut random);
        let side = |operations| Profile {
            operations,
            ..Profile::default()
        };
        let (baseline, current) = (side(baseline), side(current));
        let start = Instant::now();
        let comparison = compare(&[baseline], &[current], &Options::default());
        let ns = start.elapsed().as_nanos();
        assert!(std::hint::black_box(comparison).is_ok());
        run.samples_ns.push(ns as f64);
    }
    let mut operation = Operation::new("compare", "cpu");
    operation.size = Some(50);
    operation.workload = Some("50 operations, 5 runs a side of 20 samples".to_owned());
    operation.runs.push(run);
    let summary = operation.summary().expect("there are samples");
    metric("judge_compare_us", summary.median / 1e3, "us");
    let operations = vec![operation];
    write_profile(
        "judge",
        Profile {
            operations,
            ..Profile::default()
        },
    );
}
