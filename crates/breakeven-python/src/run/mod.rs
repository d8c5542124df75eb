//! `breakeven.run`: Python's functions on the library's engine. The Python side
//! (`breakeven/_run.py`) has the arguments' defaults and what waits for a batch.

mod device;
mod gate;
mod job;
mod output;
mod result;
mod source;
mod workers;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use breakeven::execute::{
    CrossCheck, FallbackPolicy, RayonCpu, StrategyManager, Unchecked, Verify,
};
use breakeven::hardware::Fact;
use breakeven::plan::{ExecutionStrategy, GpuSpec};
use breakeven::{Costs, Error, WorkloadProfile};
use pyo3::prelude::*;

use crate::{errors, locked};
use device::PyGpu;
use gate::{Gate, Held};
pub(crate) use job::Job;
use job::Shared;
use output::{Output, Tolerance};
pub(crate) use result::PyExecutionResult;
use result::{Ended, Outcome};
use source::Source;

/// What is asked for of a batch; `breakeven/_run.py` says what each means.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    operation: String,
    strategy: String,
    batched: bool,
    each: bool,
    /// 0 for all cores that may be used.
    workers: usize,
    /// Workers were asked for, or wait for other processes: the interpreter's lock does not matter.
    free: bool,
    device: String,
    device_bytes: Option<u64>,
    complexity: Option<f64>,
    memory_per_task: Option<usize>,
    parallelization: Option<f64>,
    /// Part of the tasks that may fall back, 1 for all.
    fallback: f64,
    deadline: Option<f64>,
    timeout: Option<f64>,
    /// Part of the GPU's outputs that is held against the CPU's, 0 for none.
    check: f64,
    tolerance: (f64, f64),
    costs: Option<PathBuf>,
    keeps_costs: bool,
    join: Py<PyAny>,
    agree: Py<PyAny>,
}

/// A batch, ready to run on a thread of its own.
struct Run {
    source: Arc<Source>,
    cpu: Py<PyAny>,
    gpu: Option<Arc<PyGpu>>,
    options: Options,
    strategy: ExecutionStrategy,
    pool: RayonCpu,
    workers: usize,
    gate: Arc<Gate>,
    known: Option<Held>,
    /// The interpreter runs without its lock, and that is why all workers take part.
    without_lock: bool,
    costs: Arc<Costs>,
    workload: WorkloadProfile,
    shared: Arc<Shared>,
}

/// Starts a batch.
#[pyfunction]
pub(crate) fn start(
    py: Python<'_>,
    tasks: &Bound<'_, PyAny>,
    cpu: Py<PyAny>,
    gpu: Option<Py<PyAny>>,
    options: Options,
) -> PyResult<Job> {
    let invalid = |error: Error| errors::invalid(py, &error.to_string());
    let strategy: ExecutionStrategy = match options.strategy.parse() {
        Ok(strategy) => strategy,
        Err(error) => return Err(invalid(error)?),
    };
    let source = Arc::new(Source::new(tasks, options.batched)?);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let has_lock = interpreter_has_lock(py);
    let (known, watches) = match has_lock && !options.free && cores > 1 {
        false => (None, false),
        true => {
            let known = gate::known(&options.operation);
            (known, known.is_none())
        }
    };
    let workers = match known {
        Some(held) if held.takes_one_worker() => 1,
        _ if options.workers == 0 => cores,
        // No more threads than tasks; powers of two, so that there are few pools.
        _ => (options.workers).min(source.tasks().next_power_of_two().max(cores)),
    };
    let mut workload = WorkloadProfile::from_task_count(source.tasks());
    let bytes = options.memory_per_task.or_else(|| source.item_bytes(py));
    workload = workload.with_memory_per_task(bytes.unwrap_or(size_of::<usize>()));
    workload = workload.with_complexity(options.complexity.unwrap_or(100.0));
    if let Some(part) = options.parallelization {
        workload = workload.with_parallelization(part);
    }
    if let Err(error) = workload.check() {
        return Err(invalid(error)?);
    }
    let gpu = gpu.map(|function| {
        let mut spec = GpuSpec::named(&options.device);
        if let Some(bytes) = options.device_bytes {
            spec.memory_bytes = Fact::Known(bytes);
        }
        Arc::new(PyGpu {
            function: Arc::new(function),
            source: Arc::clone(&source),
            spec,
            on_thread: options.timeout.is_some(),
            is_list: !options.batched,
            raised: Arc::default(),
        })
    });
    let gate = match watches && source.tasks() > 1 {
        true => Gate::watching(&options.operation),
        false => Gate::open(),
    };
    let shared = Shared::new();
    let job = Job {
        shared: Arc::clone(&shared),
        tasks: source.len,
    };
    let run = Run {
        costs: costs(options.costs.as_deref(), options.keeps_costs),
        pool: workers::pool(workers)?,
        source,
        cpu,
        gpu,
        strategy,
        workers,
        gate,
        known,
        without_lock: !has_lock && !options.free,
        workload,
        shared,
        options,
    };
    if workers::is_worker() {
        // Waiting for another thread to use this one's pool would be waiting for itself.
        py.detach(|| run.run());
    } else {
        workers::run(move || run.run())?;
    }
    Ok(job)
}

impl Run {
    fn run(self) {
        let outcome = match &self.gpu {
            Some(gpu) => {
                let manager = StrategyManager::new(Arc::new(self.pool.clone()), Arc::clone(gpu));
                self.checked(&manager)
            }
            None => self.checked(&StrategyManager::cpu_only(Arc::new(self.pool.clone()))),
        };
        self.gate.end();
        let held = self.gate.held().or(self.known);
        let raised = self.gpu.as_ref().map(|gpu| gpu.take_raised());
        let is_one = held.is_some_and(Held::takes_one_worker);
        let ended = Ended {
            outcome,
            raised: raised.unwrap_or_default(),
            join: self.options.join,
            held,
            without_lock: self.without_lock,
            workers: if is_one { 1 } else { self.workers },
            block: self.source.block,
        };
        self.shared.end(ended);
    }

    fn checked<G>(&self, manager: &StrategyManager<RayonCpu, G>) -> Outcome
    where
        G: breakeven::execute::GpuExecutor<usize, Output>,
    {
        let manager = manager.clone().with_costs(Arc::clone(&self.costs));
        if self.options.check <= 0.0 {
            return self.execute(&manager, Unchecked);
        }
        let (relative, absolute) = self.options.tolerance;
        let tolerance = Tolerance {
            rule: Python::attach(|py| self.options.agree.clone_ref(py)),
            relative,
            absolute,
            block: self.source.block,
        };
        let agree = |gpu: &Output, cpu: &Output| gpu.agrees(cpu, &tolerance);
        match self.options.check >= 1.0 {
            true => self.execute(&manager, CrossCheck::all(agree)),
            false => self.execute(&manager, CrossCheck::sample(self.options.check, agree)),
        }
    }

    fn execute<G, V>(&self, manager: &StrategyManager<RayonCpu, G>, verify: V) -> Outcome
    where
        G: breakeven::execute::GpuExecutor<usize, Output>,
        V: Verify<Output>,
    {
        let (options, source, gate) = (&self.options, &*self.source, &*self.gate);
        let policy = match options.fallback {
            part if part >= 1.0 => FallbackPolicy::Allow,
            part if part <= 0.0 => FallbackPolicy::Deny,
            part => FallbackPolicy::Budget(part),
        };
        let block = source.block;
        let progress = |done: usize, _: usize| {
            self.shared.done.fetch_max(done * block, Ordering::Relaxed);
        };
        let mut batch = manager
            .operation(&options.operation)
            .strategy(self.strategy)
            .fallback(policy)
            .timeout(options.timeout.map(seconds))
            .workload(self.workload)
            .cancel(&self.shared.cancel)
            .progress(&progress)
            .verify(verify);
        if let Some(deadline) = options.deadline {
            batch = batch.deadline(seconds(deadline));
        }
        let tasks: Vec<usize> = (0..source.tasks()).collect();
        let outcome = match (options.batched, options.each) {
            (true, _) => batch.execute_batches(&tasks, |tasks: &[usize]| {
                gate.pass(|| self.call_batched(tasks))
            }),
            (false, false) => batch.execute(&tasks, |task| gate.pass(|| self.call(*task))),
            (false, true) => {
                let each = batch.execute_each(&tasks, |task| gate.pass(|| self.call(*task)));
                return each.map_or_else(Outcome::Failed, Outcome::Each);
            }
        };
        outcome.map_or_else(Outcome::Failed, Outcome::All)
    }

    fn call(&self, task: usize) -> PyResult<Output> {
        Python::attach(|py| {
            let item = self.source.item(py, task)?;
            Ok(Output::Own(self.cpu.bind(py).call1((item,))?.unbind()))
        })
    }

    fn call_batched(&self, tasks: &[usize]) -> PyResult<Vec<Output>> {
        let Some(first) = tasks.first() else {
            return Ok(Vec::new());
        };
        let range = *first..first + tasks.len();
        Python::attach(|py| {
            let part = self.source.part(py, range.clone())?;
            let outputs = self.cpu.bind(py).call1((part,))?;
            output::split(outputs, tasks.len(), self.source.items(range).len())
        })
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// False for a build of Python without the lock, while it is off.
fn interpreter_has_lock(py: Python<'_>) -> bool {
    let asked = || -> PyResult<bool> {
        py.import("sys")?
            .getattr("_is_gil_enabled")?
            .call0()?
            .extract()
    };
    asked().unwrap_or(true)
}

/// The cost model in that file, or of this machine; one in memory where none is kept.
pub(crate) fn costs(path: Option<&Path>, keeps: bool) -> Arc<Costs> {
    type Open = HashMap<(Option<PathBuf>, bool), Arc<Costs>>;
    static OPEN: LazyLock<Mutex<Open>> = LazyLock::new(Mutex::default);
    let mut open = locked(&OPEN);
    let key = (path.map(Path::to_owned), keeps);
    let opened = open.entry(key).or_insert_with(|| {
        Arc::new(match path {
            _ if !keeps => Costs::new(),
            Some(path) => Costs::load(path).0,
            None => Costs::open_default().0,
        })
    });
    Arc::clone(opened)
}
