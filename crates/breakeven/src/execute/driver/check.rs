//! A GPU's outputs held against the CPU's function.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use super::{Drive, caught};
use crate::error::{DeviceError, DeviceErrorKind};
use crate::execute::control::Verify;
use crate::execute::engine::Keep;
use crate::execute::executor::GpuExecutor;
use crate::execute::spans::Span;

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
        let wrong = |message: String| DeviceError::new(DeviceErrorKind::WrongResult, message);
        let range = span.range();
        if outputs.len() != range.len() {
            return Err(wrong(format!(
                "{} outputs of {} tasks",
                outputs.len(),
                range.len()
            )));
        }
        let part = self.driver.verify.part();
        if part <= 0.0 {
            return Ok(outputs);
        }
        let begun = Instant::now();
        let cap = self.engine.elapsed().as_secs_f64() * self.driver.verify.cost_cap();
        let mut looked_at = 0;
        for (place, output) in outputs.iter().enumerate() {
            let spent = (self.check_time + begun.elapsed()).as_secs_f64();
            if looked_at > 0 && spent > cap {
                break;
            }
            let is_last_chance = looked_at == 0 && place + 1 == outputs.len();
            if !self.draws_one(part) && !is_last_chance {
                continue;
            }
            looked_at += 1;
            let index = range.start + place;
            let task = &self.engine.tasks[index];
            let function = self.engine.function;
            let Ok(Ok(expected)) = catch_unwind(AssertUnwindSafe(|| function(task))) else {
                return Err(wrong(format!(
                    "an output of task {index}, which fails on the CPU"
                )));
            };
            let agree = caught(|| Ok(self.driver.verify.agree(output, &expected)));
            if !agree.unwrap_or(false) {
                return Err(wrong(format!(
                    "the output of task {index} is not the CPU's"
                )));
            }
        }
        self.check_time += begun.elapsed();
        self.engine.tally.driver().checked += looked_at;
        Ok(outputs)
    }

    /// True with that probability (Marsaglia's xorshift, 2003).
    fn draws_one(&mut self, part: f64) -> bool {
        if part >= 1.0 {
            return true;
        }
        self.draws ^= self.draws << 13;
        self.draws ^= self.draws >> 7;
        self.draws ^= self.draws << 17;
        (self.draws >> 11) as f64 / (1_u64 << 53) as f64 <= part
    }
}
