//! Samples of a run in bounded memory.

use std::collections::BTreeMap;

use breakeven_profile::profile::Run;
use breakeven_profile::stats::{Moments, StatsError};
use rand::{RngExt as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Samples that a run keeps; of more, an even draw of them (Vitter 1985, "Random sampling
/// with a reservoir", algorithm R) beside the exact moments of all.
const CAPACITY: usize = 4_096;

/// The samples of a run while they come in.
#[derive(Debug)]
pub(crate) struct Kept {
    samples: Vec<f64>,
    moments: Moments,
    random: Xoshiro256PlusPlus,
    /// Of each counter the sum of its values and how many they are.
    counters: BTreeMap<String, (f64, f64)>,
    pub(crate) memory_bytes: Option<u64>,
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            samples: Vec::new(),
            moments: Moments::new(),
            // The same file gives the same profile.
            random: Xoshiro256PlusPlus::seed_from_u64(0x6b65_7074),
            counters: BTreeMap::new(),
            memory_bytes: None,
        }
    }
}

impl Kept {
    pub(crate) fn push(&mut self, ns: f64) -> Result<(), StatsError> {
        self.moments.push(ns)?;
        if self.samples.len() < CAPACITY {
            self.samples.push(ns);
            return Ok(());
        }
        let slot = self.random.random_range(0..self.moments.count());
        let slot = usize::try_from(slot).ok();
        if let Some(kept) = slot.and_then(|slot| self.samples.get_mut(slot)) {
            *kept = ns;
        }
        Ok(())
    }

    /// A value of a counter.
    pub(crate) fn count(&mut self, counter: String, value: f64) {
        let (sum, values) = self.counters.entry(counter).or_default();
        *sum += value;
        *values += 1.0;
    }

    /// The run; with moments where they count more than what was kept.
    pub(crate) fn into_run(self) -> Run {
        let all = self.moments.count() == self.samples.len() as u64;
        let means = (self.counters.into_iter()).map(|(name, (sum, values))| (name, sum / values));
        Run {
            memory_bytes: self.memory_bytes,
            // A sum of finite values need not be finite.
            counters: means.filter(|(_, mean)| mean.is_finite()).collect(),
            moments: (!all).then_some(self.moments),
            samples_ns: self.samples,
            ..Run::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_an_even_draw_is_kept() {
        let mut kept = Kept::default();
        for value in 0..100_000 {
            kept.push(f64::from(value)).expect("finite");
        }
        let run = kept.into_run();
        assert_eq!(run.samples_ns.len(), CAPACITY);
        assert_eq!(run.calls(), 100_000);
        let late = run.samples_ns.iter().filter(|ns| **ns >= 50_000.0).count();
        // Half of 4 096, six standard deviations of 32 around it.
        assert!((1_856..2_240).contains(&late), "{late}");
    }
}
