//! What must be true of the end of a case, whatever went wrong in it.

use std::sync::atomic::{AtomicU32, Ordering};

use breakeven::execute::{
    ExecuteError, ExecutionResult, Fallback, FallbackPolicy, Stop, TaskError,
};
use breakeven::plan::ExecutionStrategy;
use breakeven::testing::{FaultKind, SimulatedCounts};
use breakeven::{DeviceError, DeviceErrorKind};

use super::case::{Bad, Call, Case, Check};
use super::oracle::{Output, SCRIPTED, value_of};

/// What a case showed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Observed {
    /// Calls and batches that a fault met.
    pub(super) faults: u64,
    /// Tasks that fell back.
    pub(super) fallen: usize,
    /// Tasks that were taken back from launches that lasted.
    pub(super) recalled: usize,
    /// Executions that the policy ended.
    pub(super) refusals: u64,
    /// Tasks whose outputs came from the GPU.
    pub(super) gpu_tasks: usize,
    /// Bad tasks that failed.
    pub(super) failed_tasks: usize,
    /// Executions that their deadline ended.
    pub(super) stops: u64,
}

impl Observed {
    /// What both showed.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            faults: self.faults + other.faults,
            fallen: self.fallen + other.fallen,
            recalled: self.recalled + other.recalled,
            refusals: self.refusals + other.refusals,
            gpu_tasks: self.gpu_tasks + other.gpu_tasks,
            failed_tasks: self.failed_tasks + other.failed_tasks,
            stops: self.stops + other.stops,
        }
    }
}

/// What `execute` and `execute_each` both give.
pub(super) struct End {
    outputs: Vec<Result<Output, TaskError<String>>>,
    cpu_tasks: usize,
    gpu_tasks: usize,
    fallback_occurred: bool,
    fallback: Fallback,
    /// Tasks that fell back from each GPU; empty where none was used.
    fell_from: Vec<usize>,
    recalled: usize,
    errors: Vec<DeviceError>,
    checked: usize,
}

impl End {
    /// That of a result, whose outputs are made alike.
    pub(super) fn of<T>(
        result: ExecutionResult<T>,
        output: impl FnMut(T) -> Result<Output, TaskError<String>>,
    ) -> Self {
        Self {
            outputs: result.outputs.into_iter().map(output).collect(),
            cpu_tasks: result.cpu.tasks,
            gpu_tasks: result.gpu.tasks,
            fallback_occurred: result.fallback_occurred,
            fallback: result.fallback,
            fell_from: result.gpus.iter().map(|gpu| gpu.fallback_tasks).collect(),
            recalled: result.recalled,
            errors: result.errors,
            checked: result.checked,
        }
    }

    /// Tasks that a stop kept from running.
    fn not_run(&self) -> usize {
        let is_not_run = |output: &&_| matches!(output, Err(TaskError::NotRun(_)));
        self.outputs.iter().filter(is_not_run).count()
    }
}

/// What is known of a case after its end.
pub(super) struct Findings<'c> {
    pub(super) case: &'c Case,
    pub(super) counts: &'c SimulatedCounts,
    /// The machine was too busy for a launch, which is no fault of the script's.
    pub(super) has_timed_out: bool,
    /// How often the CPU's function ran for each task.
    pub(super) calls: &'c [AtomicU32],
    /// Most tasks that were reported as done.
    pub(super) most_reported: usize,
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

impl Findings<'_> {
    /// What is not as it must be, else what was seen.
    pub(super) fn judge(
        &self,
        outcome: &Result<End, ExecuteError<String>>,
    ) -> Result<Observed, String> {
        let mut seen = Observed {
            faults: self.counts.faults.values().sum(),
            ..Observed::default()
        };
        if self.case.strategy == ExecutionStrategy::CpuOnly {
            let submits = self.counts.submits;
            ensure(submits == 0, || format!("{submits} launches of cpu-only"))?;
        }
        match outcome {
            Ok(result) => {
                self.outputs(result)?;
                self.shares(result)?;
                self.calls(result)?;
                self.errors(result)?;
                seen.fallen = result.fallback.tasks;
                seen.recalled = result.recalled;
                seen.gpu_tasks = result.gpu_tasks;
                seen.failed_tasks = result
                    .outputs
                    .iter()
                    .filter(|output| output.is_err())
                    .count()
                    - result.not_run();
                seen.stops = u64::from(result.not_run() > 0);
            }
            Err(ExecuteError::Task { index, error }) => {
                self.is_scripted(*index, error)?;
                ensure(self.case.call != Call::Each, || {
                    "a task ended the others".to_owned()
                })?;
                seen.failed_tasks = 1;
            }
            Err(ExecuteError::Stopped { why, done, tasks }) => {
                let set = self.may_stop(*why);
                ensure(set && self.case.call != Call::Each, || {
                    format!("stopped: {why}")
                })?;
                ensure(done <= tasks && *tasks == self.case.tasks, || {
                    format!("stopped after {done} of {tasks} tasks")
                })?;
                seen.stops = 1;
            }
            Err(ExecuteError::Device {
                error,
                fallen,
                tasks,
            }) => {
                self.refusal(error, *fallen, *tasks)?;
                seen.refusals = 1;
            }
            Err(error) => return Err(format!("an error that nothing explains: {error}")),
        }
        Ok(seen)
    }

    /// Complete, in order, each equal to the CPU's.
    fn outputs(&self, result: &End) -> Result<(), String> {
        let found = result.outputs.len();
        ensure(found == self.case.tasks, || format!("{found} outputs"))?;
        for (index, output) in result.outputs.iter().enumerate() {
            match output {
                Ok(output) if output.value == value_of(index as u64) => {}
                Ok(_) => return Err(format!("the output of task {index} is wrong")),
                Err(TaskError::NotRun(why)) if self.may_stop(*why) => {}
                Err(error) => self.is_scripted(index, error)?,
            }
        }
        let reported = self.most_reported;
        let all = self.case.deadline.is_none() || result.not_run() > 0;
        ensure(all || reported == found, || {
            format!("{reported} tasks were reported")
        })
    }

    /// True of a stop that the case has in it.
    fn may_stop(&self, why: Stop) -> bool {
        match why {
            Stop::Deadline => self.case.deadline.is_some(),
            Stop::Cancelled => self.case.cancel.is_some(),
            _ => false,
        }
    }

    fn has_memory_limit(&self) -> bool {
        self.case.gpus.iter().any(|gpu| gpu.memory_for.is_some())
    }

    /// A task fails where the case says so, and as it says.
    fn is_scripted(&self, index: usize, error: &TaskError<String>) -> Result<(), String> {
        let scripted = match (self.case.bad, error) {
            (Some((bad, Bad::Error)), TaskError::Failed(text))
            | (Some((bad, Bad::Panic)), TaskError::Panicked(text)) => {
                bad == index && text == SCRIPTED
            }
            _ => false,
        };
        ensure(scripted, || format!("task {index}: {error}"))
    }

    /// Each task is counted once, on the side that did it.
    fn shares(&self, result: &End) -> Result<(), String> {
        let (cpu, gpu) = (result.cpu_tasks, result.gpu_tasks);
        ensure(cpu + gpu + result.not_run() == self.case.tasks, || {
            format!("the CPU did {cpu} and the GPU {gpu}")
        })?;
        let fallen = result.fallback.tasks;
        ensure(fallen <= cpu + result.not_run(), || {
            format!("{fallen} fell back, the CPU did {cpu}")
        })?;
        let from: usize = result.fell_from.iter().sum();
        ensure(result.fell_from.is_empty() || from == fallen, || {
            format!("{fallen} fell back, by device {:?}", result.fell_from)
        })?;
        ensure(result.fallback_occurred == (fallen > 0), || {
            format!("{fallen} fell back, reported: {}", result.fallback_occurred)
        })?;
        // A stop may come before the policy's word on tasks that nobody does then.
        let asked = self.case.strategy != ExecutionStrategy::Auto;
        ensure(result.recalled <= cpu + result.not_run(), || {
            format!("{} taken back, the CPU did {cpu}", result.recalled)
        })?;
        ensure(!asked || result.recalled == 0, || {
            format!("{} taken back from who was asked", result.recalled)
        })?;
        let allowed = result.not_run() > 0 || self.allows(fallen);
        ensure(allowed, || {
            format!("{fallen} fell back in spite of the policy")
        })
    }

    /// No task ran more than once, but for the checks and the launches that failed.
    fn calls(&self, result: &End) -> Result<(), String> {
        let failed = result.fallback.failed_spans;
        let looks = usize::from(self.case.check != Check::None);
        let counts = || self.calls.iter().map(|calls| calls.load(Ordering::Relaxed));
        let mut over = (0..self.case.tasks).zip(counts());
        // Without a check the CPU's function runs for the CPU's tasks alone.
        let most = 1 + if looks > 0 { failed.max(looks) } else { 0 };
        if let Some((task, calls)) = over.find(|&(_, calls)| calls as usize > most) {
            return Err(format!(
                "task {task} ran {calls} times, {failed} spans failed"
            ));
        }
        let sum: u64 = counts().map(u64::from).sum();
        let least = result.cpu_tasks as u64;
        ensure(sum >= least, || {
            format!("{sum} calls for {least} tasks of the CPU")
        })?;
        if looks == 0 {
            ensure(sum == least, || {
                format!("{sum} calls for {least} tasks of the CPU")
            })?;
        }
        let enough = self.case.check != Check::All || result.checked >= result.gpu_tasks;
        ensure(enough, || {
            format!("{} outputs were checked", result.checked)
        })
    }

    /// Errors are reported if there were any, and only then.
    fn errors(&self, result: &End) -> Result<(), String> {
        let (reported, failed) = (&result.errors, result.fallback.failed_spans);
        // A quarantined device fails at no span.
        let left_alone =
            |error: &DeviceError| matches!(error.kind, DeviceErrorKind::Unavailable { .. });
        let consistent = match failed {
            0 => reported.iter().all(left_alone),
            _ => !reported.is_empty(),
        };
        ensure(consistent, || {
            format!(
                "{failed} spans failed, {} errors were reported",
                reported.len()
            )
        })?;
        reported
            .iter()
            .try_for_each(|error| self.is_explained(error))
    }

    /// True where so many tasks may fall back.
    fn allows(&self, fallen: usize) -> bool {
        match self.case.policy {
            FallbackPolicy::Allow => true,
            FallbackPolicy::Deny => fallen == 0,
            FallbackPolicy::Budget(part) => fallen as f64 <= part * self.case.tasks as f64,
        }
    }

    /// The execution ended because the policy says so, with one error.
    fn refusal(&self, error: &DeviceError, fallen: usize, tasks: usize) -> Result<(), String> {
        self.is_explained(error)?;
        ensure(tasks == self.case.tasks, || format!("of {tasks} tasks"))?;
        ensure(!self.allows(fallen) && fallen <= tasks, || {
            format!("{fallen} of {tasks} tasks fell back, which the policy allows: {error}")
        })
    }

    /// True of an error that the script, or a machine too busy for the timeout,
    /// brought about.
    fn is_explained(&self, error: &DeviceError) -> Result<(), String> {
        let happened =
            |kinds: &[FaultKind]| kinds.iter().any(|&kind| self.counts.faults_of(kind) > 0);
        let scripted = happened(&[FaultKind::SubmitError, FaultKind::PollError]);
        let explained = match error.kind {
            DeviceErrorKind::Timeout => true,
            DeviceErrorKind::Panic => {
                scripted || happened(&[FaultKind::SubmitPanic, FaultKind::PollPanic])
            }
            DeviceErrorKind::WrongResult => {
                let bad = self.case.bad.is_some() && self.case.check != Check::None;
                bad || scripted
                    || happened(&[FaultKind::Wrong, FaultKind::TooFew, FaultKind::TooMany])
            }
            DeviceErrorKind::DeviceLost => scripted || happened(&[FaultKind::Lost]),
            DeviceErrorKind::OutOfMemory | DeviceErrorKind::NeverFits
                if self.has_memory_limit() =>
            {
                true
            }
            // What an earlier execution met.
            DeviceErrorKind::Unavailable { .. } => {
                self.case.bad.is_some()
                    || self.has_timed_out
                    || self.counts.faults.values().sum::<u64>() > 0
                    || self.has_memory_limit()
            }
            DeviceErrorKind::OutOfMemory => scripted || happened(&[FaultKind::OutOfMemoryAbove]),
            _ => scripted,
        };
        ensure(explained, || {
            format!("an error that nothing explains: {error}")
        })
    }
}
