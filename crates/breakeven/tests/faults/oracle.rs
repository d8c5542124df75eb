//! Runs a case and has what came of it judged.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use breakeven::execute::{
    Batch, CrossCheck, ExecuteError, RayonCpu, SimulatedGpu, SimulatedSpec, StrategyManager, Verify,
};
use breakeven::plan::Costs;
use rayon::ThreadPool;

use super::case::{Bad, Case, Check};
use super::findings::{End, Findings, Seen};

/// An output, and a mark that tells how many of them are alive.
#[derive(Debug, Clone)]
pub(super) struct Output {
    pub(super) value: u64,
    #[expect(dead_code, reason = "it is counted")]
    alive: Arc<()>,
}

/// What the function gives for a task (Fibonacci hashing: no two are alike).
pub(super) fn value_of(task: u64) -> u64 {
    task.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// True where the GPU's output is the CPU's.
fn agree(gpu: &Output, cpu: &Output) -> bool {
    gpu.value == cpu.value
}

/// What a bad task says.
pub(super) const SCRIPTED: &str = "scripted failure";

/// Cases that were run.
static RUNS: AtomicUsize = AtomicUsize::new(0);

/// How many executions of a case: what one learned, the next one uses.
const EXECUTIONS: usize = 2;

/// `execute` or `execute_each`, whose results are to be the same.
fn execute<V: Verify<Output>>(
    batch: Batch<'_, RayonCpu, SimulatedGpu<u64, Output>, V>,
    each: bool,
    tasks: &[u64],
    function: impl Fn(&u64) -> Result<Output, String> + Sync,
) -> Result<End, ExecuteError<String>> {
    if each {
        Ok(End::of(batch.execute_each(tasks, function)?, |task| task))
    } else {
        Ok(End::of(batch.execute(tasks, function)?, Ok))
    }
}

/// Runs the case; an error says what was not as it must be.
pub(super) fn run(case: &Case, pool: &Arc<ThreadPool>) -> Result<Seen, String> {
    let alive = Arc::new(());
    let output = |task: u64, alive: &Arc<()>| Output {
        value: value_of(task),
        alive: Arc::clone(alive),
    };
    // A device of its own: quarantine is the process's.
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    let spec = SimulatedSpec {
        name: format!("faults {run}"),
        ..SimulatedSpec::new(case.launch, Duration::ZERO)
    };
    let spec = match case.memory_for {
        Some(tasks) => spec
            .with_transfer(f64::INFINITY, 8, 0)
            .with_memory(8 * tasks, 0),
        None => spec,
    };
    let mark = Arc::clone(&alive);
    let gpu = SimulatedGpu::new(spec, move |&task: &u64| output(task, &mark))
        .with_wrong(|output| output.value ^= 1)
        .with_faults(case.script.clone());
    let gpu = Arc::new(gpu);
    let cpu = Arc::new(RayonCpu::with_pool(Arc::clone(pool)));
    let manager = StrategyManager::new(cpu, Arc::clone(&gpu))
        .with_costs(Arc::new(Costs::new()))
        .with_strategy(case.strategy)
        .with_fallback(case.policy)
        .with_timeout(Some(case.timeout))
        .with_back_off(Duration::from_micros(1));
    let tasks: Vec<u64> = (0..case.tasks as u64).collect();
    let mut seen = Seen::default();
    for _ in 0..EXECUTIONS {
        let calls: Vec<AtomicU32> = tasks.iter().map(|_| AtomicU32::new(0)).collect();
        let most_told = AtomicUsize::new(0);
        let function = |&task: &u64| {
            let index = usize::try_from(task).expect("a task is its index");
            calls[index].fetch_add(1, Ordering::Relaxed);
            (0..case.turns).for_each(|turn| {
                black_box(turn);
            });
            match case.bad {
                Some((bad, Bad::Error)) if bad == index => Err(SCRIPTED.to_owned()),
                Some((bad, Bad::Panic)) if bad == index => panic!("{SCRIPTED}"),
                _ => Ok(output(task, &alive)),
            }
        };
        let run = || {
            let told = |done, tasks| {
                assert!(done <= tasks, "{done} of {tasks} tasks");
                most_told.fetch_max(done, Ordering::Relaxed);
            };
            let mut batch = manager.operation("faults");
            if let Some(deadline) = case.deadline {
                batch = batch.deadline(deadline).progress(&told);
            }
            let sample = |part| CrossCheck::sample(part, agree).with_cost_cap(f64::INFINITY);
            match case.check {
                Check::None => execute(batch, case.each, &tasks, function),
                Check::Sample(part) => {
                    execute(batch.verify(sample(part)), case.each, &tasks, function)
                }
                Check::All => execute(
                    batch.verify(CrossCheck::all(agree)),
                    case.each,
                    &tasks,
                    function,
                ),
            }
        };
        let outcome = if case.inside {
            pool.install(run)
        } else {
            run()
        };
        let findings = Findings {
            case,
            counts: &gpu.counts(),
            calls: &calls,
            most_told: most_told.into_inner(),
        };
        seen = seen.and(findings.judge(&outcome)?);
    }
    drop((manager, gpu));
    match Arc::strong_count(&alive) - 1 {
        0 => Ok(seen),
        left => Err(format!("{left} outputs were never dropped")),
    }
}
