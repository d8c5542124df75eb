//! Runs a case and has what came of it judged.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use breakeven::Costs;
use breakeven::execute::{
    Batch, CancelToken, CrossCheck, ExecuteError, RayonCpu, StrategyManager, Verify,
};
use breakeven::plan::ExecutionStrategy;
use breakeven::testing::{SimulatedCounts, SimulatedGpu, SimulatedSpec};
use rayon::ThreadPool;

use super::case::{Bad, Call, Case, Check};
use super::findings::{End, Findings, Observed};

/// An output, and a mark that counts how many of them are alive.
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

/// Executes it by that call: the results of all are to be the same.
fn execute<V: Verify<Output>>(
    batch: Batch<'_, RayonCpu, SimulatedGpu<u64, Output>, V>,
    call: Call,
    tasks: &[u64],
    function: impl Fn(&u64) -> Result<Output, String> + Sync,
) -> Result<End, ExecuteError<String>> {
    Ok(match call {
        Call::Execute => End::of(batch.execute(tasks, function)?, Ok),
        Call::Each => End::of(batch.execute_each(tasks, function)?, |task| task),
        Call::Batched => {
            let all = |tasks: &[u64]| tasks.iter().map(&function).collect();
            End::of(batch.execute_batches(tasks, all)?, Ok)
        }
    })
}

/// Runs the case; an error says what was not as it must be.
pub(super) fn run(case: &Case, pool: &Arc<ThreadPool>) -> Result<Observed, String> {
    let alive = Arc::new(());
    let output = |task: u64, alive: &Arc<()>| Output {
        value: value_of(task),
        alive: Arc::clone(alive),
    };
    // A device of its own: quarantine is the process's.
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    let gpus = case.gpus.iter().enumerate().map(|(index, device)| {
        let spec = SimulatedSpec {
            name: format!("faults {run}.{index}"),
            ..SimulatedSpec::new(device.launch, device.task)
        };
        let spec = match device.memory_for {
            Some(tasks) => spec
                .with_transfer(f64::INFINITY, 8, 0)
                .with_memory(8 * tasks, 0),
            None => spec,
        };
        let mark = Arc::clone(&alive);
        let gpu = SimulatedGpu::new(spec, move |&task: &u64| output(task, &mark))
            .with_wrong(|output| output.value ^= 1)
            .with_faults(device.script.clone());
        Arc::new(gpu)
    });
    let gpus: Vec<_> = gpus.collect();
    let cpu = Arc::new(RayonCpu::with_pool(Arc::clone(pool)));
    let mut manager = StrategyManager::new(cpu, Arc::clone(&gpus[0]))
        .with_costs(Arc::new(Costs::new()))
        .with_strategy(case.strategy)
        .with_fallback(case.policy)
        .with_timeout(Some(case.timeout))
        .with_back_off(Duration::from_micros(1));
    for gpu in &gpus[1..] {
        manager = manager.with_gpu(Arc::clone(gpu));
    }
    let tasks: Vec<u64> = (0..case.tasks as u64).collect();
    let mut seen = Observed::default();
    for _ in 0..EXECUTIONS {
        seen = seen.and(execute_once(case, &manager, &gpus, pool, &tasks, &alive)?);
    }
    drop((manager, gpus));
    // A job that ended may still be letting go.
    for _ in 0..1_000 {
        if Arc::strong_count(&alive) == 1 {
            return Ok(seen);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(format!(
        "{} outputs were never dropped",
        Arc::strong_count(&alive) - 1
    ))
}

type Gpu = SimulatedGpu<u64, Output>;

/// Executes the case's batch, as often at once as it says, and judges each.
fn execute_once(
    case: &Case,
    manager: &StrategyManager<RayonCpu, Gpu>,
    gpus: &[Arc<Gpu>],
    pool: &ThreadPool,
    tasks: &[u64],
    alive: &Arc<()>,
) -> Result<Observed, String> {
    let one = || -> (Result<End, ExecuteError<String>>, Vec<AtomicU32>, usize) {
        let calls: Vec<AtomicU32> = tasks.iter().map(|_| AtomicU32::new(0)).collect();
        let most_reported = AtomicUsize::new(0);
        let function = |&task: &u64| {
            let index = usize::try_from(task).expect("a task is its index");
            calls[index].fetch_add(1, Ordering::Relaxed);
            (0..case.turns).for_each(|turn| {
                black_box(turn);
            });
            if case.nested && index % 512 == 7 {
                let inner = manager
                    .operation("inner")
                    .strategy(ExecutionStrategy::CpuOnly);
                let inner = inner.map([1_u64, 2, 3], |task| Output {
                    value: *task,
                    alive: Arc::clone(alive),
                });
                assert_eq!(inner.expect("nothing fails").outputs.len(), 3);
            }
            match case.bad {
                Some((bad, Bad::Error)) if bad == index => Err(SCRIPTED.to_owned()),
                Some((bad, Bad::Panic)) if bad == index => panic!("{SCRIPTED}"),
                _ => Ok(Output {
                    value: value_of(task),
                    alive: Arc::clone(alive),
                }),
            }
        };
        let run = || {
            let reported = |done, tasks| {
                assert!(done <= tasks, "{done} of {tasks} tasks");
                most_reported.fetch_max(done, Ordering::Relaxed);
            };
            let token = CancelToken::new();
            let mut batch = manager.operation("faults");
            if let Some(deadline) = case.deadline {
                batch = batch.deadline(deadline).progress(&reported);
            }
            if case.cancel.is_some() {
                batch = batch.cancel(&token);
            }
            let sample = |part| CrossCheck::sample(part, agree).with_cost_cap(f64::INFINITY);
            std::thread::scope(|scope| {
                if let Some(after) = case.cancel {
                    let token = &token;
                    scope.spawn(move || {
                        std::thread::sleep(after);
                        token.cancel();
                    });
                }
                match case.check {
                    Check::None => execute(batch, case.call, tasks, function),
                    Check::Sample(part) => {
                        execute(batch.verify(sample(part)), case.call, tasks, function)
                    }
                    Check::All => {
                        let all = CrossCheck::all(agree);
                        execute(batch.verify(all), case.call, tasks, function)
                    }
                }
            })
        };
        let outcome = if case.inside {
            pool.install(run)
        } else {
            run()
        };
        (outcome, calls, most_reported.into_inner())
    };
    let ends = match case.together {
        1 => vec![one()],
        several => std::thread::scope(|scope| {
            let threads: Vec<_> = (0..several).map(|_| scope.spawn(one)).collect();
            let ends = threads
                .into_iter()
                .map(|thread| thread.join().expect("nothing panics"));
            ends.collect()
        }),
    };
    let counts =
        gpus.iter()
            .map(|gpu| gpu.counts())
            .fold(SimulatedCounts::default(), |mut sum, counts| {
                sum.submits += counts.submits;
                for (kind, count) in counts.faults {
                    *sum.faults.entry(kind).or_default() += count;
                }
                sum
            });
    let mut seen = Observed::default();
    for (outcome, calls, most_reported) in &ends {
        let findings = Findings {
            case,
            counts: &counts,
            has_timed_out: manager.stats().device_errors.contains_key("timeout"),
            calls,
            most_reported: *most_reported,
        };
        seen = seen.and(findings.judge(outcome)?);
    }
    Ok(seen)
}
