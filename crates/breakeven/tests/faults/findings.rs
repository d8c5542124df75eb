//! What must be true of the end of a case, whatever went wrong in it.

use std::sync::atomic::{AtomicU32, Ordering};

use breakeven::execute::{
    ExecuteError, ExecutionResult, Fallback, FallbackPolicy, FaultKind, SimulatedCounts,
};
use breakeven::plan::ExecutionStrategy;
use breakeven::{DeviceError, DeviceErrorKind};

use super::case::{Case, Check};
use super::oracle::{Output, value_of};

/// What a case showed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    /// Calls and batches that a fault met.
    pub(super) faults: u64,
    /// Tasks that fell back.
    pub(super) fallen: usize,
    /// Executions that the policy ended.
    pub(super) refusals: u64,
    /// Tasks whose outputs came from the GPU.
    pub(super) gpu_tasks: usize,
}

impl Seen {
    /// What both showed.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            faults: self.faults + other.faults,
            fallen: self.fallen + other.fallen,
            refusals: self.refusals + other.refusals,
            gpu_tasks: self.gpu_tasks + other.gpu_tasks,
        }
    }
}

/// What `execute` and `execute_each` both give.
pub(super) struct End {
    outputs: Vec<Output>,
    cpu_tasks: usize,
    gpu_tasks: usize,
    fallback_occurred: bool,
    fallback: Fallback,
    errors: Vec<DeviceError>,
    checked: usize,
}

impl End {
    /// That of a result, each of whose outputs is `output` of its index and it.
    pub(super) fn of<T>(
        result: ExecutionResult<T>,
        mut output: impl FnMut(usize, T) -> Result<Output, ExecuteError<String>>,
    ) -> Result<Self, ExecuteError<String>> {
        let outputs = result.outputs.into_iter().enumerate();
        Ok(Self {
            outputs: outputs
                .map(|(index, it)| output(index, it))
                .collect::<Result<_, _>>()?,
            cpu_tasks: result.cpu.tasks,
            gpu_tasks: result.gpu.tasks,
            fallback_occurred: result.fallback_occurred,
            fallback: result.fallback,
            errors: result.errors,
            checked: result.checked,
        })
    }
}

/// What is known of a case after its end.
pub(super) struct Findings<'c> {
    pub(super) case: &'c Case,
    pub(super) counts: &'c SimulatedCounts,
    /// How often the CPU's function ran for each task.
    pub(super) calls: &'c [AtomicU32],
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

impl Findings<'_> {
    /// What is not as it must be, else what was seen.
    pub(super) fn judge(
        &self,
        outcome: &Result<End, ExecuteError<String>>,
    ) -> Result<Seen, String> {
        let mut seen = Seen {
            faults: self.counts.faults.values().sum(),
            ..Seen::default()
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
                seen.gpu_tasks = result.gpu_tasks;
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
        let mut numbered = (0..).zip(&result.outputs);
        match numbered.find(|(task, output)| output.value != value_of(*task)) {
            None => Ok(()),
            Some((task, _)) => Err(format!("the output of task {task} is wrong")),
        }
    }

    /// Each task is counted once, on the side that did it.
    fn shares(&self, result: &End) -> Result<(), String> {
        let (cpu, gpu) = (result.cpu_tasks, result.gpu_tasks);
        ensure(cpu + gpu == self.case.tasks, || {
            format!("the CPU did {cpu} and the GPU {gpu}")
        })?;
        let fallen = result.fallback.tasks;
        ensure(fallen <= cpu, || {
            format!("{fallen} fell back, the CPU did {cpu}")
        })?;
        ensure(result.fallback_occurred == (fallen > 0), || {
            format!("{fallen} fell back, told: {}", result.fallback_occurred)
        })?;
        let allowed = match self.case.policy {
            FallbackPolicy::Allow => true,
            FallbackPolicy::Deny => fallen == 0,
            FallbackPolicy::Budget(part) => fallen as f64 <= part * self.case.tasks as f64,
        };
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

    /// Errors are told where there were any, and only then.
    fn errors(&self, result: &End) -> Result<(), String> {
        let (told, failed) = (&result.errors, result.fallback.failed_spans);
        ensure(told.is_empty() == (failed == 0), || {
            format!("{failed} spans failed, {} errors were told", told.len())
        })?;
        told.iter().try_for_each(|error| self.is_explained(error))
    }

    /// The execution ended because the policy says so, with one error.
    fn refusal(&self, error: &DeviceError, fallen: usize, tasks: usize) -> Result<(), String> {
        self.is_explained(error)?;
        ensure(tasks == self.case.tasks, || format!("of {tasks} tasks"))?;
        let allowed = match self.case.policy {
            FallbackPolicy::Allow => true,
            FallbackPolicy::Deny => fallen == 0,
            FallbackPolicy::Budget(part) => fallen as f64 <= part * tasks as f64,
        };
        ensure(!allowed && fallen <= tasks, || {
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
                scripted || happened(&[FaultKind::Wrong, FaultKind::TooFew, FaultKind::TooMany])
            }
            DeviceErrorKind::DeviceLost => scripted || happened(&[FaultKind::Lost]),
            DeviceErrorKind::OutOfMemory => scripted || happened(&[FaultKind::OutOfMemoryAbove]),
            _ => scripted,
        };
        ensure(explained, || {
            format!("an error that nothing explains: {error}")
        })
    }
}
