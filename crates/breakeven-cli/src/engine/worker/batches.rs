//! Executing a kernel's batch by a strategy, again and again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use breakeven::execute::{
    ExecutionResult, GpuExecutor, NoGpu, OnDevice, RayonCpu, StrategyManager, read_prices,
};
use breakeven::plan::GpuSpec;
use breakeven::{Costs, DeviceError, DeviceErrorKind, Element, Operator, Tensor};
use breakeven_profile::get_profiler;
use breakeven_profile::profile::{
    Device, Environment, Executions, Fallback, Operation, Profile, Run,
};

use super::{Stopped, Worker, measured};
use crate::engine::protocol::{BatchCell, BatchGpus, Message};
use crate::engine::suite::{BatchWorkload, Task, with_operator};

/// An operator and the tasks of a cell's batch.
struct Executing<'b, 'w, 'o, E> {
    worker: &'w mut Worker<'o>,
    cell: &'b BatchCell,
    workload: BatchWorkload,
    operator: &'b Arc<dyn Operator<In = f32, Out = E>>,
    tasks: &'b [Task],
}

impl Worker<'_> {
    pub(super) fn batch(&mut self, cell: &BatchCell) -> Result<(), Stopped> {
        let workload = cell.workload()?;
        let (operator, tasks) = workload.build()?;
        with_operator!(&operator, operator => {
            let executing = Executing {
                worker: self,
                cell,
                workload,
                operator,
                tasks: &tasks,
            };
            executing.run()
        })
    }

    /// The cost model that this user's processes share.
    fn costs(&mut self) -> Arc<Costs> {
        if let Some(costs) = &self.costs {
            return Arc::clone(costs);
        }
        let (costs, warning) = Costs::open_default();
        if let Some(warning) = warning {
            self.outbox.send(&Message::Warning(warning.to_string()));
        }
        Arc::clone(self.costs.insert(Arc::new(costs)))
    }

    /// Writes what was learned, and reports whether it is there for others.
    fn keep(&mut self, costs: &Costs) {
        match costs.save() {
            Err(error) => {
                let warning = format!("what was learned was not kept: {error}");
                self.outbox.send(&Message::Warning(warning));
            }
            Ok(()) if costs.is_kept() => self.outbox.send(&Message::Learned),
            Ok(()) => {}
        }
    }
}

impl<E: Element> Executing<'_, '_, '_, E> {
    fn run(mut self) -> Result<(), Stopped> {
        let cpu = Arc::new(RayonCpu::current());
        let (mut open, mut unusable) = (Vec::new(), Vec::new());
        match &self.cell.gpus {
            BatchGpus::Unwanted => {
                let manager = StrategyManager::<_, NoGpu>::cpu_only(cpu);
                // Without a GPU to choose, the cost model learns from a sweep only.
                return match self.cell.item {
                    Some(_) => self.teach(manager),
                    None => self.execute(manager),
                };
            }
            BatchGpus::Absent(why) => {
                let kind = DeviceErrorKind::Unavailable { until: None };
                unusable.push(("gpu", DeviceError::new(kind, why)));
            }
            BatchGpus::These(ids) => {
                for id in ids {
                    match self.worker.devices.executor(id, self.operator) {
                        Ok(gpu) => open.push(Arc::new(gpu)),
                        Err(error) => unusable.push((id.as_str(), error)),
                    }
                }
            }
        }
        let mut open = open.into_iter();
        if let Some(first) = open.next() {
            for (id, error) in unusable {
                let warning = format!("{id} is not used: {error}");
                self.worker.outbox.send(&Message::Warning(warning));
            }
            let manager = open.fold(StrategyManager::new(cpu, first), StrategyManager::with_gpu);
            return self.teach(manager);
        }
        // Every launch says why.
        let fails = |(id, error): (&str, DeviceError)| {
            let launch = move |_: &[Task]| Err::<Vec<Tensor<'static, E>>, _>(error.clone());
            Arc::new(OnDevice::new(GpuSpec::named(id), launch))
        };
        let mut unusable = unusable.into_iter().map(fails);
        let Some(first) = unusable.next() else {
            return Ok(());
        };
        let manager = unusable.fold(StrategyManager::new(cpu, first), StrategyManager::with_gpu);
        // What devices that are not there take is nothing to learn.
        let manager = manager
            .with_costs(Arc::new(Costs::new()))
            .with_back_off(Duration::ZERO);
        self.execute(manager)
    }

    /// Executes, and keeps what the cost model learned of it.
    fn teach<G: GpuExecutor<Task, Tensor<'static, E>>>(
        &mut self,
        manager: StrategyManager<RayonCpu, G>,
    ) -> Result<(), Stopped> {
        let costs = self.worker.costs();
        let outcome = self.execute(manager.with_costs(Arc::clone(&costs)));
        self.worker.keep(&costs);
        outcome
    }

    fn execute<G: GpuExecutor<Task, Tensor<'static, E>>>(
        &mut self,
        manager: StrategyManager<RayonCpu, G>,
    ) -> Result<(), Stopped> {
        let (workload, operator, tasks) = (self.workload, self.operator, self.tasks);
        let on_cpu = |task: &Task| operator.on_cpu(task);
        let strategy = self.cell.strategy.parse()?;
        let manager = manager.with_objective(self.cell.objective.parse()?);
        let manager = match &self.cell.prices {
            Some(path) => manager.with_prices(Arc::new(read_prices(path)?)),
            None => manager,
        };
        // Only a GPU that was asked for comes here, software or not.
        let manager = manager
            .with_strategy(strategy)
            .with_timeout(Some(self.worker.devices.timeout()))
            .allow_software_gpu();
        let iterations = self.worker.iterations;
        let on_gpu = !matches!(self.cell.gpus, BatchGpus::Unwanted);
        let profiler = get_profiler(true);
        profiler.reset();
        let mut failed = BTreeSet::new();
        let execute = || {
            let batch = manager.operation(workload.name());
            batch.workload(workload.profile()).execute(tasks, on_cpu)
        };
        let (begun, mut executed) = (Instant::now(), Executed::default());
        for call in 0..iterations.warmup.saturating_add(iterations.measured) {
            if call == iterations.warmup {
                profiler.reset();
                executed.is_warm = true;
            }
            let result = match execute() {
                Ok(result) => result,
                Err(error) => {
                    self.worker.outbox.send(&measured(executed.profile()));
                    return Err(Stopped::failed(&error));
                }
            };
            let fallbacks = executed.add(&result, self.cell).into_iter();
            failed.extend(fallbacks.filter_map(|fallback| fallback.device));
            let outbox = &mut self.worker.outbox;
            if outbox.is_due(on_gpu) {
                outbox.send(&measured(executed.profile()));
            }
            let is_over = |limit| begun.elapsed() > limit;
            if executed.is_warm && iterations.at_most.is_some_and(is_over) {
                break;
            }
        }
        self.worker.outbox.send(&measured(executed.profile()));
        for id in &failed {
            // The next kernel gets a device that was opened anew.
            self.worker.devices.close(id);
        }
        Ok(())
    }
}

/// The executions of a cell's batch.
#[derive(Default)]
struct Executed {
    /// One per device, or devices together, that the batch ran on, with the warm-up calls.
    operations: Vec<Operation>,
    /// Warm-up is over: the recorder has the measured executions.
    is_warm: bool,
}

impl Executed {
    fn add<T>(&mut self, result: &ExecutionResult<T>, cell: &BatchCell) -> Vec<Fallback> {
        let announced = cell.operation(&result.ran_on());
        let is_first = self.operations.is_empty();
        let operations = &mut self.operations;
        let known = (operations.iter()).position(|known| known.device == announced.device);
        let at = known.unwrap_or_else(|| {
            operations.push(announced);
            operations.len() - 1
        });
        let operation = &mut operations[at];
        let executions = executions(result, cell);
        let fallbacks = executions.fallbacks.clone();
        operation
            .executions
            .get_or_insert_default()
            .append(executions);
        if !self.is_warm {
            if operation.runs.is_empty() {
                operation.runs.push(Run::default());
            }
            let run = &mut operation.runs[0];
            let ns = result.execution_time.as_nanos() as f64;
            match is_first {
                true => run.first_call_ns = Some(ns),
                false => run.warmup_ns.push(ns),
            }
        }
        fallbacks
    }

    /// The executions, and what the recorder has of the measured ones.
    fn profile(&self) -> Profile {
        let recorded = match self.is_warm {
            true => get_profiler(true).snapshot(),
            false => Profile::default(),
        };
        let mut operations = self.operations.clone();
        for operation in recorded.operations {
            let key = operation.key();
            match operations.iter_mut().find(|known| known.key() == key) {
                Some(known) => add_recorded(known, operation),
                None => operations.push(operation),
            }
        }
        Profile {
            environment: Environment {
                recorder: recorded.environment.recorder,
                ..Environment::default()
            },
            operations,
            ..Profile::default()
        }
    }
}

/// Adds the recorder's data, which has only the last execution's decision, to the operation.
fn add_recorded(known: &mut Operation, recorded: Operation) {
    let executed = std::mem::take(known);
    let warm_up = executed.runs.into_iter().next().unwrap_or_default();
    let measured = recorded.runs.into_iter().next().unwrap_or_default();
    *known = Operation {
        workload: executed.workload,
        executions: executed.executions,
        runs: vec![Run {
            first_call_ns: warm_up.first_call_ns,
            warmup_ns: warm_up.warmup_ns,
            ..measured
        }],
        ..recorded
    };
}

/// An execution for the profile.
fn executions<T>(result: &ExecutionResult<T>, cell: &BatchCell) -> Executions {
    let decision = &result.decision;
    let mut device_tasks = BTreeMap::new();
    if cell.gpus().len() > 1 && result.gpu.tasks > 0 {
        let gpus = result.gpus.iter();
        let gpus = gpus.map(|gpu| (gpu.device.clone(), gpu.share.tasks as u64));
        let cpu = (Device::CPU.to_owned(), result.cpu.tasks as u64);
        device_tasks.extend(gpus.chain([cpu]));
    }
    Executions {
        executions: Some(1),
        decided_by: BTreeMap::from([(decision.basis.name().to_owned(), 1)]),
        strategy: Some(decision.strategy.to_string()),
        predicted_ns: decision.predicted_ns(),
        why: Some(match decision.measures_all() {
            true => format!(
                "{}; every device began, and the measured rates decided the rest",
                decision.reason()
            ),
            false => decision.reason(),
        }),
        tasks: Some(cell.tasks as u64),
        gpu_tasks: Some(result.gpu.tasks as u64),
        device_tasks,
        recalled: (result.recalled > 0).then_some(result.recalled as u64),
        fallbacks: fallbacks(result, cell),
        device_error: result.errors.first().map(ToString::to_string),
        decided: None,
    }
}

/// What GPUs of the batch failed at, or why they were left out.
fn fallbacks<T>(result: &ExecutionResult<T>, cell: &BatchCell) -> Vec<Fallback> {
    let failure = |device: Option<&String>, error: &DeviceError, tasks: usize| Fallback {
        // Without a GPU the executor makes up a name.
        device: device
            .filter(|device| cell.gpus().contains(device))
            .cloned(),
        error: format!("{}: {}", error.kind, error.message),
        executions: 1,
        tasks: tasks as u64,
    };
    let first = result.errors.first();
    let failed = result.gpus.iter().filter_map(|gpu| {
        let tasks = gpu.fallback_tasks;
        let error = gpu.errors.first().or(first.filter(|_| tasks > 0))?;
        Some(failure(Some(&gpu.device), error, tasks))
    });
    let left_out = result.left_out.iter();
    if let (true, Some(error)) = (result.gpus.is_empty(), first) {
        // No GPU could be used, and what was promised to all of them is the CPU's.
        let device = left_out.map(|left_out| &left_out.device).next();
        return vec![failure(device, error, result.fallback.tasks)];
    }
    let left_out = left_out.map(|left_out| failure(Some(&left_out.device), &left_out.why, 0));
    failed.chain(left_out).collect()
}
