//! Describes an execution in words.

use std::fmt;
use std::time::Duration;

use breakeven_profile::unit;

use super::counts::MOST_ERRORS;
use super::result::{ExecutionResult, Share};
use crate::error::DeviceError;
use crate::plan::{ExecutionStrategy, Resource};

/// What ran where, why, predicted and actual, as text: see
/// [`ExecutionResult::explain`].
#[derive(Debug)]
pub struct Explanation<'r, T> {
    result: &'r ExecutionResult<T>,
}

impl<T> ExecutionResult<T> {
    /// Describes the execution as text: what ran where, why, predicted and actual.
    pub fn explain(&self) -> Explanation<'_, T> {
        Explanation { result: self }
    }
}

impl<T> Explanation<'_, T> {
    /// The tasks that were done, if not all of them were.
    fn stopped_after(&self) -> Option<usize> {
        let done = self.result.cpu.tasks + self.result.gpu.tasks;
        (done < self.result.tasks).then_some(done)
    }

    fn ran(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let result = self.result;
        let (tasks, took) = (result.tasks, result.execution_time);
        let line = headline(&result.operation, tasks, took, result.strategy_used);
        write!(f, "{line}")?;
        match self.stopped_after() {
            Some(done) => writeln!(f, ", stopped after {}", unit::plural(done as u64, "task"))?,
            None => writeln!(f)?,
        }
        let gpus = result.gpus.iter();
        let gpus = gpus.map(|gpu| (gpu.device.as_str(), &gpu.share, "launches"));
        for (name, share, pieces) in [("cpu", &result.cpu, "spans")].into_iter().chain(gpus) {
            if share.spans > 0 {
                writeln!(f, "  {}", side(name, share, pieces))?;
            } else if matches!(result.decision.strategy, ExecutionStrategy::Hybrid { .. }) {
                writeln!(f, "  {name}: no tasks")?;
            }
        }
        Ok(())
    }

    fn why(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decision = &self.result.decision;
        let (basis, reasons) = (decision.basis.name(), decision.reasons());
        match &reasons[..] {
            _ if decision.measures_all() => writeln!(
                f,
                "why: {basis}; every device began, and the measured rates decided the rest"
            )?,
            [reason] => return writeln!(f, "why: {reason}"),
            _ => writeln!(f, "why: {basis}")?,
        }
        reasons
            .iter()
            .try_for_each(|reason| writeln!(f, "  {reason}"))
    }

    fn predictions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decision = &self.result.decision;
        for candidate in &decision.candidates {
            if let Some(ns) = candidate.predicted_ns {
                let (strategy, evidence) = (candidate.strategy, candidate.evidence);
                let ns = unit::time(ns);
                write!(f, "  {strategy:<13} predicted {ns} ({evidence})")?;
                let entries = Resource::ALL.map(|resource| {
                    let aim = decision.aim.as_deref()?;
                    aim.spent(candidate, resource)
                });
                for spent in entries.into_iter().flatten() {
                    write!(f, ", {spent}")?;
                }
                writeln!(f)?;
            }
        }
        let is_whole = self.stopped_after().is_none();
        if let Some(ns) = decision.predicted_ns().filter(|ns| *ns > 0.0 && is_whole) {
            let actual = self.result.execution_time.as_nanos() as f64;
            let (times, actual) = (unit::count(actual / ns), unit::time(actual));
            writeln!(f, "  actual        {actual} ({times} times the prediction)")?;
        }
        Ok(())
    }

    fn failures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let result = self.result;
        match &result.gpus[..] {
            several @ [_, _, ..] => {
                for gpu in several {
                    failed(f, &gpu.device, &gpu.errors)?;
                }
            }
            _ => failed(f, "device", &result.errors)?,
        }
        if result.fallback.tasks > 0 {
            let tasks = unit::plural(result.fallback.tasks as u64, "task");
            let part = unit::percent(result.fallback_part());
            write!(f, "fallback: {tasks} ({part}) went to the CPU")?;
            if let Some(delay) = result.fallback.delay {
                let delay = unit::time(delay.as_nanos() as f64);
                write!(f, ", {delay} after the error")?;
            }
            writeln!(f)?;
        }
        if let Some(fits) = result.fallback.fits.filter(|fits| *fits > 0) {
            let fits = unit::plural(fits as u64, "task");
            writeln!(f, "memory: {fits} fitted one launch")?;
        }
        if result.recalled > 0 {
            writeln!(
                f,
                "recalled: {} of launches that were overdue; the CPU ran them",
                unit::plural(result.recalled as u64, "task")
            )?;
        }
        if result.checked > 0 {
            let checked = unit::plural(result.checked as u64, "output");
            writeln!(f, "checked: {checked} against the CPU's")?;
        }
        Ok(())
    }
}

/// The errors of a device, equal ones once.
fn failed(f: &mut fmt::Formatter<'_>, name: &str, errors: &[DeviceError]) -> fmt::Result {
    for equal in errors.chunk_by(|a, b| a == b) {
        write!(f, "{name}: {}", equal[0])?;
        match equal.len() {
            1 => writeln!(f)?,
            MOST_ERRORS => writeln!(f, " ({MOST_ERRORS} times or more)")?,
            times => writeln!(f, " ({times} times)")?,
        }
    }
    Ok(())
}

fn side(name: &str, share: &Share, pieces: &str) -> String {
    let busy = unit::time(share.busy.as_nanos() as f64);
    let pieces = match share.spans {
        1 => pieces.trim_end_matches("es").trim_end_matches('s'),
        _ => pieces,
    };
    let (tasks, spans) = (unit::plural(share.tasks as u64, "task"), share.spans);
    format!("{name}: {tasks} in {spans} {pieces}, busy for {busy}")
}

impl<T> fmt::Display for Explanation<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ran(f)?;
        self.why(f)?;
        self.predictions(f)?;
        self.failures(f)
    }
}

/// Describes what ran where, in a line.
pub(super) fn headline(
    operation: &str,
    tasks: usize,
    took: Duration,
    strategy: ExecutionStrategy,
) -> String {
    // A name may have anything in it, also what a terminal obeys.
    let operation = operation.replace(char::is_control, "\u{fffd}");
    let time = unit::time(took.as_nanos() as f64);
    let tasks = unit::plural(tasks as u64, "task");
    format!("{operation}: {tasks} in {time}, {strategy}")
}

/// Returns the strategy that the batch amounted to, from the tasks that each side ran.
pub(super) fn amounted_to(cpu: usize, gpu: usize) -> ExecutionStrategy {
    if gpu == 0 {
        return ExecutionStrategy::CpuOnly;
    }
    if cpu == 0 {
        return ExecutionStrategy::GpuOnly;
    }
    let percent = (200 * gpu as u128 + (cpu + gpu) as u128) / (2 * (cpu + gpu) as u128);
    ExecutionStrategy::split(u8::try_from(percent.clamp(1, 99)).expect("at most 99"))
}
