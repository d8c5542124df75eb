//! Measures the cost of a recorded call, compared with two readings of the clock (the minimum of
//! any recorder), puffin, `tracing` and Tracy.
//!
//! All take turns in one process, a block of calls each, so that other load on the machine affects
//! all equally. Costs are the minimum over all blocks; the comparison with puffin is the median of
//! the blocks' ratios.
//!
//! ```text
//! cargo bench -p breakeven-profile --bench recorder -- [--quick]
//! cargo bench -p breakeven-profile --bench recorder --features compare-tracy
//! ```
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

use std::hint::black_box;
use std::sync::LazyLock;

use breakeven_profile::profile::{Environment, Operation, Profile, Run};
use breakeven_profile::recorder::{Clock, TracingLayer};
use breakeven_profile::stats::median;
use breakeven_profile::{get_profiler, scope};
use tracing_subscriber::layer::SubscriberExt;

#[path = "../../../bench/metric.rs"]
mod metric;

use metric::{is_quick, metric, write_profile};

/// Calls in a block.
const CALLS: u64 = 1_000;

static CLOCK: LazyLock<Clock> = LazyLock::new(Clock::new);

/// Something to measure: `calls` makes that many calls.
struct Contestant {
    name: &'static str,
    /// Recorded calls that one of its calls makes.
    guards: u64,
    before: fn(),
    calls: fn(u64),
    after: fn(),
    blocks_ns: Vec<u64>,
}

impl Contestant {
    fn new(name: &'static str, calls: fn(u64)) -> Self {
        Self {
            name,
            guards: 1,
            before: || (),
            calls,
            after: || (),
            blocks_ns: Vec::new(),
        }
    }

    fn around(mut self, before: fn(), after: fn()) -> Self {
        (self.before, self.after) = (before, after);
        self
    }

    /// Runs one block and returns ns; a few calls warm up.
    fn block(&mut self, clock: &Clock) {
        (self.before)();
        (self.calls)(50);
        let start = clock.now();
        (self.calls)(CALLS);
        self.blocks_ns.push(clock.ns_since(start));
        (self.after)();
    }

    /// The lowest cost of a call, ns.
    fn least_ns(&self) -> f64 {
        let least = self.blocks_ns.iter().min().copied().unwrap_or(u64::MAX);
        least as f64 / (CALLS * self.guards) as f64
    }
}

fn contestants() -> Vec<Contestant> {
    let mut all = vec![
        Contestant::new("loop", |calls| {
            for call in 0..calls {
                black_box(call);
            }
        }),
        Contestant::new("guard_floor", {
            |calls| {
                let clock = &*CLOCK;
                for _ in 0..calls {
                    black_box(clock.now());
                    black_box(clock.now());
                }
            }
        }),
        // What puffin reads.
        Contestant::new("os_clock_floor", |calls| {
            for _ in 0..calls {
                black_box(std::time::Instant::now());
                black_box(std::time::Instant::now());
            }
        }),
        Contestant::new("guard", |calls| {
            let _outer = scope!("bench outer");
            for call in 0..calls {
                let _s = scope!("bench");
                black_box(call);
            }
        }),
        Contestant::new("guard_off", |calls| {
            for call in 0..calls {
                let _s = scope!("bench off");
                black_box(call);
            }
        })
        .around(|| _ = get_profiler(false), || _ = get_profiler(true)),
        Contestant::new("guard_bytes", |calls| {
            let _outer = scope!("bench outer");
            for call in 0..calls {
                let _s = scope!("bench bytes", bytes = black_box(call));
            }
        }),
        Contestant::new("guard_size", |calls| {
            let _outer = scope!("bench outer");
            for call in 0..calls {
                let _s = scope!("bench size", size = black_box(64_u64));
                black_box(call);
            }
        }),
        Contestant::new("guard_attribute", |calls| {
            let _outer = scope!("bench outer");
            for call in 0..calls {
                let _s = scope!("bench attribute", codec = black_box("png"));
                black_box(call);
            }
        }),
        Contestant::new("closure", |calls| {
            let _outer = scope!("bench outer");
            let profiler = get_profiler(true);
            for call in 0..calls {
                profiler.measure("bench closure", || black_box(call));
            }
        }),
        Contestant::new("guard_timeline", |calls| {
            let _outer = scope!("bench outer");
            for call in 0..calls {
                let _s = scope!("bench timeline");
                black_box(call);
            }
        })
        .around(
            || get_profiler(true).timeline(1 << 14),
            || get_profiler(true).timeline(0),
        ),
        Contestant::new("puffin", |calls| {
            puffin::profile_scope!("bench outer");
            for call in 0..calls {
                puffin::profile_scope!("bench");
                black_box(call);
            }
        })
        .around(
            || puffin::set_scopes_on(true),
            // As in a game's loop: the recording goes to the sinks.
            || puffin::GlobalProfiler::lock().new_frame(),
        ),
        Contestant::new("puffin_outermost", |calls| {
            for call in 0..calls {
                puffin::profile_scope!("bench outermost");
                black_box(call);
            }
        })
        .around(
            || puffin::set_scopes_on(true),
            || puffin::GlobalProfiler::lock().new_frame(),
        ),
        Contestant::new("guard_outermost", |calls| {
            for call in 0..calls {
                let _s = scope!("bench outermost");
                black_box(call);
            }
        }),
        Contestant::new("tracing_layer", |calls| {
            for call in 0..calls {
                let _s = tracing::info_span!("bench").entered();
                black_box(call);
            }
        }),
    ];
    let mut nested = Contestant::new("guard_nested", |calls| {
        for call in 0..calls {
            let _outer = scope!("bench around");
            let _s = scope!("bench inside");
            black_box(call);
        }
    });
    nested.guards = 2;
    all.push(nested);
    #[cfg(feature = "compare-tracy")]
    all.push(Contestant::new("tracy", |calls| {
        for call in 0..calls {
            let _s = tracy_client::span!("bench");
            black_box(call);
        }
    }));
    all
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds = if is_quick() { 1_000 } else { 10_000 };
    let clock = Clock::new();
    puffin::GlobalProfiler::lock().add_sink(Box::new(|frame| {
        black_box(frame.meta().num_scopes);
    }));
    let subscriber = tracing_subscriber::registry().with(TracingLayer::new());
    tracing::subscriber::set_global_default(subscriber)?;
    #[cfg(feature = "compare-tracy")]
    let _tracy = tracy_client::Client::start();

    let mut all = contestants();
    for round in 0..rounds {
        // No recorder always follows the same one.
        let turn = round % all.len();
        all.rotate_left(turn);
        all.iter_mut().for_each(|each| each.block(&clock));
        all.rotate_right(turn);
    }
    print(&all)?;
    write(&all, &clock);
    Ok(())
}

fn of<'a>(all: &'a [Contestant], name: &str) -> &'a Contestant {
    let found = all.iter().find(|each| each.name == name);
    found.expect("a contestant of this bench")
}

fn print(all: &[Contestant]) -> Result<(), Box<dyn std::error::Error>> {
    for each in all {
        metric(&format!("{}_ns", each.name), each.least_ns(), "ns");
    }
    let least = |name| of(all, name).least_ns();
    let above = least("guard") - least("guard_floor");
    metric("guard_above_floor_ns", above, "ns");
    // What the recorder writes into profiles; compare with `guard`.
    if let Some(cost) = get_profiler(true).snapshot().environment.recorder {
        metric("guard_own_estimate_ns", cost.guard_ns, "ns");
        metric("guard_inside_ns", cost.inside_ns, "ns");
    }
    // The cost of each recorder in addition to two readings of its own clock.
    let puffin_above = least("puffin") - least("os_clock_floor");
    metric("guard_above_floor_vs_puffin", puffin_above / above, "x");
    for (name, ours, theirs) in [
        // One scope in a loop. If it is the outermost scope, puffin hands over its recording each
        // time; inside another scope it waits for the outer one.
        ("guard_vs_puffin", "guard_outermost", "puffin_outermost"),
        ("guard_vs_puffin_nested", "guard", "puffin"),
        ("guard_vs_tracing_layer", "guard", "tracing_layer"),
        #[cfg(feature = "compare-tracy")]
        ("guard_vs_tracy", "guard", "tracy"),
    ] {
        let (ours, theirs) = (&of(all, ours).blocks_ns, &of(all, theirs).blocks_ns);
        let pairs = theirs.iter().zip(ours);
        let ratios: Vec<f64> = pairs
            .map(|(theirs, ours)| *theirs as f64 / *ours as f64)
            .collect();
        metric(name, median(&ratios)?, "x");
    }
    Ok(())
}

/// The blocks as one run, in `target/metrics/recorder.json`.
fn write(all: &[Contestant], clock: &Clock) {
    let operations = all.iter().map(|each| {
        let mut operation = Operation::new(each.name, "cpu");
        operation.items = Some(CALLS * each.guards);
        operation.workload = Some(format!("{CALLS} calls"));
        operation.runs.push(Run {
            samples_ns: each.blocks_ns.iter().map(|ns| *ns as f64).collect(),
            ..Run::default()
        });
        operation
    });
    let profile = Profile {
        environment: Environment {
            clock: Some(clock.measure()),
            ..get_profiler(true).snapshot().environment
        },
        operations: operations.collect(),
        ..Profile::default()
    };
    write_profile("recorder", profile);
}
