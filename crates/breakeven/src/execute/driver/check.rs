//! A GPU's outputs held against the CPU's function.

use std::hash::{BuildHasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::{Drive, caught};
use crate::error::{DeviceError, DeviceErrorKind};
use crate::execute::control::Verify;
use crate::execute::engine::Keep;
use crate::execute::executor::GpuExecutor;
use crate::execute::spans::Span;

/// What one execution's checks took, and which outputs are drawn.
pub(super) struct Checks {
    time: Duration,
    outputs: u32,
    draws: u64,
}

impl Default for Checks {
    fn default() -> Self {
        Self {
            time: Duration::ZERO,
            outputs: 0,
            // Other outputs in each execution.
            draws: RandomState::new().hash_one(0) | 1,
        }
    }
}

impl Checks {
    /// Any bits (Marsaglia's xorshift, 2003).
    fn bits(&mut self) -> u64 {
        self.draws ^= self.draws << 13;
        self.draws ^= self.draws >> 7;
        self.draws ^= self.draws << 17;
        self.draws
    }

    /// A number from 0 to 1, without 1.
    fn draw(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// One of so many places.
    fn draw_place(&mut self, places: usize) -> usize {
        let place = self.bits() % places.max(1) as u64;
        usize::try_from(place).expect("less than a `usize`")
    }

    /// Part of `outputs` that can be looked at until all looks took `cap` seconds.
    fn affordable(&self, cap: f64, outputs: usize) -> f64 {
        let each = self.time.as_secs_f64() / f64::from(self.outputs.max(1));
        let left = (cap - self.time.as_secs_f64()).max(0.0);
        left / (each * outputs as f64).max(f64::MIN_POSITIVE)
    }
}

impl<I, T, E, F, K, G, V> Drive<'_, '_, I, T, E, F, K, G, V>
where
    I: Sync,
    E: Send,
    F: Fn(&I) -> Result<T, E> + Sync,
    K: Keep<T, E>,
    G: GpuExecutor<I, T>,
    V: Verify<T>,
{
    /// Holds outputs against the CPU's function, as far as was asked for.
    pub(super) fn checked(&mut self, span: &Span, outputs: Vec<T>) -> Result<Vec<T>, DeviceError> {
        let range = span.range();
        if outputs.len() != range.len() {
            let (found, tasks) = (outputs.len(), range.len());
            return Err(wrong(format!("{found} outputs of {tasks} tasks")));
        }
        let verify = self.driver.verify;
        let (part, cost_cap) = caught(|| Ok((verify.part(), verify.cost_cap())))?;
        if part.is_nan() || part <= 0.0 {
            return Ok(outputs);
        }
        // One at any rate; what it takes says how many more may be looked at.
        let first = self.checks.draw_place(outputs.len());
        self.check(range.start + first, &outputs[first])?;
        let cap = cost_cap * self.engine.elapsed().as_secs_f64();
        let affordable = self.checks.affordable(cap, outputs.len());
        let part = part.min(affordable);
        for (place, output) in outputs.iter().enumerate() {
            if place != first && self.checks.draw() < part {
                self.check(range.start + place, output)?;
            }
        }
        self.looked_away = Some(Instant::now());
        Ok(outputs)
    }

    /// Holds the output of a task against the CPU's.
    fn check(&mut self, index: usize, output: &T) -> Result<(), DeviceError> {
        let begun = Instant::now();
        let (task, function) = (&self.engine.tasks[index], self.engine.function);
        let expected = catch_unwind(AssertUnwindSafe(|| function(task)));
        let agrees = match expected {
            Ok(Ok(expected)) => {
                let verify = self.driver.verify;
                caught(|| Ok(verify.agree(output, &expected))).unwrap_or(false)
            }
            _ => {
                return Err(wrong(format!(
                    "an output of task {index}, which fails on the CPU"
                )));
            }
        };
        self.checks.time += begun.elapsed();
        self.checks.outputs += 1;
        self.engine.tally.driver().checked += 1;
        match agrees {
            true => Ok(()),
            false => Err(wrong(format!(
                "the output of task {index} is not the CPU's"
            ))),
        }
    }
}

fn wrong(message: String) -> DeviceError {
    DeviceError::new(DeviceErrorKind::WrongResult, message)
}
