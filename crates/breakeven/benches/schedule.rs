//! How well batches are scheduled: efficiency of a split, what trouble costs, and
//! regret of Auto, in virtual time on the executor's own schedule.
//!
//!     cargo bench -p breakeven --no-default-features --bench schedule [-- --quick | --ablate]
#![allow(
    clippy::print_stdout,
    missing_docs,
    reason = "a bench prints its figures"
)]

#[path = "../../../bench/metric.rs"]
#[allow(dead_code, reason = "virtual times are for no gate")]
mod metric;

#[path = "schedule/ablate.rs"]
mod ablate;
#[path = "schedule/batches.rs"]
mod batches;
#[path = "schedule/efficiency.rs"]
mod efficiency;
#[path = "schedule/foresight.rs"]
mod foresight;
#[path = "schedule/one.rs"]
mod one;
#[path = "schedule/points.rs"]
mod points;
#[path = "schedule/regret.rs"]
mod regret;
#[path = "schedule/trouble.rs"]
mod trouble;

use breakeven::schedule::Tuning;

fn main() {
    let only: Vec<String> = std::env::args()
        .skip(1)
        .filter(|name| !name.starts_with("--"))
        .collect();
    let wanted = |name: &str| only.is_empty() || only.iter().any(|only| only == name);
    let mut tuning = Tuning::USUAL;
    for pair in std::env::var("TUNE").unwrap_or_default().split(',').filter(|p| !p.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap();
        let v: f64 = value.parse().unwrap();
        match name {
            "worker_part" => tuning.worker_part = v,
            "caution" => tuning.caution = v,
            "sure_part" => tuning.sure_part = v,
            "guessed_part" => tuning.guessed_part = v,
            "stated_part" => tuning.stated_part = v,
            "worth_launches" => tuning.worth_launches = v,
            "rest" => tuning.rest = v,
            "growth" => tuning.growth = v,
            "patience" => tuning.patience = v,
            "marks" => tuning.marks = v as usize,
            "marks_cost" => tuning.marks_cost = v,
            "most_spread" => tuning.most_spread = v as f32,
            "mean_counts" => tuning.mean_counts = v,
            "rate_step" => tuning.rate_step = v,
            "failed_prediction" => tuning.failed_prediction = v,
            "most_delay" => tuning.most_delay = v,
            _ => panic!(),
        }
    }
    if wanted("points") && !only.is_empty() {
        let tasks: Vec<usize> = only[1..].iter().map(|t| t.parse().unwrap()).collect();
        points::print(tuning, &tasks);
        return;
    }
    if wanted("one") && !only.is_empty() {
        one::print(tuning, &only[1..]);
        return;
    }
    if std::env::args().any(|argument| argument == "--ablate") {
        ablate::print();
        return;
    }
    if wanted("efficiency") {
        efficiency::print(tuning);
    }
    if wanted("trouble") {
        trouble::print(tuning);
    }
    if wanted("regret") {
        regret::print(tuning);
    }
}
