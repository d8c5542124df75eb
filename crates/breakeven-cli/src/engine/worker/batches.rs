//! Executing a kernel's batch by a strategy, again and again.

use std::future::Ready;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use breakeven::Costs;
use breakeven::execute::{
    ExecutionResult, GpuExecutor, NoGpu, RayonCpu, StrategyManager, read_prices,
};
use breakeven::plan::{GpuSpec, Probe};
use breakeven::{DeviceError, DeviceErrorKind, Element, Operator, Tensor};
use breakeven_profile::get_profiler;
use breakeven_profile::profile::Failure;

use super::{Stopped, Worker};
use crate::engine::protocol::{BatchCell, BatchGpu, Execution, Message};
use crate::engine::suite::{BatchWorkload, Task, with_operator};

/// A GPU that there is none of, or that does not open: every launch says why.
struct Unusable {
    device: Option<GpuSpec>,
    error: DeviceError,
}

impl<I, T> GpuExecutor<I, T> for Unusable {
    type Flight = Ready<Result<Vec<T>, DeviceError>>;

    fn start(&self, _: &[I]) -> Result<Self::Flight, DeviceError> {
        Err(self.error.clone())
    }

    fn device(&self) -> Option<&GpuSpec> {
        self.device.as_ref()
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
        let unusable = match &self.cell.gpu {
            BatchGpu::Unwanted => {
                let manager = StrategyManager::<_, NoGpu>::cpu_only(cpu);
                if !self.is_lesson {
                    return self.execute(manager);
                }
                let costs = self.worker.costs()?;
                return self.taught(manager, costs);
            }
            BatchGpu::Absent(why) => Unusable {
                device: None,
                error: DeviceError::new(DeviceErrorKind::Unavailable { until: None }, why),
            },
            BatchGpu::Device(id) => match self.worker.devices.executor(id, self.operator) {
                Ok(executor) => {
                    let costs = self.worker.costs()?;
                    let manager = StrategyManager::new(cpu, Arc::new(executor));
                    return self.taught(manager, costs);
                }
                Err(error) => Unusable {
                    device: Some(GpuSpec::named(id)),
                    error,
                },
            },
        };
        // What a device that is not there takes is nothing to learn.
        let manager = StrategyManager::new(cpu, Arc::new(unusable))
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
        let on_cpu = |task: &Task| self.operator.on_cpu(task);
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
        let on_gpu = !matches!(self.cell.gpu, BatchGpu::Unwanted);
        let profiler = get_profiler(true);
        profiler.reset();
        let mut has_failed = false;
        let begun = Instant::now();
        for call in 0..iterations.warmup.saturating_add(iterations.measured) {
            let warm_up = call < iterations.warmup;
            if call == iterations.warmup {
                profiler.reset();
            }
            let batch = manager
                .operation(self.workload.name())
                .workload(self.workload.profile());
            let result = match batch.execute(self.tasks, on_cpu) {
                Ok(result) => result,
                Err(error) => {
                    self.recorded()?;
                    return Err(Stopped::failed(&error));
                }
            };
            has_failed |= !result.errors.is_empty();
            let message = Message::Execution(Box::new(told(&result, warm_up)));
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
        if let (true, BatchGpu::Device(id)) = (has_failed, &self.cell.gpu) {
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

/// An execution in short.
fn told<T>(result: &ExecutionResult<T>, warm_up: bool) -> Execution {
    let decision = &result.decision;
    let error = |error: &DeviceError| Failure {
        kind: error.kind.to_string(),
        message: error.message.clone(),
    };
    Execution {
        warm_up,
        device: result.ran_on(),
        ns: u64::try_from(result.execution_time.as_nanos()).unwrap_or(u64::MAX),
        decided_by: decision.basis.name().to_owned(),
        strategy: decision.strategy.to_string(),
        predicted_ns: decision.predicted_ns(),
        why: match decision.probe {
            Probe::All => format!(
                "{}; every device began, and the measured rates decided the rest",
                decision.reason()
            ),
            _ => decision.reason(),
        },
        gpu_tasks: result.gpu.tasks as u64,
        fallback_tasks: result.fallback.tasks as u64,
        errors: result.errors.iter().map(error).collect(),
    }
}
