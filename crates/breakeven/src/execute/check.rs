//! Which outputs of a GPU are held against the CPU's function.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// How many outputs of a launch are held against the CPU's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Check {
    /// Fraction of them, 0 to 1.
    pub(super) fraction: f64,
    /// Time that checking may take, as a fraction of the execution's.
    pub(super) cost_cap: f64,
}

/// What one execution's checks took, and which outputs are drawn.
pub(super) struct Checks {
    pub(super) time: Duration,
    pub(super) outputs: u32,
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
    pub(super) fn draw(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// One of so many places.
    pub(super) fn draw_place(&mut self, places: usize) -> usize {
        let place = self.bits() % places.max(1) as u64;
        usize::try_from(place).expect("less than a `usize`")
    }

    /// Fraction of `outputs` that can be looked at until all looks took that part of so
    /// many seconds.
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
