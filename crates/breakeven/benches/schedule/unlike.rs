//! Regret of batches whose tasks are others each time, as requests or pictures of many sizes
//! are: the times of earlier batches predict the next one only on average.

use crate::batches::Costs;
use breakeven::plan::{ExecutionStrategy, Tuning};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1, LogNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::batches::{batch, run};
use crate::foresight::{Times, best_on_average, least, times};
use crate::metric::{is_quick, metric};

/// Batches by which it is learned, and batches that are judged.
const LEARNED: usize = 5;
const JUDGED: usize = 40;

/// Costs of the tasks of a batch.
type Draw = fn(&mut Xoshiro256PlusPlus) -> f64;

const KINDS: [(&str, Draw); 3] = [
    ("exponential", |random| Exp1.sample(random)),
    // Nine tenths of the tasks have a tenth of the work.
    ("one_in_ten_expensive", |random| {
        match random.random_bool(0.1) {
            true => 9.0,
            false => 1.0 / 9.0,
        }
    }),
    ("log_normal", |random| {
        let of_two = LogNormal::new(0.0, 2.0);
        of_two.expect("a spread is positive").sample(random)
    }),
];

/// Of each kind the regret of Auto, by tasks, beside that of the one strategy that was best on
/// average over the same batches, which nobody knows before.
pub(crate) fn print(tuning: &'static Tuning) {
    let tasks: &[usize] = match is_quick() {
        true => &[20, 1_000],
        false => &[20, 100, 1_000, 10_000],
    };
    for (kind, draw) in KINDS {
        for &tasks in tasks {
            let (mut auto, mut one_choice) = regrets(tuning, draw, tasks);
            let name = format!("{kind}/{tasks}_tasks");
            print_one(&name, &mut auto);
            print_one(&format!("without_foresight/{name}"), &mut one_choice);
        }
    }
}

/// The mean regret of Auto over all kinds.
pub(crate) fn mean(tuning: &'static Tuning, tasks: usize) -> f64 {
    let kinds = KINDS
        .iter()
        .flat_map(|(_, draw)| regrets(tuning, *draw, tasks).0);
    mean_of(&kinds.collect::<Vec<f64>>())
}

/// Regrets of Auto, and of the best choice.
fn regrets(tuning: &'static Tuning, draw: Draw, tasks: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut auto, mut one_choice) = (Vec::new(), Vec::new());
    for ratio in [0.1, 1.0, 10.0, 50.0] {
        for launch_ns in [5e3, 50e3, 500e3] {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(tasks as u64);
            let costs = Costs::default();
            let mut next = || {
                let work: Vec<f64> = (0..tasks).map(|_| draw(&mut random)).collect();
                let scenario = batch(work, ratio, launch_ns, tuning);
                let took = run(&scenario, ExecutionStrategy::Auto, &costs);
                (scenario, took)
            };
            for _ in 0..LEARNED {
                let _ = next();
            }
            let judged: Vec<(Times, f64)> = (0..JUDGED)
                .map(|_| next())
                .map(|(scenario, took)| (times(&scenario), took))
                .collect();
            auto.extend(judged.iter().map(|(all, took)| regret(*took, all)));
            let (all, _): (Vec<Times>, Vec<f64>) = judged.into_iter().unzip();
            let best = best_on_average(&all);
            one_choice.extend(all.iter().map(|all| regret(all[best], all)));
        }
    }
    (auto, one_choice)
}

fn regret(took: f64, all: &Times) -> f64 {
    (took / least(all) - 1.0).max(0.0)
}

fn print_one(name: &str, regrets: &mut [f64]) {
    regrets.sort_by(f64::total_cmp);
    let mean = mean_of(regrets);
    let p95 = regrets[(regrets.len() - 1) * 95 / 100];
    metric(&format!("unlike_mean/{name}"), 100.0 * mean, "%");
    metric(&format!("unlike_p95/{name}"), 100.0 * p95, "%");
}

fn mean_of(regrets: &[f64]) -> f64 {
    regrets.iter().sum::<f64>() / regrets.len() as f64
}
