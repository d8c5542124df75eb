//! What a batch was seen to take, and who is told of it: the cost model, the
//! recorder, the caller.

use std::time::{Duration, SystemTime};

use super::executor::CpuExecutor;
use super::explain::amounted_to;
use super::record::ExecutionRecord;
use super::result::{ExecutionResult, Share};
use super::run::Asked;
use super::schedule::Mode;
use super::start::Start;
use super::tally::{DriverTally, Tally};
use crate::plan::{ExecutionStrategy, Observation, Probe, RanOn};
use crate::workload::WorkloadProfile;

/// What a batch was seen to take.
pub(super) struct Seen {
    cpu: Share,
    pub(super) driver: DriverTally,
    tasks: usize,
    took: Duration,
}

impl Seen {
    pub(super) fn of(tally: &Tally, tasks: usize, took: Duration) -> Self {
        let mut driver = std::mem::take(&mut *tally.driver());
        driver.fallback.delay = tally.delay().filter(|_| driver.fallback.tasks > 0);
        Self {
            cpu: tally.cpu(),
            driver,
            tasks,
            took,
        }
    }

    pub(super) fn used(&self) -> ExecutionStrategy {
        amounted_to(self.cpu.tasks, self.driver.share.tasks)
    }

    /// Tells the cost model.
    pub(super) fn teach<C: CpuExecutor, G, V>(
        &self,
        costs: &crate::plan::Costs,
        asked: &Asked<'_, C, G, V>,
        workload: &WorkloadProfile,
        start: &Start,
        mode: Mode,
    ) {
        let name = start.device.name.as_deref();
        let (operation, memory) = (asked.operation, workload.memory_per_task);
        let workers = asked.manager.cpu.workers().max(1);
        let at = SystemTime::now();
        let tell = |on, tasks: usize, time: Duration| {
            let seen = Observation {
                at,
                tasks: tasks as u64,
                ns: u64::try_from(time.as_nanos()).unwrap_or(u64::MAX),
                transfer_ns: None,
                workers,
            };
            costs.observe(operation, memory, on, &seen);
        };
        let on_cpu = self.cpu.tasks > 0;
        let on_gpu = name.filter(|_| self.driver.share.tasks > 0);
        let tried = name.filter(|_| on_gpu.is_some() || !self.driver.recalled.is_empty());
        if on_cpu {
            // Of a batch of its own it counts how evenly the workers shared it.
            let was_alone = tried.is_none() && self.driver.errors.is_empty();
            let time = match mode == Mode::Cpu || was_alone {
                true => self.took,
                false => self.cpu.busy / u32::try_from(workers).unwrap_or(u32::MAX),
            };
            tell(RanOn::Cpu, self.cpu.tasks, time);
        }
        if let Some(name) = name {
            // What was taken back would have taken at least so long.
            let recalled = &self.driver.recalled;
            for (tasks, time) in self.driver.launches.iter().chain(recalled) {
                tell(RanOn::Gpu(name), *tasks, *time);
            }
        }
        // A run that looked for the rates says little of one that knows them.
        let is_known = start.decision.probe == Probe::None && self.driver.errors.is_empty();
        if on_cpu
            && mode == Mode::Both
            && is_known
            && let Some(name) = on_gpu
        {
            tell(RanOn::Both(name), self.tasks, self.took);
        }
        let ns = u64::try_from(self.took.as_nanos()).unwrap_or(u64::MAX);
        costs.note_run(operation, memory, ns, on_cpu, tried);
        let fits = self.driver.fallback.fits.filter(|fits| *fits > 0);
        if let (Some(fits), Some(name)) = (fits, name) {
            costs.remember_fit(operation, memory, name, fits as u64, at);
        }
    }

    /// Tells the log what fell back and why: once.
    pub(super) fn log(&self, operation: &str) {
        let (fallen, tasks) = (self.driver.fallback.tasks, self.tasks);
        if fallen > 0
            && let Some(error) = self.driver.errors.first()
        {
            log::warn!(
                "{operation}: the CPU does {fallen} of {tasks} tasks in the GPU's place: {error}"
            );
        }
    }

    /// Tells the recorder.
    pub(super) fn record<C, G, V>(
        &self,
        asked: &Asked<'_, C, G, V>,
        start: &Start,
        done: usize,
        is_whole: bool,
    ) {
        ExecutionRecord {
            operation: asked.operation,
            device: start.device.name.as_deref(),
            tasks: self.tasks,
            took: self.took,
            used: self.used(),
            decision: &start.decision,
            fallback: &self.driver.fallback,
            error: self.driver.errors.first(),
            recalled: self.driver.recalled_tasks(),
            done,
            is_whole,
        }
        .tell();
    }

    pub(super) fn result<T, C, G, V>(
        self,
        outputs: Vec<T>,
        asked: &Asked<'_, C, G, V>,
        start: Start,
    ) -> ExecutionResult<T> {
        ExecutionResult {
            strategy_used: self.used(),
            recalled: self.driver.recalled_tasks(),
            outputs,
            execution_time: self.took,
            fallback_occurred: self.driver.fallback.tasks > 0,
            errors: self.driver.errors,
            cpu: self.cpu,
            gpu: self.driver.share,
            fallback: self.driver.fallback,
            checked: self.driver.checked,
            operation: asked.operation.to_owned(),
            device: start.device.name,
            decision: start.decision,
        }
    }
}
