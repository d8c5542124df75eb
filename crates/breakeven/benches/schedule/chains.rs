//! How much longer a chain takes than in its best placement: where what its stages take was
//! learned from noisy runs, or is only known off by up to three times; and over a program's
//! runs, which learn it on the way.

use std::sync::Arc;
use std::time::SystemTime;

use breakeven::plan::{ChainCosts, Observation, Placement, RanOn, Tuning};
use breakeven::{Costs, Error, Operator, Stages, View};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, LogNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::metric::metric;

const CHAINS: usize = 2_000;
const GPUS: [&str; 2] = ["gpu one", "gpu two"];

/// Runs of each stage on each device from which what it takes is learned.
const RUNS: usize = 3;

/// A program's runs of one chain; after half of them a device may have become slower or faster.
const PROGRAM: usize = 400;

/// Programs with which that is tried.
const PROGRAMS: u64 = 1_000;

/// What going stage by stage costs, ns for each stage on a GPU: it is waited for.
const APART_NS: f64 = 30_000.0;

/// A stage of that name and nothing else.
struct Named(String);

impl Operator for Named {
    type In = f32;
    type Out = f32;

    fn name(&self) -> &str {
        &self.0
    }

    fn cpu(&self, _: &[View<'_, f32>], _: &mut [f32]) -> Result<(), Error> {
        Ok(())
    }
}

pub(crate) fn print() {
    for (name, noise) in [("5", 0.05), ("20", 0.2)] {
        regret(&format!("regret_chain/noise_{name}"), |random, _, truth| {
            let off = LogNormal::new(0.0, noise).expect("a spread");
            learned(random, truth, |random| off.sample(random))
        });
    }
    // Nothing was measured: each time is off by a factor of its own, up to three times.
    regret("regret_chain/cold", |random, costs, _| {
        let mut costs = costs.clone();
        for stage in &mut costs.stages {
            for time in stage.times.iter_mut().flatten() {
                time.ns *= 3_f64.powf(random.random_range(-1.0..1.0));
            }
        }
        costs
    });
    for (name, regret) in programs(Tuning::USUAL) {
        metric(&name, 100.0 * regret, "percent");
    }
}

/// Mean regrets over a program's runs: first ones, the others before a device changes, and
/// those after it did.
pub(crate) fn programs(tuning: &'static Tuning) -> Vec<(String, f64)> {
    let parts = [
        ("first_20", 0..20),
        ("then", 20..PROGRAM / 2),
        ("after_a_change", PROGRAM / 2..PROGRAM),
    ];
    let all: Vec<Vec<f64>> = (0..PROGRAMS).map(|seed| program(seed, tuning)).collect();
    let parts = parts.into_iter().map(|(name, part)| {
        let regrets = all.iter().flat_map(|regrets| &regrets[part.clone()]);
        let mean = regrets.sum::<f64>() / (PROGRAMS as usize * part.len()) as f64;
        (format!("regret_chain/{name}"), mean)
    });
    parts.collect()
}

/// The regret of each run of a program. What a first run of a stage on a GPU takes beside its
/// work, which compiles it, is no regret, as whoever uses the GPU pays it once; that it misleads
/// later runs is.
fn program(seed: u64, tuning: &Tuning) -> Vec<f64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut truth = truth(&mut random);
    let chain = chain_of(&truth);
    let costs = Costs::new();
    let noise = LogNormal::new(0.0, 0.1).expect("a spread");
    let compiling = 10_f64.powf(random.random_range(5.0..9.0));
    let changed = random.random_range(0..truth.devices.len());
    let by = 4_f64.powf(random.random_range(-1.0..1.0));
    let mut compiled = vec![vec![false; truth.devices.len()]; truth.stages.len()];
    let mut regrets = Vec::new();
    for run in 0..PROGRAM {
        if run == PROGRAM / 2 {
            for stage in &mut truth.stages {
                if let Some(time) = &mut stage.times[changed] {
                    time.ns *= by;
                }
            }
        }
        let mut known = costs.of_chain(&chain, &SHAPE, &GPUS, 1, |_, _| true);
        known.devices.clone_from(&truth.devices);
        let next = known
            .next_run(run as u64, tuning)
            .expect("it can run somewhere");
        let best = truth.place().expect("all is known").predicted_ns;
        let mut taken = truth
            .placed(&next.devices)
            .expect("all is known")
            .predicted_ns;
        let is_uniform = next.placement.as_ref().is_some_and(Placement::is_uniform);
        if next.is_measured || !is_uniform {
            for (place, &device) in next.devices.iter().enumerate() {
                let first = !std::mem::replace(&mut compiled[place][device], true);
                let extra = if first && device > 0 { compiling } else { 0.0 };
                let time = truth.stages[place].times[device].expect("all is known");
                let seen = time.ns * noise.sample(&mut random) + extra;
                saw(&costs, &chain, &truth, place, device, seen);
                taken += if device > 0 { APART_NS } else { 0.0 };
            }
        }
        regrets.push(taken / best - 1.0);
    }
    regrets
}

/// The regret of the placement by what `known` makes of the truth.
fn regret(
    name: &str,
    known: impl Fn(&mut Xoshiro256PlusPlus, &ChainCosts, &ChainCosts) -> ChainCosts,
) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(15);
    let mut all: Vec<f64> = (0..CHAINS)
        .map(|_| {
            let truth = truth(&mut random);
            let best = truth.place().expect("all is known").predicted_ns;
            let chosen = known(&mut random, &truth, &truth)
                .place()
                .expect("all is known");
            let device = |name: &String| {
                let mut devices = truth.devices.iter();
                devices
                    .position(|device| device.device == *name)
                    .expect("one of them")
            };
            let places = chosen.stages.iter().map(|stage| device(&stage.device));
            let taken = truth
                .placed(&places.collect::<Vec<_>>())
                .expect("all is known");
            taken.predicted_ns / best - 1.0
        })
        .collect();
    all.sort_unstable_by(f64::total_cmp);
    let mean = all.iter().sum::<f64>() / CHAINS as f64;
    metric(&format!("{name}/mean"), 100.0 * mean, "percent");
    metric(
        &format!("{name}/p95"),
        100.0 * all[CHAINS * 95 / 100],
        "percent",
    );
}

/// Two to eight stages of 0.1 to 10 ms on the CPU and a tenth to ten times that on GPUs,
/// with transfers of 0.05 to 5 ms between them.
fn truth(random: &mut Xoshiro256PlusPlus) -> ChainCosts {
    let stages = random.random_range(2..=8);
    let names = (0..stages).map(|stage| Arc::new(Named(format!("stage {stage}"))));
    let chain = Stages::joined(names.map(Stages::one));
    let costs = Costs::new();
    let mut truth = costs.of_chain(&chain, &SHAPE, &GPUS, 1, |_, _| true);
    let mut ten_to = |from: f64, to: f64| 10_f64.powf(random.random_range(from..to));
    for device in &mut truth.devices[1..] {
        let ns = ten_to(4.7, 6.7);
        for link in [&mut device.up, &mut device.down] {
            link.per_byte_ns = ns / truth.input_bytes as f64;
        }
    }
    for stage in &mut truth.stages {
        let cpu = ten_to(5.0, 7.0);
        for (place, time) in stage.times.iter_mut().enumerate() {
            let ns = if place == 0 {
                cpu
            } else {
                cpu * ten_to(-1.0, 1.0)
            };
            *time = Some(breakeven::plan::StageTime {
                ns,
                evidence: breakeven::plan::Evidence::Measured,
                observations: 1,
            });
        }
    }
    truth
}

const SHAPE: [&[usize]; 1] = [&[4, 262_144]];

/// The chain of those stages.
fn chain_of(truth: &ChainCosts) -> Stages {
    let names = truth.stages.iter();
    let names = names.map(|stage| Arc::new(Named(stage.name.clone())));
    Stages::joined(names.map(Stages::one))
}

/// The cost model sees what a stage took on a device.
#[expect(clippy::cast_sign_loss, reason = "times are above 0")]
fn saw(costs: &Costs, chain: &Stages, truth: &ChainCosts, place: usize, device: usize, ns: f64) {
    let name = &truth.stages[place].name;
    let operator = chain.iter().nth(place).expect("one of its stages");
    let memory = usize::try_from(operator.work(&SHAPE).bytes / 4).expect("it is small");
    let seen = Observation {
        at: SystemTime::now(),
        tasks: 4,
        ns: ns as u64,
        transfer_ns: None,
        workers: 1,
        shared: false,
    };
    match device.checked_sub(1) {
        None => costs.observe(name, memory, RanOn::Cpu, &seen),
        Some(gpu) => {
            let there = format!("{name} (on the device)");
            costs.observe(&there, memory, RanOn::Gpu(GPUS[gpu]), &seen);
        }
    }
}

/// What the cost model knows after some runs of each stage on each device.
fn learned(
    random: &mut Xoshiro256PlusPlus,
    truth: &ChainCosts,
    noise: impl Fn(&mut Xoshiro256PlusPlus) -> f64,
) -> ChainCosts {
    let (costs, chain) = (Costs::new(), chain_of(truth));
    for (place, stage) in truth.stages.iter().enumerate() {
        for (device, time) in stage.times.iter().enumerate() {
            for _ in 0..RUNS {
                let ns = time.expect("all is known").ns * noise(random);
                saw(&costs, &chain, truth, place, device, ns);
            }
        }
    }
    let mut known = costs.of_chain(&chain, &SHAPE, &GPUS, 1, |_, _| true);
    known.devices.clone_from(&truth.devices);
    for (known, truth) in known.stages.iter().zip(&truth.stages) {
        let observed = known
            .times
            .iter()
            .flatten()
            .all(|time| time.observations == RUNS as u64);
        assert!(
            observed && known.times.len() == truth.times.len(),
            "every time is learned"
        );
    }
    known
}
