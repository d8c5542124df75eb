//! How far simulated batches are from real ones: the same batches in turns in real time and
//! in virtual time.
//!
//!     cargo bench -p breakeven --no-default-features --bench simulator [-- --quick]
//!     cargo bench -p breakeven --bench simulator      also with Mesa's software GPU
//!     cargo bench -p breakeven --bench simulator -- real_gpu        the best GPU, recorded
//!     cargo bench -p breakeven --bench simulator -- replay FILE     what was recorded
//!
//! Each of ten batches after ten is a time, of several such rows; medians are compared. And
//! what Auto loses for real over the best of CPU, GPU and splits in steps of 10 %.
#![allow(
    clippy::print_stdout,
    missing_docs,
    reason = "a bench prints its figures"
)]

#[path = "../../../bench/metric.rs"]
#[allow(dead_code, reason = "times of two kinds are for no gate")]
mod metric;
#[cfg(feature = "gpu")]
#[path = "simulator/real_gpu.rs"]
mod real_gpu;
#[path = "simulator/regret.rs"]
mod regret;
#[path = "execute/spin.rs"]
mod spin;

use std::sync::Arc;
use std::time::{Duration, Instant};

use breakeven::Costs;
use breakeven::execute::{RayonCpu, StrategyManager};
use breakeven::plan::ExecutionStrategy;
use breakeven::profile::stats::{median, quantile};
use breakeven::testing::{Scenario, ScenarioGpu, SimulatedGpu, SimulatedSpec};
use breakeven_schedule::plan::Model;
use rayon::ThreadPoolBuilder;

use metric::{is_quick, metric};
use spin::{spin, steps_of};

/// Workers: as many as this machine is expected to have cores.
const WORKERS: usize = 2;

/// Batches until a cost model is warm, and those that are compared.
const WARM: usize = 10;

/// A batch of like tasks.
#[derive(Clone)]
struct Point {
    tasks: usize,
    task: Duration,
    strategy: ExecutionStrategy,
    gpu: Option<SimulatedSpec>,
}

fn main() {
    let rounds = if is_quick() { 3 } else { 9 };
    let mut cpu = Vec::new();
    for tasks in [4, 40, 400, 4_000] {
        for task_us in [3, 30, 300] {
            cpu.push(Point {
                tasks,
                task: Duration::from_micros(task_us),
                strategy: ExecutionStrategy::CpuOnly,
                gpu: None,
            });
        }
    }
    let mut with_gpu = Vec::new();
    for tasks in [40, 400, 4_000] {
        for (ratio, launch_us) in [(0.5, 50), (2.0, 50), (10.0, 500)] {
            for strategy in [
                ExecutionStrategy::GpuOnly,
                ExecutionStrategy::hybrid(50).expect("50 %"),
                ExecutionStrategy::Auto,
            ] {
                let task = Duration::from_micros(40);
                let launch = Duration::from_micros(launch_us);
                with_gpu.push(Point {
                    tasks,
                    task,
                    strategy,
                    gpu: Some(SimulatedSpec::new(
                        launch,
                        task.div_f64(WORKERS as f64 * ratio),
                    )),
                });
            }
        }
    }
    let only: Vec<String> = std::env::args()
        .skip(1)
        .filter(|name| !name.starts_with("--"))
        .collect();
    let wanted = |name: &str| only.is_empty() || only.iter().any(|only| only == name);
    if wanted("cpu") {
        compare("cpu", &cpu, rounds);
    }
    if wanted("simulated_gpu") {
        compare("simulated_gpu", &with_gpu, rounds);
    }
    if wanted("regret") {
        regret::print(rounds);
    }
    #[cfg(feature = "gpu")]
    if wanted("software_gpu") {
        real_gpu::software(rounds);
    }
    #[cfg(feature = "gpu")]
    if only == ["real_gpu"] {
        real_gpu::best(rounds);
    }
    #[cfg(feature = "gpu")]
    if let [replay, file] = &only[..]
        && replay == "replay"
    {
        real_gpu::replay(file, rounds);
    }
}

fn compare(device: &str, points: &[Point], rounds: usize) {
    let mut errors = Errors::of(device);
    for point in points {
        let steps = steps_of(point.task);
        let (mut real, mut simulated) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            real.extend(really(point, steps));
            simulated.extend(virtually(&scenario(point), point.strategy, round));
        }
        let gpu = point.gpu.as_ref().map_or(String::new(), |gpu| {
            format!(
                "/{}us+{}ns",
                gpu.launch.as_micros(),
                gpu.task_time.as_nanos()
            )
        });
        let (tasks, task) = (point.tasks, point.task.as_micros());
        let name = format!("{tasks}x{task}us{gpu}/{}", point.strategy);
        errors.add(&name, &real, &simulated);
    }
    errors.print();
}

/// How far simulated times are from real ones, of one device.
struct Errors<'d> {
    device: &'d str,
    errors: Vec<f64>,
}

impl<'d> Errors<'d> {
    fn of(device: &'d str) -> Self {
        let errors = Vec::new();
        Self { device, errors }
    }

    /// Times of the same batch.
    fn add(&mut self, name: &str, real: &[f64], simulated: &[f64]) {
        let middle = |times: &[f64]| median(times).expect("there are times");
        let over = middle(simulated) / middle(real);
        metric(
            &format!("simulated_over_real/{}/{name}", self.device),
            over,
            "",
        );
        self.errors.push((over - 1.0).abs());
    }

    fn print(mut self) {
        self.errors.sort_by(f64::total_cmp);
        for (what, part) in [("median", 0.5), ("p90", 0.9)] {
            let error = quantile(&self.errors, part).expect("there are points");
            let name = format!("simulator_error/{}/{what}", self.device);
            metric(&name, 100.0 * error, "%");
        }
    }
}

/// Times of warm batches for real, ns.
fn really(point: &Point, steps: u32) -> Vec<f64> {
    let pool = ThreadPoolBuilder::new().num_threads(WORKERS).build();
    let cpu = Arc::new(RayonCpu::with_pool(Arc::new(pool.expect("a pool"))));
    let inputs: Vec<u64> = (0..point.tasks as u64).collect();
    let spec = point.gpu.clone().unwrap_or_default();
    // Its outputs are not the CPU's: computing those would take a core.
    let gpu = SimulatedGpu::new(spec, |task: &u64| *task);
    let manager = StrategyManager::new(cpu, Arc::new(gpu)).with_costs(Arc::new(Costs::new()));
    let mut times = Vec::new();
    for number in 0..2 * WARM {
        let batch = manager.operation("simulator").strategy(point.strategy);
        let began = Instant::now();
        let result = batch.execute(&inputs, |task| Ok::<_, ()>(spin(steps, *task)));
        let took = began.elapsed();
        assert!(result.is_ok());
        if number >= WARM {
            times.push(took.as_nanos() as f64);
        }
    }
    times
}

fn scenario(point: &Point) -> Scenario {
    let mut scenario = Scenario::new((0..point.tasks).map(|_| 1.0), WORKERS);
    scenario.cpu_task_ns = point.task.as_nanos() as f64;
    let gpus = point.gpu.iter().map(|gpu| ScenarioGpu {
        launch_ns: gpu.launch.as_nanos() as f64,
        task_ns: gpu.task_time.as_nanos() as f64,
        submit_ns: 2_000.0,
        collect_ns: 1_000.0,
        ..ScenarioGpu::default()
    });
    scenario.gpus = gpus.collect();
    scenario
}

/// The same in virtual time.
fn virtually(scenario: &Scenario, strategy: ExecutionStrategy, round: usize) -> Vec<f64> {
    let (mut scenario, mut model) = (scenario.clone(), Model::default());
    scenario.noise.seed = round as u64;
    let run = |_| {
        let run = scenario.run(strategy, &mut model);
        run.expect("it can be decided").makespan_ns
    };
    (0..2 * WARM).map(run).skip(WARM).collect()
}
