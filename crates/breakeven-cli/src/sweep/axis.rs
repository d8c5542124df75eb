//! The swept quantity, and its first values.

use std::num::NonZeroU64;

use anyhow::{Result, bail};
use breakeven_judge::break_even::coarse_sizes;

use super::super::profile::{Work, check_fits, memory};
use crate::engine::session::Machine;
use crate::engine::suite::{Over, Points, Workload};
use crate::sweep::args::SweepArgs;

pub(crate) struct Axis {
    pub(crate) kernel: &'static str,
    pub(crate) over: Over,
    /// The first values.
    pub(super) values: Vec<u64>,
    /// Values between them are valid too.
    pub(crate) is_range: bool,
}

/// The first values of a range.
pub(super) fn range(from: u64, to: u64) -> Result<Vec<u64>> {
    if from > to {
        bail!("--from {from} is beyond --to {to}; give a range that has values in it");
    }
    Ok(coarse_sizes(from, to))
}

impl Axis {
    pub(super) fn of(kernel: &'static str, args: &SweepArgs) -> Result<Self> {
        let over = match args.over {
            Some(over) => over,
            None => Workload::sweeps(kernel)?[0],
        };
        let (values, is_range) = match Workload::points(kernel, over)? {
            Points::Range([first, last]) => {
                let [from, to] = [args.from, args.to].map(|asked| asked.map(NonZeroU64::get));
                // A given end moves the default of the other end.
                let to = to.unwrap_or(last.max(from.unwrap_or(first)));
                let from = from.unwrap_or(first.min(to));
                (range(from, to)?, true)
            }
            Points::Fixed(values) => {
                if args.from.is_some() || args.to.is_some() {
                    let values: Vec<String> = values.iter().map(u64::to_string).collect();
                    let values = values.join(", ");
                    bail!("a sweep over {over} is at {values}; leave --from and --to out");
                }
                (values, false)
            }
        };
        Ok(Self {
            kernel,
            over,
            values,
            is_range,
        })
    }

    pub(crate) fn workload(&self, value: u64) -> Result<Workload> {
        let value = usize::try_from(value).unwrap_or(usize::MAX);
        Ok(Workload::at(self.kernel, self.over, value)?)
    }

    /// Elements at a value that may lie between two integers.
    pub(crate) fn elements(&self, value: f64) -> Result<f64> {
        let below = whole(value.floor().max(1.0));
        let at = |value: u64| Ok::<_, anyhow::Error>(self.workload(value)?.size() as f64);
        let (low, high) = (at(below)?, at(below.saturating_add(1))?);
        Ok(low + (high - low) * (value - below as f64).clamp(0.0, 1.0))
    }

    /// Fails if the largest workload does not fit, and says which would.
    pub(super) fn check_memory(&self, machine: &Machine, on_gpu: bool) -> Result<()> {
        let needed = |value| Ok::<_, anyhow::Error>(self.workload(value)?.memory_bytes(on_gpu));
        let Some(&last) = self.values.last() else {
            return Ok(());
        };
        let workload = self.workload(last)?;
        check_fits(&Work::of(&workload, on_gpu), memory(machine), |memory| {
            let (mut fits, mut too_many) = (0, last);
            while self.is_range && too_many - fits > 1 {
                let middle = fits + (too_many - fits) / 2;
                match needed(middle).is_ok_and(|needed| needed <= memory) {
                    true => fits = middle,
                    false => too_many = middle,
                }
            }
            (fits > 0).then(|| format!("up to --to {fits} fits"))
        })
    }
}

#[expect(clippy::cast_sign_loss, reason = "1 or more")]
pub(super) fn whole(value: f64) -> u64 {
    value as u64
}
