//! An execution in words.

use std::fmt;

use breakeven_profile::unit;

use super::result::{ExecutionResult, Share};
use crate::plan::{Basis, Evidence, ExecutionStrategy, Probe};

/// What ran where, why, predicted and actual, as text: see
/// [`ExecutionResult::explain`].
#[derive(Debug)]
pub struct Explanation<'r, T> {
    result: &'r ExecutionResult<T>,
}

impl<'r, T> Explanation<'r, T> {
    pub(super) fn of(result: &'r ExecutionResult<T>) -> Self {
        Self { result }
    }

    fn ran(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let result = self.result;
        let time = unit::time(result.execution_time.as_nanos() as f64);
        writeln!(
            f,
            "{}: {} tasks in {time}, {}",
            result.operation,
            unit::count(result.outputs.len() as f64),
            result.strategy_used
        )?;
        let gpu = result.device.as_deref().unwrap_or("gpu");
        for (name, share, pieces) in [
            ("cpu", &result.cpu, "spans"),
            (gpu, &result.gpu, "launches"),
        ] {
            if share.spans > 0 {
                writeln!(f, "  {}", side(name, share, pieces))?;
            }
        }
        Ok(())
    }

    fn why(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decision = &self.result.decision;
        match decision.basis {
            Basis::Asked => writeln!(f, "why: {} was asked for", decision.strategy)?,
            Basis::Operator => {
                writeln!(f, "why: BREAKEVEN_STRATEGY asks for {}", decision.strategy)?;
            }
            Basis::Rule(_) => {
                let begins = match decision.probe {
                    Probe::None => "",
                    _ => "; both devices began, the rates seen decided the rest",
                };
                writeln!(
                    f,
                    "why: nothing was measured, the rule says {}{begins}",
                    decision.strategy
                )?;
                for reason in decision.ruling.reasons() {
                    writeln!(f, "  {reason}")?;
                }
            }
            Basis::Model => {
                let margin = decision.margin.map_or_else(String::new, |margin| {
                    format!(", {} less than the next best", unit::percent(margin))
                });
                writeln!(f, "why: the cost model says {}{margin}", decision.strategy)?;
            }
            Basis::Exploration => writeln!(
                f,
                "why: the cost model says {}, and the other device was given a try",
                decision.strategy
            )?,
        }
        Ok(())
    }

    fn predictions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decision = &self.result.decision;
        for candidate in &decision.candidates {
            if let Some(ns) = candidate.predicted_ns {
                let evidence = match candidate.evidence {
                    Evidence::Measured => "measured",
                    Evidence::Fitted => "fitted",
                    Evidence::Heuristic => "from rates",
                };
                let strategy = candidate.strategy.to_string();
                writeln!(
                    f,
                    "  {strategy:<13} predicted {} ({evidence})",
                    unit::time(ns)
                )?;
            }
        }
        if let Some(declined) = decision.declined {
            let gain = unit::percent(declined.gain);
            writeln!(f, "  a split was declined: it would save {gain}")?;
        }
        if let Some(ns) = decision.chosen().and_then(|chosen| chosen.predicted_ns) {
            let actual = self.result.execution_time.as_nanos() as f64;
            let change = unit::change(actual / ns - 1.0);
            writeln!(
                f,
                "  actual        {} ({change} of the prediction)",
                unit::time(actual)
            )?;
        }
        Ok(())
    }

    fn failures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let result = self.result;
        for error in &result.errors {
            writeln!(f, "device: {error}")?;
        }
        if result.fallback.tasks > 0 {
            let delay = result.fallback.delay.map_or_else(String::new, |delay| {
                format!(", {} after the error", unit::time(delay.as_nanos() as f64))
            });
            writeln!(
                f,
                "fallback: {} tasks ({}) went to the CPU{delay}",
                result.fallback.tasks,
                unit::percent(result.fallback_part())
            )?;
        }
        if let Some(fits) = result.fallback.fits.filter(|fits| *fits > 0) {
            writeln!(f, "memory: {fits} tasks fitted one launch")?;
        }
        if result.checked > 0 {
            writeln!(f, "checked: {} outputs against the CPU's", result.checked)?;
        }
        Ok(())
    }
}

fn side(name: &str, share: &Share, pieces: &str) -> String {
    let busy = unit::time(share.busy.as_nanos() as f64);
    let pieces = if share.spans == 1 {
        pieces.trim_end_matches("es").trim_end_matches('s')
    } else {
        pieces
    };
    format!(
        "{name}: {} tasks in {} {pieces}, busy for {busy}",
        share.tasks, share.spans
    )
}

impl<T> fmt::Display for Explanation<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ran(f)?;
        self.why(f)?;
        self.predictions(f)?;
        self.failures(f)
    }
}

/// What a batch amounted to, by the tasks that each side did.
pub(super) fn amounted_to(cpu: usize, gpu: usize) -> ExecutionStrategy {
    if gpu == 0 {
        return ExecutionStrategy::CpuOnly;
    }
    if cpu == 0 {
        return ExecutionStrategy::GpuOnly;
    }
    let percent = (200 * gpu as u128 + (cpu + gpu) as u128) / (2 * (cpu + gpu) as u128);
    let gpu_allocation = u8::try_from(percent.clamp(1, 99)).expect("at most 99");
    ExecutionStrategy::Hybrid {
        gpu_allocation,
        cpu_allocation: 100 - gpu_allocation,
    }
}
