//! Executing a kernel's batch by a strategy, again and again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use breakeven::execute::{
    self, ExecutionResult, GpuExecutor, NoGpu, RayonCpu, StrategyManager, read_prices,
};
use breakeven::plan::GpuSpec;
use breakeven::{Costs, DeviceError, DeviceErrorKind, Element, Operator, Tensor};
use breakeven_profile::get_profiler;
use breakeven_profile::profile::{
    Device, Energy, Environment, Executions, Fallback, Operation, Profile, Run,
};

use super::{Stopped, Worker, measured};
use crate::engine::protocol::{BatchCell, BatchGpus, Message};
use crate::engine::suite::{BatchWorkload, CallMeter, Task, with_operator};

/// A GPU of a batch.
enum Gpu<G> {
    Open(G),
    /// There is none, or it does not open: every launch says why.
    Unusable {
        device: Option<GpuSpec>,
        error: DeviceError,
    },
}

impl<I, T, G: GpuExecutor<I, T>> GpuExecutor<I, T> for Gpu<G> {
    type Flight = G::Flight;

    fn start(&self, tasks: &[I]) -> Result<Self::Flight, DeviceError> {
        match self {
            Self::Open(gpu) => gpu.start(tasks),
            Self::Unusable { error, .. } => Err(error.clone()),
        }
    }

    fn device(&self) -> Option<&dyn execute::Device> {
        match self {
            Self::Open(gpu) => gpu.device(),
            Self::Unusable { device, .. } => device.as_ref().map(|spec| spec as _),
        }
    }

    fn batch_bytes(&self, tasks: &[I]) -> Option<u64> {
        self.open()?.batch_bytes(tasks)
    }

    fn most_tasks(&self) -> Option<usize> {
        self.open().and_then(GpuExecutor::<I, T>::most_tasks)
    }

    fn depth(&self) -> usize {
        self.open().map_or(1, GpuExecutor::<I, T>::depth)
    }

    fn transfer_time(&self, flight: &Self::Flight) -> Option<Duration> {
        self.open()?.transfer_time(flight)
    }
}

impl<G> Gpu<G> {
    fn open(&self) -> Option<&G> {
        match self {
            Self::Open(gpu) => Some(gpu),
            Self::Unusable { .. } => None,
        }
    }
}

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
    fn costs(&mut self) -> Result<Arc<Costs>> {
        if let Some(costs) = &self.costs {
            return Ok(Arc::clone(costs));
        }
        let (costs, warning) = Costs::open_default();
        if let Some(warning) = warning {
            self.outbox.send(&Message::Warning(warning.to_string()))?;
        }
        Ok(Arc::clone(self.costs.insert(Arc::new(costs))))
    }

    /// Writes what was learned, and returns whether it is there for others.
    fn keep(&mut self, costs: &Costs) -> Result<()> {
        if let Err(error) = costs.save() {
            let warning = format!("what was learned was not kept: {error}");
            return self.outbox.send(&Message::Warning(warning));
        }
        let kept = costs.is_kept();
        self.outbox.send(&Message::Learned { kept })
    }
}

impl<E: Element> Executing<'_, '_, '_, E> {
    fn run(mut self) -> Result<(), Stopped> {
        let cpu = Arc::new(RayonCpu::current());
        let gpus = match &self.cell.gpus {
            BatchGpus::Unwanted => {
                let manager = StrategyManager::<_, NoGpu>::cpu_only(cpu);
                // Without a GPU to choose, the cost model learns from a sweep only.
                if self.cell.item.is_none() {
                    return self.execute(manager);
                }
                let costs = self.worker.costs()?;
                return self.taught(manager, costs);
            }
            BatchGpus::Absent(why) => vec![Gpu::Unusable {
                device: None,
                error: DeviceError::new(DeviceErrorKind::Unavailable { until: None }, why),
            }],
            BatchGpus::These(ids) => {
                let (devices, operator) = (&mut self.worker.devices, self.operator);
                let open = |id: &String| match devices.executor(id, operator) {
                    Ok(executor) => Gpu::Open(executor),
                    Err(error) => Gpu::Unusable {
                        device: Some(GpuSpec::named(id)),
                        error,
                    },
                };
                ids.iter().map(open).collect()
            }
        };
        let is_any_open = gpus.iter().any(|gpu| gpu.open().is_some());
        let mut gpus = gpus.into_iter().map(Arc::new);
        let first = gpus.next().context("a batch of no GPUs")?;
        let manager = gpus.fold(StrategyManager::new(cpu, first), StrategyManager::with_gpu);
        if is_any_open {
            let costs = self.worker.costs()?;
            return self.taught(manager, costs);
        }
        // What devices that are not there take is nothing to learn.
        let manager = manager
            .with_costs(Arc::new(Costs::new()))
            .with_back_off(std::time::Duration::ZERO);
        self.execute(manager)
    }

    /// Executes, and writes what the cost model learned of it.
    fn taught<G: GpuExecutor<Task, Tensor<'static, E>>>(
        &mut self,
        manager: StrategyManager<RayonCpu, G>,
        costs: Arc<Costs>,
    ) -> Result<(), Stopped> {
        let manager = manager.with_costs(Arc::clone(&costs));
        let outcome = self.execute(manager);
        self.worker.keep(&costs)?;
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
        let begun = Instant::now();
        let execute = || {
            let batch = manager.operation(workload.name());
            batch.workload(workload.profile()).execute(tasks, on_cpu)
        };
        let (mut executed, mut ran_on) = (Executed::default(), String::new());
        for call in 0..iterations.warmup.saturating_add(iterations.measured) {
            if call == iterations.warmup {
                profiler.reset();
                executed.is_warm = true;
            }
            let result = match execute() {
                Ok(result) => result,
                Err(error) => {
                    self.worker.outbox.send(&measured(executed.profile()))?;
                    return Err(Stopped::failed(&error));
                }
            };
            let fallbacks = executed.add(&result, self.cell).into_iter();
            failed.extend(fallbacks.filter_map(|fallback| fallback.device));
            ran_on = result.ran_on();
            let outbox = &mut self.worker.outbox;
            if outbox.is_due(on_gpu) {
                outbox.send(&measured(executed.profile()))?;
            }
            let is_over = |limit| begun.elapsed() > limit;
            if executed.is_warm && iterations.at_most.is_some_and(is_over) {
                break;
            }
        }
        // The recorder counts the batches for their energy, too.
        let mut profile = executed.profile();
        self.worker.outbox.send(&measured(profile.clone()))?;
        if let Some(meter) = &self.worker.energy {
            let energy = energy_of(meter, &ran_on, || execute().map(|result| result.ran_on()));
            let key = self.cell.operation(&ran_on).key();
            let mut operations = profile.operations.iter_mut();
            let operation = operations.find(|operation| operation.key() == key);
            let run = operation.and_then(|operation| operation.runs.last_mut());
            match energy.zip(run) {
                Some((Ok(energy), run)) => {
                    run.energy = Some(energy);
                    self.worker.outbox.send(&measured(profile))?;
                }
                Some((Err(why), _)) => {
                    let outbox = &mut self.worker.outbox;
                    outbox.energy_unknown(&self.cell.kernel, &ran_on, Some(why))?;
                }
                None => {}
            }
        }
        for id in &failed {
            // The next kernel gets a device that was opened anew.
            self.worker.devices.close(id);
        }
        Ok(())
    }
}

/// What counters report of further batches on the devices of the last one, or why they do not; none
/// if there are no counters, or if a batch fails.
fn energy_of<E>(
    meter: &CallMeter,
    devices: &str,
    mut execute: impl FnMut() -> Result<String, E>,
) -> Option<Result<Energy, String>> {
    let mut elsewhere = false;
    let ids: Vec<&str> = devices.split('+').collect();
    let energy = meter.of(&ids, 1, &mut |_| {
        execute().map(|ran_on| {
            elsewhere |= ran_on != devices;
            0.0
        })
    });
    let energy = energy.ok()??;
    Some(match elsewhere {
        true => energy.and(Err(
            "the batches that were counted did not all run on the same devices".to_owned(),
        )),
        false => energy,
    })
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
