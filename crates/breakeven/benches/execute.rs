//! What deciding and running cost, beside the same work without breakeven.
//!
//! ```text
//! cargo bench -p breakeven --no-default-features --bench execute -- [--quick] [--only PART]
//! valgrind --tool=callgrind BINARY --count execute 41000 500
//! ```
//!
//! What is compared takes turns in one process, and ratios are made within a
//! turn, so that what others do on the machine meets both sides alike. Leave the
//! machine alone meanwhile all the same: a worker that loses its core shows.
#![allow(
    clippy::print_stdout,
    missing_docs,
    reason = "a bench prints its figures; its parts are in its own folder"
)]

#[path = "execute/allocator.rs"]
mod allocator;
#[path = "execute/count.rs"]
mod count;
#[path = "execute/cpu_only.rs"]
mod cpu_only;
#[path = "execute/decide.rs"]
mod decide;
#[path = "execute/exported.rs"]
mod exported;
#[path = "execute/fallback.rs"]
mod fallback;
#[path = "execute/memory.rs"]
mod memory;
#[path = "../../../bench/metric.rs"]
mod metric;
#[path = "execute/monitored.rs"]
mod monitored;
#[path = "execute/operators.rs"]
mod operators;
#[path = "execute/real.rs"]
mod real;
#[path = "execute/samples.rs"]
mod samples;
#[path = "execute/scaling.rs"]
mod scaling;
#[path = "execute/sharing.rs"]
mod sharing;
#[path = "execute/spin.rs"]
mod spin;

use breakeven::profile::get_profiler;
use breakeven::profile::profile::Profile;

use metric::{is_quick, metric, write_profile};

fn main() {
    if count::was_asked() {
        return;
    }
    let quick = is_quick();
    metric("load_average", load_average(), "");
    match argument_after("--only").as_deref() {
        None => all(quick),
        Some("decide") => _ = decide::decide(quick),
        Some("fallback") => _ = fallback::fallback(quick),
        Some("cpu_only") => _ = cpu_only::cpu_only(quick),
        Some("memory") => memory::memory(),
        Some("scaling") => scaling::scaling(quick),
        Some("operators") => operators::operators(quick),
        Some("real") => real::real(quick),
        Some("sharing") => sharing::sharing(quick),
        Some("monitor") => monitored::monitored(quick),
        Some("metrics") => exported::exported(quick),
        Some(part) => panic!(
            "--only {part:?}: it is one of decide, fallback, cpu_only, memory, scaling, operators, real, sharing, monitor, metrics"
        ),
    }
    metric("load_average_after", load_average(), "");
}

/// All parts, with their profiles for the gate: execute's, and of the same maps
/// without it.
fn all(quick: bool) {
    let environment = get_profiler(true).snapshot().environment;
    let mut operations = decide::decide(quick);
    operations.push(fallback::fallback(quick));
    let (executed, mapped) = cpu_only::cpu_only(quick);
    operations.extend(executed);
    memory::memory();
    scaling::scaling(quick);
    operators::operators(quick);
    real::real(quick);
    sharing::sharing(quick);
    monitored::monitored(quick);
    for (bench, operations) in [("execute", operations), ("execute_baseline", mapped)] {
        write_profile(
            bench,
            Profile {
                environment: environment.clone(),
                operations,
                ..Profile::default()
            },
        );
    }
}

/// What follows an option on the command line.
fn argument_after(option: &str) -> Option<String> {
    std::env::args()
        .skip_while(|argument| argument != option)
        .nth(1)
}

/// Threads that wanted a core in the last minute, this bench's own among them; 0
/// if the system does not report it.
fn load_average() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text.split(' ').next().unwrap_or_default();
    first.parse().unwrap_or(0.0)
}
