//! How well batches are scheduled: efficiency of a split, what trouble costs, and
//! regret of Auto and of objectives, in virtual time on the executor's own schedule.
//!
//!     cargo bench -p breakeven --no-default-features --bench schedule [-- --quick | --ablate [NAME[=VALUE]…]]
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
#[path = "schedule/chains.rs"]
mod chains;
#[path = "schedule/efficiency.rs"]
mod efficiency;
#[path = "schedule/foresight.rs"]
mod foresight;
#[path = "schedule/hindered.rs"]
mod hindered;
#[path = "schedule/noisy.rs"]
mod noisy;
#[path = "schedule/objectives.rs"]
mod objectives;
#[path = "schedule/overlap.rs"]
mod overlap;
#[path = "schedule/regret.rs"]
mod regret;
#[path = "schedule/trouble.rs"]
mod trouble;
#[path = "schedule/unlike.rs"]
mod unlike;

use breakeven::plan::Tuning;

fn main() {
    let only: Vec<String> = std::env::args()
        .skip(1)
        .filter(|name| !name.starts_with("--"))
        .collect();
    let wanted = |name: &str| only.is_empty() || only.iter().any(|only| only == name);
    let tuning = Tuning::USUAL;
    if std::env::args().any(|argument| argument == "--ablate") {
        ablate::print(&only);
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
    if wanted("unlike") {
        unlike::print(tuning);
    }
    if wanted("hindered") {
        hindered::print(tuning);
    }
    if wanted("noisy") {
        noisy::print(tuning);
    }
    if wanted("overlap") {
        overlap::print(tuning);
    }
    if wanted("objectives") {
        objectives::print(tuning);
    }
    if wanted("chains") {
        chains::print();
    }
}
