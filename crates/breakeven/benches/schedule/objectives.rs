//! Regret of objectives other than time over an oracle that tries every strategy, and how
//! many deadlines are kept that can be: by Auto, and by the strategy that keeps most of them
//! for other batches of the same kind, which is what one choice can do that does not know
//! where in a batch the expensive tasks are.

use std::collections::BTreeMap;
use std::time::Duration;

use breakeven_schedule::plan::Model;

use crate::batches::Costs;
use breakeven::hardware::Fact;
use breakeven::plan::{ExecutionStrategy, Objective, Power, Prices, Resource, Tuning};
use breakeven::testing::{Scenario, Simulated};

use crate::batches::{Shape, TASK_NS, WORKERS, batch};
use crate::metric::{is_quick, metric};

/// Batches by which a point is learned, and those that are judged, exploring ones among
/// them.
const LEARNED: usize = 20;
const JUDGED: usize = 80;

/// Tasks of the batches.
const TASKS: [usize; 4] = [20, 100, 1_000, 10_000];

/// Other batches of a kind.
const DRAWS: u64 = 16;

/// How far times vary where they do.
const NOISE: f64 = 0.1;

/// Part of the tasks by which batches differ in number where they do.
const FEWER: f64 = 0.2;

/// Deadlines, as multiples of the least time that any strategy takes.
const DEADLINES: [f64; 4] = [1.15, 1.5, 2.5, 6.0];

/// A machine's power and prices: W of the CPU, W of the GPU, each at work and waiting, and
/// its prices.
struct Draws {
    name: &'static str,
    cpu: (f64, f64),
    gpu: (f64, f64),
    prices: &'static str,
}

/// A rented machine whose GPU is paid for by use, a workstation with a large card, a laptop
/// whose GPU saves, and a server whose idle power is most of it.
const MACHINES: [Draws; 4] = [
    Draws {
        name: "cloud",
        cpu: (200.0, 80.0),
        gpu: (300.0, 40.0),
        prices: "currency = \"EUR\"\n[cpu]\nper_hour = 0.4\nwhile_idle = true\n\
                 [[gpu]]\nper_hour = 2.0\nwhile_idle = false",
    },
    Draws {
        name: "workstation",
        cpu: (90.0, 15.0),
        gpu: (350.0, 30.0),
        prices: "currency = \"EUR\"\n[cpu]\nper_hour = 0.1\nwhile_idle = false\n\
                 [[gpu]]\nper_hour = 0.9\nwhile_idle = false",
    },
    Draws {
        name: "laptop",
        cpu: (45.0, 4.0),
        gpu: (30.0, 1.0),
        prices: "currency = \"EUR\"\n[cpu]\nper_hour = 0.3\nwhile_idle = false\n\
                 [[gpu]]\nper_hour = 0.1\nwhile_idle = false",
    },
    Draws {
        name: "server",
        cpu: (250.0, 180.0),
        gpu: (160.0, 110.0),
        prices: "currency = \"EUR\"\n[cpu]\nper_hour = 1.2\nwhile_idle = true\n\
                 [[gpu]]\nper_hour = 1.2\nwhile_idle = true",
    },
];

fn power((busy_watts, idle_watts): (f64, f64)) -> Fact<Power> {
    Fact::Known(Power {
        busy_watts,
        idle_watts,
    })
}

/// A batch of the grid.
struct Point {
    scenario: Scenario,
    shape: Shape,
    seed: u64,
    /// True where each batch has another number of tasks.
    differs: bool,
    /// What it has in common with others.
    slices: [String; 2],
}

/// Batches of the grid of so many tasks.
fn grid(tuning: &'static Tuning, asked: &[usize]) -> Vec<Point> {
    let mut points = Vec::new();
    for tasks in TASKS {
        for ratio in [0.1, 0.5, 1.0, 2.0, 10.0] {
            for launch_ns in [5e3, 500e3] {
                for shape in Shape::GRID {
                    for parallel in [0.95, 1.0] {
                        let seed = points.len() as u64;
                        let costs = shape.costs(tasks, seed);
                        let mut scenario = batch(costs, ratio, launch_ns, tuning);
                        scenario.parallelization = parallel;
                        points.push(Point {
                            scenario,
                            shape,
                            seed,
                            differs: false,
                            slices: [format!("{tasks}_tasks"), shape.name()],
                        });
                    }
                }
            }
        }
    }
    points.retain(|point: &Point| asked.contains(&point.scenario.tasks()));
    points
}

/// Every strategy that is known before: the devices alone, and splits in steps of 5 %.
fn all(scenario: &Scenario) -> Vec<Simulated> {
    let splits = (1..20).map(|part| ExecutionStrategy::hybrid(5 * part).expect("below 100 %"));
    let alone = [ExecutionStrategy::CpuOnly, ExecutionStrategy::GpuOnly];
    let strategies = alone.into_iter().chain(splits);
    let run = |strategy| {
        scenario
            .run(strategy, &mut Model::default())
            .expect("a strategy")
    };
    strategies.map(run).collect()
}

/// The place of the strategy that is done in time most often in other batches of a kind.
fn most_often(draws: &[Vec<Simulated>], within_ns: f64) -> usize {
    let kept = |place: &usize| {
        let in_time = |draw: &&Vec<Simulated>| draw[*place].makespan_ns <= within_ns;
        draws.iter().filter(in_time).count()
    };
    let strategies = draws.first().map_or(0, Vec::len);
    // Of equals the first: `max_by_key` takes the last.
    (0..strategies).rev().max_by_key(kept).unwrap_or(0)
}

/// What was judged: regrets, and deadlines that were kept.
#[derive(Default)]
struct Judged {
    regrets: BTreeMap<String, Vec<f64>>,
    kept: BTreeMap<String, (usize, usize)>,
    /// Those of one choice for all batches of a kind.
    foreseen: BTreeMap<String, (usize, usize)>,
}

impl Judged {
    fn regret(&mut self, name: &str, regret: f64) {
        let regrets = self.regrets.entry(name.to_owned()).or_default();
        regrets.push(regret.max(0.0));
    }

    fn kept(&mut self, name: &str, is_kept: bool) {
        count(&mut self.kept, name, is_kept);
    }
}

fn count(counts: &mut BTreeMap<String, (usize, usize)>, name: &str, is_kept: bool) {
    let (kept, all) = counts.entry(name.to_owned()).or_default();
    *kept += usize::from(is_kept);
    *all += 1;
}

/// Prints the regrets of warm batches, and the fraction of deadlines that were kept.
pub(crate) fn print(tuning: &'static Tuning) {
    let tasks: &[usize] = match is_quick() {
        true => &[20, 1_000],
        false => &TASKS,
    };
    let mut judged = Judged::default();
    for point in grid(tuning, tasks) {
        let oracle = all(&point.scenario);
        foresee(&point, &oracle, &mut judged);
        judge_point(point, &oracle, &mut judged);
    }
    for (name, mut regrets) in judged.regrets {
        regrets.sort_by(f64::total_cmp);
        let mean = regrets.iter().fold(0.0, |sum, regret| sum + regret) / regrets.len() as f64;
        let p95 = regrets[(regrets.len() - 1) * 95 / 100];
        metric(&format!("objective_regret{name}"), 100.0 * mean, "%");
        metric(&format!("objective_regret_p95{name}"), 100.0 * p95, "%");
    }
    for (of, counts) in [
        ("deadline_kept", judged.kept),
        ("deadline_kept_by_one_choice", judged.foreseen),
    ] {
        for (name, (kept, all)) in counts {
            metric(
                &format!("{of}{name}"),
                100.0 * kept as f64 / all as f64,
                "%",
            );
        }
    }
}

/// Mean regret of all objectives of batches of so many tasks, and the part of deadlines that
/// were kept; of the tightest where each batch has another number of tasks.
pub(crate) fn means(tuning: &'static Tuning, tasks: &[usize]) -> [(&'static str, f64); 4] {
    let judged = |deviation, differs| {
        let mut judged = Judged::default();
        for mut point in grid(tuning, tasks) {
            let oracle = all(&point.scenario);
            point.scenario.noise.deviation = deviation;
            point.differs = differs;
            judge_point(point, &oracle, &mut judged);
        }
        let kept = |name: &str| {
            let (kept, all) = judged.kept[name];
            kept as f64 / all as f64
        };
        let tightest = kept(&format!("/deadline_{}", DEADLINES[0]));
        let kept = [kept(""), tightest];
        (judged.regrets, kept)
    };
    let (regrets, [kept, _]) = judged(0.0, false);
    let regrets = &regrets[""];
    [
        (
            "objective_regret",
            regrets.iter().sum::<f64>() / regrets.len() as f64,
        ),
        ("deadline_kept", kept),
        ("deadline_kept/noisy", judged(NOISE, false).1[0]),
        ("tightest_kept/other_numbers", judged(0.0, true).1[1]),
    ]
}

fn least_ns(oracle: &[Simulated]) -> f64 {
    let times = oracle.iter().map(|run| run.makespan_ns);
    times.fold(f64::INFINITY, f64::min)
}

/// How many deadlines one choice for all batches of a kind keeps.
fn foresee(point: &Point, oracle: &[Simulated], judged: &mut Judged) {
    let scenario = &point.scenario;
    let draws: Vec<_> = (0..DRAWS)
        .map(|seed| {
            let costs = point.shape.costs(scenario.tasks(), u64::MAX - seed);
            let mut other = Scenario::new(costs, WORKERS);
            other.cpu_task_ns = TASK_NS;
            other.parallelization = scenario.parallelization;
            other.gpus.clone_from(&scenario.gpus);
            all(&other)
        })
        .collect();
    let least_ns = least_ns(oracle);
    for times in DEADLINES {
        let within_ns = times * least_ns;
        let is_kept = oracle[most_often(&draws, within_ns)].makespan_ns <= within_ns;
        let names = [
            format!("/deadline_{times}"),
            format!("/{}", point.slices[0]),
            String::new(),
        ];
        for name in names {
            count(&mut judged.foreseen, &name, is_kept);
        }
    }
}

/// Judges a point with every machine and objective.
fn judge_point(point: Point, oracle: &[Simulated], judged: &mut Judged) {
    let (mut scenario, slices) = (point.scenario, point.slices);
    let others = point.differs.then_some((point.shape, point.seed));
    let least_ns = least_ns(oracle);
    for machine in &MACHINES {
        scenario.cpu_power = power(machine.cpu);
        scenario.gpus[0].power = power(machine.gpu);
        scenario.prices = Some(Prices::from_toml(machine.prices).expect("prices"));
        for then in Resource::ALL {
            scenario.objective = then.into();
            let names = [then.to_string(), machine.name.to_owned()];
            let names = [&names[..], &slices[..]].concat();
            judge(
                (&scenario, others),
                oracle,
                (then, f64::INFINITY),
                &names,
                judged,
            );
            for times in DEADLINES {
                let within_ns = times * least_ns;
                #[expect(clippy::cast_sign_loss, reason = "a time")]
                let within = Duration::from_nanos(within_ns as u64);
                scenario.objective = Objective::Deadline { within, then };
                let names = [format!("deadline_{times}"), machine.name.to_owned()];
                let names = [&names[..], &slices[..]].concat();
                judge(
                    (&scenario, others),
                    oracle,
                    (then, within_ns),
                    &names,
                    judged,
                );
            }
        }
    }
}

/// Learns a point and judges warm batches of it.
fn judge(
    (scenario, others): (&Scenario, Option<(Shape, u64)>),
    oracle: &[Simulated],
    (resource, within_ns): (Resource, f64),
    names: &[String],
    judged: &mut Judged,
) {
    let spent = |run: &Simulated| scenario.spent(run, resource).expect("its draws are known");
    let in_time = oracle.iter().filter(|run| run.makespan_ns <= within_ns);
    let least = in_time.map(spent).fold(f64::INFINITY, f64::min);
    let (mut scenario, tasks, costs) = (scenario.clone(), scenario.tasks(), Costs::default());
    for number in 0..LEARNED + JUDGED {
        if let Some((shape, seed)) = others {
            // The parts lie evenly, however many there are: multiples of the golden ratio.
            let part = 1.0 - FEWER * (0.618_034 * number as f64).fract();
            #[expect(
                clippy::cast_sign_loss,
                clippy::cast_possible_truncation,
                reason = "fewer"
            )]
            let tasks = (part * tasks as f64).round() as usize;
            scenario = scenario.with_task_costs(shape.costs(tasks, seed));
        }
        scenario.noise.seed = number as u64;
        let run = scenario.run(ExecutionStrategy::Auto, &mut costs.borrow_mut());
        let run = run.expect("its draws are known");
        if number < LEARNED {
            continue;
        }
        let is_kept = run.makespan_ns <= within_ns;
        let names = names.iter().map(|name| format!("/{name}"));
        for name in names.chain([String::new()]) {
            if within_ns.is_finite() {
                judged.kept(&name, is_kept);
            }
            if is_kept {
                judged.regret(&name, spent(&run) / least - 1.0);
            }
        }
    }
}
