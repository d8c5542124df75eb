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
use breakeven_profile::profile::{Device, Failure};

use super::{Stopped, Worker};
use crate::engine::protocol::{BatchCell, BatchGpus, Execution, GpuFailure, Message};
use crate::engine::suite::{BatchWorkload, CallMeter, Event, Task, with_operator};

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
    /// The cost model is told of it even where there is no GPU to choose.
    is_lesson: bool,
    workload: BatchWorkload,
    operator: &'b Arc<dyn Operator<In = f32, Out = E>>,
    tasks: &'b [Task],
}

impl Worker<'_> {
    pub(super) fn batch(&mut self, cell: &BatchCell, is_lesson: bool) -> Result<(), Stopped> {
        let workload = cell.workload()?;
        let (operator, tasks) = workload.build()?;
        with_operator!(&operator, operator => {
            let executing = Executing {
                worker: self,
                cell,
                is_lesson,
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

    /// Writes what was learned, and tells whether it is there for others.
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
                if !self.is_lesson {
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
        let mut ran_on = String::new();
        for call in 0..iterations.warmup.saturating_add(iterations.measured) {
            let warm_up = call < iterations.warmup;
            if call == iterations.warmup {
                profiler.reset();
            }
            let result = match execute() {
                Ok(result) => result,
                Err(error) => {
                    self.recorded()?;
                    return Err(Stopped::failed(&error));
                }
            };
            let execution = told(&result, self.cell, warm_up);
            ran_on.clone_from(&execution.device);
            let failures = execution.failures.iter();
            failed.extend(failures.filter_map(|failure| failure.device.clone()));
            let message = Message::Execution(Box::new(execution));
            let outbox = &mut self.worker.outbox;
            // At once where a driver may end the process, else with the next lot.
            let is_due = on_gpu || outbox.is_due();
            match is_due {
                true => outbox.send(&message)?,
                false => outbox.post(&message)?,
            }
            if is_due && !warm_up {
                self.recorded()?;
            }
            let is_over = |limit| begun.elapsed() > limit;
            if !warm_up && iterations.at_most.is_some_and(is_over) {
                break;
            }
        }
        self.recorded()?;
        if let Some(meter) = &self.worker.energy {
            let energy = energy_of(meter, &ran_on, || execute().map(|result| result.ran_on()));
            if let Some(event) = energy {
                self.worker.outbox.send(&Message::Event(event))?;
            }
        }
        for id in &failed {
            // The next kernel gets a device that was opened anew.
            self.worker.devices.close(id);
        }
        Ok(())
    }

    /// Hands over what the recorder has.
    fn recorded(&mut self) -> Result<()> {
        let mut profile = get_profiler(true).snapshot();
        // Nobody reads them.
        profile.stacks.clear();
        let outbox = &mut self.worker.outbox;
        outbox.send(&Message::Recorded(Box::new(profile)))
    }
}

/// What counters tell of further batches on the devices of the last one; none where they tell
/// nothing, or where a batch fails.
fn energy_of<E>(
    meter: &CallMeter,
    devices: &str,
    mut execute: impl FnMut() -> Result<String, E>,
) -> Option<Event> {
    let mut elsewhere = false;
    let ids: Vec<&str> = devices.split('+').collect();
    let told = meter.of(&ids, 1, &mut |_| {
        execute().map(|ran_on| {
            elsewhere |= ran_on != devices;
            0.0
        })
    });
    let told = told.ok()??;
    Some(match (told, elsewhere) {
        (Ok(energy), false) => Event::Energy(energy),
        (Ok(_), true) => Event::EnergyUnknown(
            "the batches that were counted did not all run on the same devices".to_owned(),
        ),
        (Err(why), _) => Event::EnergyUnknown(why),
    })
}

/// An execution in short.
fn told<T>(result: &ExecutionResult<T>, cell: &BatchCell, warm_up: bool) -> Execution {
    let decision = &result.decision;
    let mut device_tasks = BTreeMap::new();
    if cell.gpus().len() > 1 && result.gpu.tasks > 0 {
        let gpus = result.gpus.iter();
        let gpus = gpus.map(|gpu| (gpu.device.clone(), gpu.share.tasks as u64));
        let cpu = (Device::CPU.to_owned(), result.cpu.tasks as u64);
        device_tasks.extend(gpus.chain([cpu]));
    }
    Execution {
        warm_up,
        device: result.ran_on(),
        ns: u64::try_from(result.execution_time.as_nanos()).unwrap_or(u64::MAX),
        decided_by: decision.basis.name().to_owned(),
        strategy: decision.strategy.to_string(),
        predicted_ns: decision.predicted_ns(),
        why: match decision.measures_all() {
            true => format!(
                "{}; every device began, and the measured rates decided the rest",
                decision.reason()
            ),
            false => decision.reason(),
        },
        gpu_tasks: result.gpu.tasks as u64,
        device_tasks,
        failures: failures(result, cell),
    }
}

/// What GPUs of the batch failed at, or why they were left out.
fn failures<T>(result: &ExecutionResult<T>, cell: &BatchCell) -> Vec<GpuFailure> {
    let failure = |device: Option<&String>, error: &DeviceError, tasks: usize| GpuFailure {
        // Without a GPU the executor makes up a name.
        device: device
            .filter(|device| cell.gpus().contains(device))
            .cloned(),
        error: Failure {
            kind: error.kind.to_string(),
            message: error.message.clone(),
        },
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
