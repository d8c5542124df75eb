//! Which outputs of a GPU are compared with the CPU's function.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::control::Verify;
use super::work::caught;
use crate::error::Error;

/// How many outputs of a launch are compared with the CPU's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Check {
    /// Fraction of them, 0 to 1.
    pub(super) fraction: f64,
    /// Largest time for checking, as a fraction of the execution time.
    pub(super) cost_cap: f64,
}

impl Check {
    /// Reads what `verify` requests. It is called once, because it is the user's code.
    pub(super) fn of<T>(verify: &impl Verify<T>) -> Result<Self, Error> {
        let asked = || {
            Ok(Self {
                fraction: verify.part(),
                cost_cap: verify.cost_cap(),
            })
        };
        caught(asked).map_err(|error| {
            let what = error.message;
            Error::invalid(format!("`Verify::part` or `cost_cap` failed: {what}"))
        })
    }
}

/// Time of one execution's checks, and the choice of outputs.
pub(super) struct Checks {
    pub(super) time: Duration,
    pub(super) outputs: u32,
    /// Chooses outputs, different ones in each execution.
    pub(super) random: Xoshiro256PlusPlus,
}

impl Default for Checks {
    fn default() -> Self {
        Self {
            time: Duration::ZERO,
            outputs: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(RandomState::new().hash_one(0)),
        }
    }
}

impl Checks {
    /// Returns the fraction of `outputs` that can be checked until all checks have taken `cost_cap`
    /// of `seconds`.
    pub(super) fn affordable(&self, cost_cap: f64, seconds: f64, outputs: usize) -> f64 {
        if cost_cap == f64::INFINITY {
            return 1.0;
        }
        let each = self.time.as_secs_f64() / f64::from(self.outputs.max(1));
        let left = (cost_cap * seconds - self.time.as_secs_f64()).max(0.0);
        left / (each * outputs as f64).max(f64::MIN_POSITIVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_cap_all_are_looked_at_also_by_a_clock_that_stands() {
        let checks = Checks::default();
        assert_eq!(checks.affordable(f64::INFINITY, 0.0, 10), 1.0);
        assert_eq!(checks.affordable(0.05, 0.0, 10), 0.0);
    }
}
