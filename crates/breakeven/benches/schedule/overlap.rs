//! Batches in pieces that overlap on a GPU: the time of one launch over theirs, in virtual time
//! and, for the points named `real`, with threads and a simulated device in real time.

use std::sync::Arc;
use std::time::Duration;

use crate::batches::Costs;
use breakeven::execute::{RayonCpu, StrategyManager};
use breakeven::plan::{ExecutionStrategy, Tuning};
use breakeven::profile::recorder::Clock;
use breakeven::profile::stats::median;
use breakeven::testing::{Scenario, ScenarioGpu, SimulatedGpu, SimulatedSpec};

use crate::metric::metric;

/// Tasks of a batch.
const TASKS: usize = 10_000;

/// Time of a batch's tasks, all phases one after the other, ns.
const WORK_NS: f64 = 1e8;

/// What a launch costs, as a part of that.
const LAUNCHES: [f64; 3] = [0.001, 0.003, 0.01];

/// Batches until it is known what a launch costs and how far pieces overlap.
const WARM: usize = 12;

/// Batches whose mean is reported.
const MANY: usize = 100;

/// How far times vary where they do.
const NOISE: f64 = 0.1;

/// The phases of a device with equal ones.
const EQUAL: [f64; 2] = [1.0 / 3.0; 2];

/// Time of the tasks of a short batch, which takes as long as its launch.
const SHORT_NS: f64 = 2e5;

fn scenario(launch: f64, copies: [f64; 2], tuning: &'static Tuning) -> Scenario {
    batch_of(WORK_NS, launch, copies, tuning)
}

/// A batch whose tasks take `work_ns`, a launch that part of it.
fn batch_of(work_ns: f64, launch: f64, copies: [f64; 2], tuning: &'static Tuning) -> Scenario {
    let mut scenario = Scenario::new((0..TASKS).map(|_| 1.0), 8);
    // The CPU would take fifty times as long.
    scenario.cpu_task_ns = 50.0 * 8.0 * work_ns / TASKS as f64;
    scenario.tuning = tuning;
    scenario.gpus = vec![ScenarioGpu {
        launch_ns: launch * work_ns,
        task_ns: work_ns / TASKS as f64,
        copies,
        ..ScenarioGpu::default()
    }];
    scenario
}

/// Time of equal pieces in a row, ns: what each phase waits for is the piece before, and its
/// own phase before.
fn ideal_ns(pieces: usize, launch_ns: f64, phases: [f64; 3]) -> f64 {
    let mut free = [0.0; 3];
    for _ in 0..pieces {
        let each = phases.map(|phase| phase / pieces as f64);
        let each = [each[0], each[1] + launch_ns, each[2]];
        free.iter_mut().zip(each).fold(0.0, |ready, (free, takes)| {
            *free = f64::max(ready, *free) + takes;
            *free
        });
    }
    free[2]
}

/// Of the batch that follows some others: how many times as fast as one launch it was, and the
/// ideal time of its pieces over its own.
fn warm(strategy: ExecutionStrategy, launch: f64, tuning: &'static Tuning) -> (f64, f64) {
    let scenario = scenario(launch, EQUAL, tuning);
    let small = scenario.with_task_costs((0..TASKS / 4).map(|_| 1.0));
    let costs = Costs::default();
    let run = |scenario: &Scenario, strategy| {
        scenario
            .run(strategy, &mut costs.borrow_mut())
            .expect("it runs")
    };
    for _ in 0..2 {
        run(&small, ExecutionStrategy::GpuOnly);
        run(&scenario, ExecutionStrategy::GpuOnly);
    }
    (0..WARM).for_each(|_| _ = run(&scenario, strategy));
    let run = run(&scenario, strategy);
    let launch_ns = launch * WORK_NS;
    let ideal = ideal_ns(run.launches, launch_ns, [WORK_NS / 3.0; 3]);
    let alone = launch_ns + WORK_NS;
    (alone / run.makespan_ns, ideal / run.makespan_ns)
}

/// The least gain over what launches cost.
pub(crate) fn least_gain(tuning: &'static Tuning) -> f64 {
    let gains = LAUNCHES.map(|launch| warm(ExecutionStrategy::GpuOnly, launch, tuning).0);
    gains.into_iter().fold(f64::INFINITY, f64::min)
}

/// Times of batches over one launch's: the mean and the worst.
fn over_one(mut scenario: Scenario, costs: &Costs) -> (f64, f64) {
    let gpu = &scenario.gpus[0];
    let one = TASKS as f64 * gpu.task_ns + gpu.launch_ns;
    let times = (0..MANY).map(|seed| {
        scenario.noise.seed = seed as u64;
        let run = scenario.run(ExecutionStrategy::GpuOnly, &mut costs.borrow_mut());
        run.expect("it runs").makespan_ns / one
    });
    let times: Vec<f64> = times.collect();
    let mean = times.iter().sum::<f64>() / MANY as f64;
    (mean, times.into_iter().fold(0.0, f64::max))
}

/// Means with noise: where nothing overlaps, where pieces do, and where they come to overlap
/// of which batches before said that they do not, as when another program used what copies.
/// And of short batches of one size, in which nothing shows the launch cost.
pub(crate) fn noisy(tuning: &'static Tuning) -> [(&'static str, f64); 4] {
    let mean = |devices: &[[f64; 2]]| {
        let means = LAUNCHES.map(|launch| {
            let costs = Costs::default();
            let means = devices.iter().map(|&copies| {
                let mut scenario = scenario(launch, copies, tuning);
                scenario.noise.deviation = NOISE;
                over_one(scenario, &costs).0
            });
            means.last().unwrap_or(f64::NAN)
        });
        means.iter().sum::<f64>() / means.len() as f64
    };
    let mut short = batch_of(SHORT_NS, 1.0, [0.0; 2], tuning);
    short.noise.deviation = NOISE;
    [
        ("short", over_one(short, &Costs::default()).0),
        ("serial", mean(&[[0.0; 2]])),
        ("equal", mean(&[EQUAL])),
        ("comes", mean(&[[0.0; 2], EQUAL])),
    ]
}

pub(crate) fn print(tuning: &'static Tuning) {
    metric("overlap_gain", least_gain(tuning), "times");
    let (mut least, mut worst) = (f64::INFINITY, 0.0_f64);
    for launch in LAUNCHES {
        let percent = 100.0 * launch;
        for (name, strategy) in [
            ("gpu_only", ExecutionStrategy::GpuOnly),
            ("auto", ExecutionStrategy::Auto),
        ] {
            let (gain, of_ideal) = warm(strategy, launch, tuning);
            metric(
                &format!("overlap_gain/{name}/launch_{percent:.1}%"),
                gain,
                "times",
            );
            if strategy == ExecutionStrategy::GpuOnly {
                least = least.min(of_ideal);
            }
        }
        let serial = scenario(launch, [0.0; 2], tuning);
        let (mean, most) = over_one(serial, &Costs::default());
        metric(
            &format!("overlap_serial_mean/launch_{percent:.1}%"),
            mean,
            "of_one_launch",
        );
        worst = worst.max(most);
    }
    metric("overlap_of_ideal", least, "");
    metric("overlap_serial_worst", worst, "of_one_launch");
    for (name, value) in noisy(tuning) {
        metric(
            &format!("overlap_noisy_mean/{name}"),
            value,
            "of_one_launch",
        );
    }
    for overlaps in [true, false] {
        real(overlaps);
    }
}

/// The same with threads, in real time: 300 tasks of 100 µs in each phase.
fn real(overlaps: bool) {
    const MICROS: u64 = 100;
    let tasks: Vec<u64> = (0..300).collect();
    let phase = Duration::from_micros(MICROS);
    let spec = SimulatedSpec {
        overlaps,
        name: format!("overlap {overlaps}"),
        ..SimulatedSpec::new(phase, phase).with_transfer(1e9, MICROS * 1000, MICROS * 1000)
    };
    let gpu = SimulatedGpu::new(spec, |task: &u64| task + 1);
    let manager = StrategyManager::new(Arc::new(RayonCpu::current()), Arc::new(gpu))
        .with_costs(Arc::new(breakeven::Costs::new()))
        .with_strategy(ExecutionStrategy::GpuOnly);
    let clock = Clock::new();
    let (mut times, mut pieces) = (Vec::new(), 1);
    for _ in 0..WARM + 30 {
        let began = clock.now();
        let result = manager.operation("overlap").map(&tasks, |task| task + 1);
        times.push(clock.ns_since(began) as f64);
        pieces = result.expect("nothing fails").gpu.spans;
    }
    let phase_ns = phase.as_nanos() as f64;
    let work = [phase_ns * tasks.len() as f64; 3];
    let one = phase_ns + work.iter().sum::<f64>();
    let last = median(&times[WARM..]).expect("there are batches");
    match overlaps {
        true => {
            metric("overlap_gain/real", one / last, "times");
            metric(
                "overlap_of_ideal/real",
                ideal_ns(pieces, phase_ns, work) / last,
                "",
            );
        }
        false => metric("overlap_serial/real", last / one, "of_one_launch"),
    }
}
