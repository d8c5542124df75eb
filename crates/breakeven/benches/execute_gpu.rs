//! Executing on a real GPU: how near a split over CPU and GPU comes to the ideal
//! one, and what Auto loses to an oracle that tries every strategy.
//!
//!     cargo bench -p breakeven --bench execute_gpu [-- --quick] [--software] [--only KERNEL]
//!
//! Strategies take turns in one process, a batch each, in every round. The oracle
//! is the strategy with the least median. Ideal: the best division of whole tasks
//! by the times that each device took alone, one launch and its transfers included.
//! On a software GPU (`--software`), which is the CPU again, the bench can be
//! tried; its figures say nothing.
#![allow(
    clippy::print_stdout,
    missing_docs,
    reason = "a bench prints its figures"
)]

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use breakeven::Costs;
use breakeven::execute::{GpuExecutor, RayonCpu, StrategyManager};
use breakeven::gpu::{Gpu, OperatorExecutor};
use breakeven::hardware::HardwareCapabilities;
use breakeven::kernels::{Conv2d, MatrixMultiply, PixelEntropy, SOBEL_X};
use breakeven::plan::ExecutionStrategy;
use breakeven::{Operator, Tensor, WorkloadProfile};
use breakeven_profile::profile::{Operation, Profile, Run};
use breakeven_profile::stats::{median, quantile};

#[path = "../../../bench/gpu.rs"]
mod gpu;
#[path = "execute_gpu/ideal.rs"]
mod ideal;
#[path = "../../../bench/metric.rs"]
mod metric;
#[path = "../../../bench/only.rs"]
mod only;

use ideal::{GpuTime, best_split};
use metric::{is_quick, metric, write_profile};
use only::Only;

/// Widths of the entropy's windows, images and matrices: the suite's.
const WINDOW: usize = 16;
const ENTROPY_IMAGE: usize = 512;
const CONV_IMAGE: usize = 256;
const MATRIX: usize = 256;

/// How much is measured.
struct Plan {
    /// Tasks in a batch.
    batches: &'static [usize],
    /// Rounds in which every strategy has its turn.
    rounds: usize,
    /// Executes by which Auto's cost model is warm.
    warm_up: usize,
}

/// What was found of all kernels and batches.
#[derive(Default)]
struct Findings {
    cold: Vec<f64>,
    warm: Vec<f64>,
    operations: Vec<Operation>,
}

type Outcome<T> = Result<T, Box<dyn Error>>;

/// All that is measured of one kernel.
type Measure<'a> = dyn Fn(&mut Findings) -> Outcome<()> + 'a;

fn main() -> Outcome<ExitCode> {
    let only = match Only::asked_for() {
        Ok(only) => only,
        Err(error) => {
            println!("{error}");
            return Ok(ExitCode::from(2));
        }
    };
    let plan = if is_quick() {
        Plan {
            batches: &[4, 32],
            rounds: 5,
            warm_up: 10,
        }
    } else {
        Plan {
            batches: &[1, 8, 64, 256, 1024],
            rounds: 9,
            warm_up: 10,
        }
    };
    let hardware = HardwareCapabilities::detect();
    let info = match gpu::device(&hardware) {
        Ok(info) => info,
        Err(error) => {
            println!("NOT MEASURED: {error}");
            return Ok(ExitCode::FAILURE);
        }
    };
    println!("{} ({}), {}", info.id, info.kind, hardware.cpu_model);
    let gpu = Gpu::open(&info.id)?;
    let kernels: [(&str, &Measure<'_>); 3] = [
        ("conv2d", &|findings| {
            let edges = Conv2d::new(Tensor::new(&SOBEL_X, &[3, 3])?, 1, 1)?;
            let task = |seed| image(CONV_IMAGE, seed);
            measure("conv2d", &plan, &gpu, edges, task, findings)
        }),
        ("pixel_entropy", &|findings| {
            let entropy = PixelEntropy::new(WINDOW)?;
            let task = |seed| image(ENTROPY_IMAGE, seed);
            measure("pixel_entropy", &plan, &gpu, entropy, task, findings)
        }),
        ("matrix_multiply", &|findings| {
            let product = MatrixMultiply;
            measure("matrix_multiply", &plan, &gpu, product, pair, findings)
        }),
    ];
    let mut findings = Findings::default();
    let mut failed = false;
    for (kernel, measure) in kernels {
        if !only.has(kernel) {
            continue;
        }
        if let Err(error) = measure(&mut findings) {
            failed = true;
            println!("FAILED {kernel} as batches: {error}");
        }
    }

    for (which, regrets) in [("cold", &mut findings.cold), ("warm", &mut findings.warm)] {
        if regrets.is_empty() {
            continue;
        }
        regrets.sort_unstable_by(f64::total_cmp);
        let mean = regrets.iter().fold(0.0, |sum, regret| sum + regret) / regrets.len() as f64;
        metric(&format!("gpu_regret_{which}_mean"), mean, "fraction");
        let p95 = quantile(regrets, 0.95)?;
        metric(&format!("gpu_regret_{which}_p95"), p95, "fraction");
    }
    write_profile(
        "execute_gpu",
        Profile {
            operations: findings.operations,
            ..Profile::default()
        },
    );
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// The inputs of a task.
type Task = Vec<Tensor<'static>>;

fn square(size: usize, seed: usize) -> Tensor<'static> {
    let value = |at: usize| ((at * 37 + at / 251 + seed * 101) % 256) as f32 / 256.0;
    let values: Vec<f32> = (0..size * size).map(value).collect();
    Tensor::new(values, &[1, size, size]).expect("as many values as the shape holds")
}

fn image(size: usize, seed: usize) -> Task {
    vec![square(size, seed)]
}

fn pair(seed: usize) -> Task {
    vec![square(MATRIX, seed), square(MATRIX, seed + 1)]
}

/// All of one kernel: each batch size, each strategy, Auto cold and warm.
fn measure<O: Operator<In = f32>>(
    kernel: &str,
    plan: &Plan,
    gpu: &Gpu,
    operator: O,
    task: impl Fn(usize) -> Task,
    findings: &mut Findings,
) -> Outcome<()> {
    let operator = Arc::new(operator);
    let executor = Arc::new(OperatorExecutor::new(gpu, Arc::clone(&operator)));
    for &batch in plan.batches {
        let tasks: Vec<Task> = (0..batch).map(&task).collect();
        // A cost model of its own for each execute: nothing is known.
        let unknown = || Arc::new(Costs::new());
        let timed = |tasks: &[Task], strategy, costs| {
            run_once(&*operator, &executor, tasks, strategy, costs)
        };
        let (cpu_only, gpu_only) = (ExecutionStrategy::CpuOnly, ExecutionStrategy::GpuOnly);
        // Compiled and warm; then what each device takes alone.
        timed(&tasks, gpu_only, unknown())?;
        let one = timed(&tasks[..1], gpu_only, unknown())?;
        let (cpu, gpu) = (
            timed(&tasks, cpu_only, unknown())?,
            timed(&tasks, gpu_only, unknown())?,
        );
        let mut strategies = vec![cpu_only, gpu_only];
        let (on_gpu, _) = best_split(batch, cpu, GpuTime::through(one, batch, gpu));
        for share in shares(on_gpu, batch) {
            strategies.push(ExecutionStrategy::hybrid(share)?);
        }

        let mut times = vec![Vec::new(); strategies.len()];
        let (mut ones, mut cold, mut warm) = (Vec::new(), Vec::new(), Vec::new());
        let learnt = unknown();
        for _ in 0..plan.warm_up {
            timed(&tasks, ExecutionStrategy::Auto, Arc::clone(&learnt))?;
        }
        for _ in 0..plan.rounds {
            for (strategy, times) in strategies.iter().zip(&mut times) {
                times.push(timed(&tasks, *strategy, unknown())?);
            }
            ones.push(timed(&tasks[..1], gpu_only, unknown())?);
            cold.push(timed(&tasks, ExecutionStrategy::Auto, unknown())?);
            warm.push(timed(&tasks, ExecutionStrategy::Auto, Arc::clone(&learnt))?);
        }

        let medians: Result<Vec<f64>, _> = times.iter().map(|times| median(times)).collect();
        let medians = medians?;
        let oracle = medians.iter().copied().fold(f64::INFINITY, f64::min);
        let one = median(&ones)?;
        let (_, ideal) = best_split(batch, medians[0], GpuTime::through(one, batch, medians[1]));
        let hybrid = medians[2..].iter().copied().fold(f64::INFINITY, f64::min);
        metric(
            &format!("gpu_cpu_only_ms/{kernel}/{batch}"),
            medians[0] * 1e3,
            "ms",
        );
        metric(
            &format!("gpu_gpu_only_ms/{kernel}/{batch}"),
            medians[1] * 1e3,
            "ms",
        );
        // Below that a split is not worth having, and Auto declines it too.
        let pays = ideal < 0.97 * medians[0].min(medians[1]);
        if hybrid.is_finite() && pays {
            metric(
                &format!("gpu_hybrid_ms/{kernel}/{batch}"),
                hybrid * 1e3,
                "ms",
            );
            metric(
                &format!("gpu_hybrid_efficiency/{kernel}/{batch}"),
                ideal / hybrid,
                "fraction",
            );
        }
        for (all, regrets) in [(&cold, &mut findings.cold), (&warm, &mut findings.warm)] {
            regrets.extend(all.iter().map(|time| time / oracle - 1.0));
        }
        let named = strategies.iter().map(ToString::to_string).zip(&times);
        let auto = [
            ("auto-cold".to_owned(), &cold),
            ("auto-warm".to_owned(), &warm),
        ];
        for (strategy, times) in named.chain(auto) {
            let name = format!("{kernel}:{strategy}");
            findings.operations.push(operation(&name, batch, times));
        }
    }
    Ok(())
}

/// The GPU's shares to try, percent: the one that should be best and others
/// around it; none where every task is one device's.
fn shares(on_gpu: usize, batch: usize) -> Vec<u8> {
    let best = u8::try_from(on_gpu * 100 / batch).unwrap_or(100);
    let mut shares: Vec<u8> = [best.saturating_sub(10), best, best.saturating_add(5), 50]
        .into_iter()
        .filter(|share| batch > 1 && (1..100).contains(share))
        .collect();
    shares.sort_unstable();
    shares.dedup();
    shares
}

/// Time of one execute, s.
fn run_once<O: Operator<In = f32>>(
    operator: &O,
    executor: &Arc<OperatorExecutor<O>>,
    tasks: &[Task],
    strategy: ExecutionStrategy,
    costs: Arc<Costs>,
) -> Outcome<f64> {
    let manager = StrategyManager::new(Arc::new(RayonCpu::current()), Arc::clone(executor))
        .with_strategy(strategy)
        .with_costs(costs)
        .allow_software_gpu();
    let bytes = executor.batch_bytes(tasks).unwrap_or_default() / tasks.len() as u64;
    let workload = WorkloadProfile::from_task_count(tasks.len())
        .with_memory_per_task(usize::try_from(bytes).unwrap_or(usize::MAX));
    let start = Instant::now();
    let batch = manager.operation(operator.name()).workload(workload);
    let result = batch.execute(tasks, |task| operator.on_cpu(task))?;
    let time = start.elapsed().as_secs_f64();
    if result.fallback_occurred {
        return Err(format!("{strategy} fell back: {:?}", result.errors).into());
    }
    Ok(time)
}

fn operation(name: &str, batch: usize, times: &[f64]) -> Operation {
    let ns = |seconds: &f64| (seconds * 1e9).round();
    Operation {
        size: Some(batch as u64),
        runs: vec![Run {
            samples_ns: times.iter().map(ns).collect(),
            ..Run::default()
        }],
        ..Operation::new(name, "cpu+gpu")
    }
}
