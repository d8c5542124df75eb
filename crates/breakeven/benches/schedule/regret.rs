//! Regret of Auto over an oracle that tries every strategy.

use std::collections::BTreeMap;

use breakeven_schedule::plan::Model;

use crate::batches::Costs;

use breakeven::plan::ExecutionStrategy;
use breakeven::plan::Tuning;
use breakeven::testing::{Load, Scenario};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::batches::{Shape, batch, run};
use crate::foresight::{self, Alike, best_on_average, least, times};
use crate::metric::{is_quick, metric};

/// Regrets of one way to choose: of all points, and of those that have something
/// in common.
#[derive(Default)]
struct Regrets {
    all: Vec<f64>,
    slices: BTreeMap<String, Vec<f64>>,
}

impl Regrets {
    fn add(&mut self, took: f64, oracle: f64, slices: &[String]) {
        let regret = (took / oracle - 1.0).max(0.0);
        self.all.push(regret);
        for slice in slices {
            self.slices.entry(slice.clone()).or_default().push(regret);
        }
    }

    fn print(&mut self, name: &str) {
        print_one(name, &mut self.all);
        for (slice, regrets) in &mut self.slices {
            print_one(&format!("{name}/{slice}"), regrets);
        }
    }
}

fn print_one(name: &str, regrets: &mut [f64]) {
    regrets.sort_by(f64::total_cmp);
    let mean = regrets.iter().fold(0.0, |sum, regret| sum + regret) / regrets.len() as f64;
    let at = |part: usize| regrets[(regrets.len() - 1) * part / 100];
    metric(&format!("regret_mean/{name}"), 100.0 * mean, "%");
    metric(&format!("regret_median/{name}"), 100.0 * at(50), "%");
    metric(&format!("regret_p95/{name}"), 100.0 * at(95), "%");
}

/// Runs of a point that its warm regret is the mean of, each after three without
/// load.
const WARM_RUNS: usize = 5;

/// Other batches of the same kind that a choice without foresight is made by.
const OTHER_DRAWS: u64 = 2;

/// Other truths behind stated costs that a choice without foresight is made by.
const STATED_DRAWS: u64 = 12;

/// Tasks from which on less regret is asked for.
const MANY: usize = 1_000;

/// How far stated rates may be off, either way.
const MOST_OFF: f64 = 3.0;

/// A point of the grid: a batch without load, and what it has in common with others.
struct Point {
    number: u32,
    quiet: Scenario,
    shape: Shape,
    is_loaded: bool,
    /// What is known of it before it has run, without and with what a launch costs.
    looks: [String; 2],
    slices: Vec<String>,
}

fn grid(tuning: &'static Tuning, tasks: &[usize]) -> Vec<Point> {
    let mut points = Vec::new();
    for &tasks in tasks {
        for ratio in [0.02, 0.1, 0.5, 1.0, 2.0, 10.0, 50.0] {
            for launch_ns in [5e3, 50e3, 500e3, 10e6] {
                for shape in Shape::GRID {
                    for parallel in [0.0, 0.5, 0.95, 1.0] {
                        for is_loaded in [false, true] {
                            let number = u32::try_from(points.len()).expect("some thousands");
                            // Each point has a huge task elsewhere.
                            let costs = shape.costs(tasks, number.into());
                            let mut quiet = batch(costs, ratio, launch_ns, tuning);
                            quiet.parallelization = parallel;
                            let looks = format!("{tasks} {parallel}");
                            let mut slices = vec![
                                format!("{tasks}_tasks"),
                                shape.name(),
                                format!("parallel_{parallel}"),
                            ];
                            if tasks >= MANY {
                                slices.push(format!("from_{MANY}_tasks"));
                            }
                            points.push(Point {
                                number,
                                quiet,
                                shape,
                                is_loaded,
                                looks: [looks.clone(), format!("{looks} {launch_ns}")],
                                slices,
                            });
                        }
                    }
                }
            }
        }
    }
    points
}

/// Regret over an oracle that tries every strategy.
pub(crate) fn print(tuning: &'static Tuning) {
    let tasks: &[usize] = match is_quick() {
        true => &[5, 100, 1_000, 10_000],
        false => &[5, 20, 100, 1_000, 10_000, 100_000],
    };
    let points = grid(tuning, tasks);
    let mut regrets: BTreeMap<&str, Regrets> = BTreeMap::new();
    let mut alike: BTreeMap<String, Alike> = BTreeMap::new();
    for point in &points {
        let Point { quiet, slices, .. } = point;
        let mut scenario = quiet.clone();
        if point.is_loaded {
            scenario.cpu_load = half_way(&scenario);
        }
        let all = times(&scenario);
        let oracle = least(&all);
        for (name, looks) in ["cold", "cold_launch_stated"].into_iter().zip(&point.looks) {
            let alike = alike.entry(name.to_owned()).or_default();
            alike.add(looks.clone(), all.clone(), vec![all.clone()], slices);
        }
        let mut add =
            |name, took, oracle| regrets.entry(name).or_default().add(took, oracle, slices);
        let draws = draws(quiet, point.shape, point.number.into());
        add(
            "without_foresight/warm",
            all[best_on_average(&draws)],
            oracle,
        );
        let auto =
            |scenario: &Scenario, costs: &Costs| run(scenario, ExecutionStrategy::Auto, costs);
        add("cold", auto(&scenario, &Costs::default()), oracle);
        add(
            "cold_launch_stated",
            auto(&reporting(&scenario), &Costs::default()),
            oracle,
        );
        let off = off(point.number, 0);
        add("cold_operators", run_stated(&scenario, off), oracle);
        let draws = stated_draws(point, off);
        add(
            "without_foresight/cold_operators",
            all[best_on_average(&draws)],
            oracle,
        );
        let learned = |quiet: &Scenario| {
            let costs = Costs::default();
            for _ in 0..20 {
                let _ = auto(quiet, &costs);
            }
            costs
        };
        let costs = learned(quiet);
        let others = match point.is_loaded {
            true => Vec::new(),
            false => vec![
                (
                    another_size(point),
                    [
                        "second_size",
                        "second_size_launch_stated",
                        "without_foresight/second_size",
                    ],
                ),
                (
                    another_number(point),
                    [
                        "another_number",
                        "another_number_launch_stated",
                        "without_foresight/another_number",
                    ],
                ),
            ],
        };
        for (other, [name, launch_stated, without_foresight]) in others {
            let all = times(&other);
            let oracle = least(&all);
            let known = learned(quiet);
            let looks = match foresight::little_seen(&known, &other) {
                Some(seen) => format!("{} {seen} {}", point.looks[0], slices[1]),
                None => point.number.to_string(),
            };
            add(name, auto(&other, &known), oracle);
            let costs = learned(&reporting(quiet));
            add(launch_stated, auto(&reporting(&other), &costs), oracle);
            let draws = self::draws(&other, point.shape, point.number.into());
            add(without_foresight, all[best_on_average(&draws)], oracle);
            let alike = alike.entry(format!("{name}_by_what_was_seen")).or_default();
            alike.add(looks, all, draws, slices);
        }
        // Not one run, which may be one that tries another device.
        for _ in 0..WARM_RUNS {
            add("warm", auto(&scenario, &costs), oracle);
            for _ in 0..3 {
                let _ = auto(quiet, &costs);
            }
        }
        add("rule", run_rule(&scenario), oracle);
        let fixed = scenario.run_fixed(ExecutionStrategy::hybrid(70).expect("70 %"));
        add("hybrid_70_30", fixed.expect("a strategy"), oracle);
    }
    metric("regret_points", points.len() as f64, "");
    for (name, mut regrets) in regrets {
        regrets.print(name);
    }
    for (name, alike) in alike {
        let mut best = Regrets::default();
        alike.each(|took, oracle, slices| best.add(took, oracle, slices));
        best.print(&format!("without_foresight/{name}"));
    }
}

/// Batches after a first one whose launch compiles.
const AFTER_COMPILING: usize = 10;

/// Batches of tasks that the rule calls too small for a GPU by which it is learned that they
/// are not, and those that are judged.
const LEARNED_SMALL: usize = 20;

/// What a launch that compiles takes longer, ns.
const COMPILES_NS: f64 = 200e6;

/// Mean regrets of each kind of batch, of those of a kernel's first batches among them: the
/// very first launch compiles.
pub(crate) fn means(tuning: &'static Tuning, tasks: &[usize]) -> Vec<(&'static str, f64)> {
    let points = grid(tuning, tasks);
    let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for point in &points {
        let mut scenario = point.quiet.clone();
        if point.is_loaded {
            scenario.cpu_load = half_way(&scenario);
        }
        let oracle = least(&times(&scenario));
        let reporting_gpu = reporting(&scenario);
        let auto =
            |scenario: &Scenario, costs: &Costs| run(scenario, ExecutionStrategy::Auto, costs);
        let learned = || {
            let costs = Costs::default();
            for _ in 0..10 {
                let _ = auto(&point.quiet, &costs);
            }
            costs
        };
        let mut add = |name, took: f64, oracle: f64| {
            let (sum, count) = sums.entry(name).or_default();
            *sum += (took / oracle - 1.0).max(0.0);
            *count += 1.0;
        };
        add("warm", auto(&scenario, &learned()), oracle);
        add("cold", auto(&scenario, &Costs::default()), oracle);
        let stated = run_stated(&scenario, off(point.number, 0));
        add("cold_operators", stated, oracle);
        add(
            "cold_launch_stated",
            auto(&reporting_gpu, &Costs::default()),
            oracle,
        );
        if point.is_loaded {
            continue;
        }
        for (name, other) in [
            ("second_size", another_size(point)),
            ("another_number", another_number(point)),
        ] {
            add(name, auto(&other, &learned()), least(&times(&other)));
        }
        let (costs, mut small) = (Costs::default(), scenario.clone());
        small.memory_per_task = 1;
        for number in 0..2 * LEARNED_SMALL {
            let took = auto(&small, &costs);
            if number >= LEARNED_SMALL {
                add("too_small_by_the_rule", took, oracle);
            }
        }
        let (costs, mut compiles) = (Costs::default(), scenario.clone());
        compiles.gpus[0].launch_ns += COMPILES_NS;
        let _ = auto(&compiles, &costs);
        for _ in 0..AFTER_COMPILING {
            add("after_compiling", auto(&scenario, &costs), oracle);
        }
    }
    let mean = |(name, (sum, count))| (name, sum / count);
    sums.into_iter().map(mean).collect()
}

/// The same batch on a GPU that reports its launch cost.
fn reporting(scenario: &Scenario) -> Scenario {
    let mut reporting_gpu = scenario.clone();
    reporting_gpu.gpus[0].reports_launch = true;
    reporting_gpu
}

/// By what stated costs are wrong, even in its logarithm: of the CPU, of a launch, of a
/// task on the GPU.
fn off(point: u32, draw: u64) -> [f64; 3] {
    let seed = u64::from(point) + (7 + draw) * 1_000_000;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    [(); 3].map(|()| MOST_OFF.powf(random.random_range(-1.0..1.0)))
}

/// A first run by costs that an operator states: the true ones, each off by its factor.
fn run_stated(scenario: &Scenario, [cpu, launch, gpu]: [f64; 3]) -> f64 {
    let mut costs = scenario.stated_costs();
    if let Some(cost) = &mut costs.cpu {
        cost.per_task_ns *= cpu;
    }
    for cost in costs.gpus.iter_mut().filter_map(|gpu| gpu.cost.as_mut()) {
        cost.fixed_ns *= launch;
        cost.per_task_ns *= gpu;
    }
    let run = scenario.run_known(ExecutionStrategy::Auto, &costs);
    run.expect("the strategy is one").makespan_ns
}

/// Other truths for which the same costs would have been stated: how tasks differ and in
/// which order, and load in every second one, are not known.
fn stated_draws(point: &Point, stated: [f64; 3]) -> Vec<foresight::Times> {
    let other = |draw: u64| {
        let off = off(point.number, draw);
        let seed = u64::from(point.number) + draw * 1_000_000;
        let shape = Shape::GRID[seed as usize % Shape::GRID.len()];
        let mut other = point
            .quiet
            .with_task_costs(shape.costs(point.quiet.tasks(), seed));
        other.cpu_task_ns *= stated[0] / off[0];
        other.gpus[0].launch_ns *= stated[1] / off[1];
        other.gpus[0].task_ns *= stated[2] / off[2];
        if draw.is_multiple_of(2) {
            other.cpu_load = half_way(&other);
        }
        times(&other)
    };
    (1..=STATED_DRAWS).map(other).collect()
}

/// Batches of tasks of eight times the memory and time.
fn another_size(point: &Point) -> Scenario {
    let mut larger = another_draw(point, point.quiet.tasks());
    larger.memory_per_task *= 8;
    larger.cpu_task_ns *= 8.0;
    larger.gpus[0].task_ns *= 8.0;
    larger
}

/// Batches of eight times as many tasks, or an eighth.
fn another_number(point: &Point) -> Scenario {
    let tasks = point.quiet.tasks();
    another_draw(point, if tasks < 1_000 { 8 * tasks } else { tasks / 8 })
}

fn another_draw(point: &Point, tasks: usize) -> Scenario {
    let seed = u64::from(point.number) + 3_000_000;
    point.quiet.with_task_costs(point.shape.costs(tasks, seed))
}

/// What the rule alone says, kept to the end.
fn run_rule(scenario: &Scenario) -> f64 {
    let decision = scenario.run(ExecutionStrategy::Auto, &mut Model::default());
    let strategy = decision.expect("a strategy").decision.ruling.strategy;
    scenario.run_fixed(strategy).expect("a strategy")
}

/// Other batches of the same costs, each with its own order of tasks, and without
/// and with load from half-way on.
fn draws(quiet: &Scenario, shape: Shape, point: u64) -> Vec<foresight::Times> {
    let mut draws = Vec::new();
    for draw in 1..=OTHER_DRAWS {
        // Uniform tasks have one order.
        if draw > 1 && shape == Shape::Uniform {
            break;
        }
        let costs = shape.costs(quiet.tasks(), point + draw * 1_000_000);
        let mut other = quiet.with_task_costs(costs);
        draws.push(times(&other));
        other.cpu_load = half_way(&other);
        draws.push(times(&other));
    }
    draws
}

/// The CPU is half as fast from half-way on.
fn half_way(scenario: &Scenario) -> Option<Load> {
    let from_ns = 0.5 * scenario.ideal_ns();
    Some(Load {
        from_ns,
        times: 2.0,
    })
}
