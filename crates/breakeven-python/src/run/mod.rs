//! `breakeven.run`: Python's functions on the library's engine. `breakeven/_run.py` has the
//! arguments' defaults and waits for a batch.

mod device;
mod gate;
mod job;
mod output;
mod result;
mod source;
mod ways;
mod workers;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, SystemTime};

use breakeven::execute::{
    CpuExecutor, CrossCheck, ExecutionResult, FallbackPolicy, GpuExecutor, StrategyManager,
    Unchecked, Verify, end_quarantine,
};
use breakeven::hardware::Fact;
use breakeven::plan::{ExecutionStrategy, GpuSpec, ProfilingHeuristics};
use breakeven::{Costs, WorkloadProfile};
use pyo3::intern;
use pyo3::prelude::*;

use crate::errors::raised;
use crate::locked;
use device::PyGpu;
pub(crate) use device::device_error;
use gate::Gate;
pub(crate) use job::Job;
use job::Shared;
use output::{Output, Raised};
pub(crate) use result::PyExecutionResult;
use result::{Ended, How, Outcome};
use source::Source;
use ways::Held;

/// The options of a batch; `breakeven/_run.py` documents each.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    operation: String,
    strategy: String,
    batched: bool,
    /// Tasks are sent to processes, several per message.
    processes: bool,
    each: bool,
    /// 0 for all usable cores.
    workers: usize,
    /// The number of workers is fixed, not measured.
    fixed: bool,
    /// The caller's thread may do the work.
    here: bool,
    /// The caller reads the progress.
    shown: bool,
    batch_size: Option<usize>,
    min_batch: Option<usize>,
    device: String,
    device_bytes: Option<u64>,
    complexity: Option<f64>,
    memory_per_task: Option<usize>,
    parallelization: Option<f64>,
    /// Fraction of the tasks that may fall back, 1 for all.
    fallback: f64,
    deadline: Option<f64>,
    timeout: Option<f64>,
    /// Fraction of the GPU's outputs that is compared with the CPU's, 0 for none.
    check: f64,
    tolerance: (f64, f64),
    costs: Option<PathBuf>,
    keeps_costs: bool,
    /// The caller's context variables, if it has any.
    context: Option<Py<PyAny>>,
    /// How outputs in pieces are joined, if not as usual.
    join: Option<Py<PyAny>>,
    /// Converts outputs of both functions to one type.
    one_type: Option<Py<PyAny>>,
    agree: Py<PyAny>,
}

/// How the number of workers is chosen.
enum Workers {
    /// The requested number.
    Fixed,
    /// The interpreter runs without the GIL, so all take part.
    WithoutLock,
    /// By the fraction of the time in which the function holds the GIL.
    ByLock {
        known: Option<Held>,
        /// Measures it, unless it is known.
        gate: Option<Arc<Gate>>,
    },
    /// By the measured times of one call and of a split.
    ByTime { in_parts: bool },
}

/// A user's function, which runs in its caller's context.
struct UserFunction {
    function: Py<PyAny>,
    context: Option<Py<PyAny>>,
}

impl UserFunction {
    fn call<'py>(&self, py: Python<'py>, part: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let function = self.function.bind(py);
        match &self.context {
            // Only one thread at a time may use a context.
            Some(context) => {
                let own = context.bind(py).call_method0(intern!(py, "copy"))?;
                own.call_method1(intern!(py, "run"), (function, part))
            }
            None => function.call1((part,)),
        }
    }
}

/// A batch, ready to run.
struct Run {
    source: Arc<Source>,
    function: UserFunction,
    gpu: Option<Arc<PyGpu>>,
    options: Arc<Options>,
    strategy: ExecutionStrategy,
    count: usize,
    workers: Workers,
    costs: Option<Arc<Costs>>,
    workload: WorkloadProfile,
    /// The size of a task is known.
    is_sized: bool,
    shared: Arc<Shared>,
}

/// Starts a batch, or runs it on the calling thread if that is allowed.
#[pyfunction]
pub(crate) fn start(
    py: Python<'_>,
    tasks: &Bound<'_, PyAny>,
    cpu: Py<PyAny>,
    gpu: Option<Py<PyAny>>,
    options: Options,
) -> PyResult<Job> {
    let strategy: ExecutionStrategy = options.strategy.parse().map_err(raised)?;
    let (cores, has_gpu) = (cores(), gpu.is_some());
    let mut source = Source::new(tasks, options.batched)?;
    let (workers, one) = Workers::of(py, &options, source.len, has_gpu);
    let one = one || source.len <= 1;
    let count = match options.workers {
        _ if one => 1,
        0 => cores,
        // At most one thread per task; powers of two, so that there are few pools.
        asked => asked.min(source.len.next_power_of_two().max(cores)),
    };
    if options.batched || options.processes {
        source.in_blocks(&options, count, has_gpu);
    }
    let (source, options) = (Arc::new(source), Arc::new(options));
    let bytes = options
        .memory_per_task
        .or_else(|| source.item_bytes(py, options.batched));
    let mut workload = WorkloadProfile::from_task_count(source.tasks())
        .with_memory_per_task(bytes.unwrap_or(size_of::<usize>()))
        .with_complexity(options.complexity.unwrap_or(100.0));
    if let Some(part) = options.parallelization {
        workload = workload.with_parallelization(part);
    }
    workload.check().map_err(raised)?;
    let shared = Shared::new();
    let here = one && options.here && !options.shown && !has_gpu;
    let called = |function, here: bool| UserFunction {
        function,
        context: match &options.context {
            Some(context) if !here => Some(context.clone_ref(py)),
            _ => None,
        },
    };
    let gpu = gpu.map(|function| {
        let mut spec = GpuSpec::named(&options.device);
        if let Some(bytes) = options.device_bytes {
            spec.memory_bytes = Fact::Known(bytes);
        }
        Arc::new(PyGpu {
            function: Arc::new(called(function, false)),
            source: Arc::clone(&source),
            options: Arc::clone(&options),
            spec,
            raised: Arc::default(),
            cancel: shared.cancel.clone(),
        })
    });
    let keeps = options.keeps_costs && (has_gpu || options.costs.is_some());
    let kept = (keeps || has_gpu).then(|| costs(options.costs.as_deref(), keeps));
    let tasks = source.len;
    let run = Run {
        function: called(cpu, here),
        costs: kept.transpose()?,
        source,
        gpu,
        strategy,
        count,
        workers,
        is_sized: bytes.is_some(),
        workload,
        shared: Arc::clone(&shared),
        options,
    };
    let job = Job { shared, tasks };
    if here {
        // As a direct call of the function: on this thread, in its context.
        run.run(&workers::Here);
        return Ok(job);
    }
    let pool = workers::pool(count)?;
    if workers::is_worker() {
        // A pool thread would wait for itself.
        py.detach(|| run.run(&pool));
    } else {
        workers::run(move || run.run(&pool))?;
    }
    Ok(job)
}

impl Workers {
    /// How they are chosen for a batch, and whether it is one worker.
    fn of(py: Python<'_>, options: &Options, items: usize, has_gpu: bool) -> (Self, bool) {
        let operation = &*options.operation;
        if options.fixed {
            return (Self::Fixed, options.workers == 1);
        }
        if cores() == 1 {
            return (Self::Fixed, true);
        }
        if options.batched && !has_gpu {
            let in_parts = ways::in_parts(operation, items);
            return (Self::ByTime { in_parts }, !in_parts);
        }
        if !interpreter_has_lock(py) {
            return (Self::WithoutLock, false);
        }
        let known = gate::known(operation);
        let gate = (known.is_none() && items > 1).then(|| Gate::watching(operation));
        let one = known.is_some_and(Held::takes_one_worker);
        (Self::ByLock { known, gate }, one)
    }

    /// Runs `call` when a worker is admitted.
    fn pass<R>(&self, call: impl FnOnce() -> R) -> R {
        match self {
            Self::ByLock {
                gate: Some(gate), ..
            } => gate.pass(call),
            _ => call(),
        }
    }

    /// How the function of a finished batch was called.
    fn ended(&self, count: usize, operation: &str, items: usize, outcome: &Outcome) -> How {
        let mut how = How {
            workers: count,
            without_lock: matches!(self, Self::WithoutLock),
            ..How::default()
        };
        match (self, outcome) {
            (Self::ByLock { known, gate }, _) => {
                how.held = gate.as_ref().and_then(|gate| gate.end()).or(*known);
                if how.held.is_some_and(Held::takes_one_worker) {
                    how.workers = 1;
                }
            }
            (Self::ByTime { in_parts }, Ok((_, result))) => {
                how.ways = ways::took(operation, items, *in_parts, result.execution_time);
            }
            _ => {}
        }
        how
    }
}

/// Deletes the measurements of an operation in that file, or of all, and ends its quarantine.
#[pyfunction]
#[pyo3(signature = (operation, path))]
pub(crate) fn forget(operation: Option<&str>, path: Option<PathBuf>) -> PyResult<()> {
    ways::forget(operation);
    end_quarantine(operation);
    let costs = costs(path.as_deref(), true)?;
    let now = SystemTime::now();
    match operation {
        Some(operation) => costs.forget(operation, now),
        None => (costs.operations().iter()).for_each(|operation| costs.forget(operation, now)),
    }
    Ok(())
}

/// Ends a batch that a panic keeps from ending, so that nobody waits for ever.
struct Ends(Arc<Shared>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.end(None);
    }
}

impl Run {
    fn run<C: CpuExecutor + Clone>(self, cpu: &C) {
        let _ends = Ends(Arc::clone(&self.shared));
        let cpu = Arc::new(cpu.clone());
        let mut outcome = match &self.gpu {
            Some(gpu) => self.checked(StrategyManager::new(cpu, Arc::clone(gpu))),
            None => self.checked(StrategyManager::cpu_only(cpu)),
        };
        let (operation, items) = (&self.options.operation, self.source.len);
        let how = self.workers.ended(self.count, operation, items, &outcome);
        if let Ok((_, result)) = &mut outcome
            && self.source.block > 1
        {
            self.in_items(result);
        }
        let raised = (self.gpu.as_ref()).map(|gpu| std::mem::take(&mut *locked(&gpu.raised)));
        self.shared.end(Some(Ended {
            outcome,
            raised: raised.unwrap_or_default(),
            function: self.function.function,
            options: self.options,
            source: self.source,
            how,
        }));
    }

    /// Counts items: a task has several of them.
    fn in_items(&self, result: &mut ExecutionResult<()>) {
        let (block, len) = (self.source.block, self.source.len);
        let items = |tasks: &mut usize| *tasks = (*tasks * block).min(len);
        result.tasks = len;
        items(&mut result.gpu.tasks);
        result.cpu.tasks = len - result.gpu.tasks;
        items(&mut result.fallback.tasks);
        items(&mut result.checked);
        items(&mut result.recalled);
        result.fallback.fits.iter_mut().for_each(items);
        for gpu in &mut result.gpus {
            items(&mut gpu.share.tasks);
            items(&mut gpu.fallback_tasks);
        }
        if self.gpu.is_none() {
            // Nothing was decided by the number of calls.
            result.decision.ruling.facts.workload.task_count = len;
        }
    }

    fn checked<C, G>(&self, manager: StrategyManager<C, G>) -> Outcome
    where
        C: CpuExecutor,
        G: GpuExecutor<usize, Output>,
    {
        let mut manager = match &self.costs {
            Some(costs) => manager.with_costs(Arc::clone(costs)),
            None => manager,
        };
        if !self.is_sized {
            // The size of the batch is unknown: both variants are measured.
            let sizes = ProfilingHeuristics::default().with_min_tasks(2);
            manager = manager.with_heuristics(sizes.with_small_threshold(0));
        }
        if self.options.check <= 0.0 {
            return self.execute(&manager, Unchecked);
        }
        let agree = |gpu: &Output, cpu: &Output| gpu.agrees(cpu, &self.options);
        match self.options.check >= 1.0 {
            true => self.execute(&manager, CrossCheck::all(agree)),
            false => self.execute(&manager, CrossCheck::sample(self.options.check, agree)),
        }
    }

    fn execute<C, G, V>(&self, manager: &StrategyManager<C, G>, verify: V) -> Outcome
    where
        C: CpuExecutor,
        G: GpuExecutor<usize, Output>,
        V: Verify<Output>,
    {
        let (options, source) = (&self.options, &*self.source);
        let policy = match options.fallback {
            part if part >= 1.0 => FallbackPolicy::Allow,
            part if part <= 0.0 => FallbackPolicy::Deny,
            part => FallbackPolicy::Budget(part),
        };
        let progress = |done: usize, _: usize| {
            let done = done * source.block;
            self.shared.done.fetch_max(done, Ordering::Relaxed);
        };
        let mut batch = manager
            .operation(&options.operation)
            .strategy(self.strategy)
            .fallback(policy)
            .timeout(options.timeout.map(seconds))
            .workload(self.workload)
            .cancel(&self.shared.cancel)
            .verify(verify);
        if source.block > 1 {
            batch = batch.items(source.len);
        }
        if options.shown {
            batch = batch.progress(&progress);
        }
        if let Some(deadline) = options.deadline {
            batch = batch.deadline(seconds(deadline));
        }
        let tasks: Vec<usize> = (0..source.tasks()).collect();
        // With a GPU the schedule chooses the size of a CPU call.
        let takes_one = self.gpu.is_none() || options.batch_size.is_some() || options.processes;
        let outcome = match (options.batched || options.processes, options.each) {
            (true, _) if takes_one => batch.execute(&tasks, |task| {
                let mut outputs = self.call_batched(std::slice::from_ref(task))?;
                Ok(outputs.pop().expect("one task has one output"))
            }),
            (true, _) => batch.execute_batches(&tasks, |tasks: &[usize]| self.call_batched(tasks)),
            (false, false) => batch.execute(&tasks, |task| self.call(*task)),
            (false, true) => {
                let each = batch.execute_each(&tasks, |task| self.call(*task));
                let (outputs, result) = each?.into_outputs();
                let own = |output: Result<_, _>| {
                    output.unwrap_or_else(|error| Output::Failed(Box::new(error)))
                };
                return Ok((outputs.into_iter().map(own).collect(), result));
            }
        };
        outcome.map(ExecutionResult::into_outputs)
    }

    fn call(&self, task: usize) -> Result<Output, Raised> {
        let called = || {
            Python::attach(|py| {
                // Handles Ctrl-C between two tasks on the main thread.
                py.check_signals()?;
                let item = self.source.item(py, task)?;
                Ok(Output::Own(self.function.call(py, item)?.unbind()))
            })
        };
        self.workers.pass(called).map_err(|error| Raised {
            error,
            items: task..task + 1,
        })
    }

    fn call_batched(&self, tasks: &[usize]) -> Result<Vec<Output>, Raised> {
        let range = match tasks {
            [] => return Ok(Vec::new()),
            [first, ..] => *first..first + tasks.len(),
        };
        let items = self.source.items(range.clone());
        let called = || {
            Python::attach(|py| {
                py.check_signals()?;
                let part = self.source.part(py, range.clone())?;
                let outputs = self.function.call(py, part)?;
                let apart = self.options.check > 0.0;
                output::split(outputs, "cpu", range, &self.source, apart)
            })
        };
        self.workers
            .pass(called)
            .map_err(|error| Raised { error, items })
    }
}

/// Usable cores: determined once, because that reads files.
fn cores() -> usize {
    static CORES: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
    *CORES
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// False for a build of Python without the GIL, while it is off.
fn interpreter_has_lock(py: Python<'_>) -> bool {
    let asked = py
        .import("sys")
        .and_then(|sys| sys.call_method0("_is_gil_enabled"));
    asked.and_then(|asked| asked.extract()).unwrap_or(true)
}

/// The cost model in that file, or of this machine; one in memory if none is kept. Warns once about
/// a file that cannot be used.
fn costs(path: Option<&Path>, keeps: bool) -> PyResult<Arc<Costs>> {
    type Open = HashMap<(Option<PathBuf>, bool), Arc<Costs>>;
    static OPEN: LazyLock<Mutex<Open>> = LazyLock::new(Mutex::default);
    let key = (path.map(Path::to_owned), keeps);
    let mut warning = None;
    let opened = Arc::clone(locked(&OPEN).entry(key).or_insert_with(|| {
        let opened = match path {
            _ if !keeps => (Costs::new(), None),
            Some(path) => Costs::load(path),
            None => Costs::open_default(),
        };
        warning = opened.1;
        Arc::new(opened.0)
    }));
    if let Some(warning) = warning {
        let warn = |py: Python<'_>| {
            let warnings = py.import("warnings")?;
            warnings
                .call_method1("warn", (warning.to_string(),))
                .map(drop)
        };
        Python::attach(warn)?;
    }
    Ok(opened)
}
