//! Benchmarks of constant work, whose times would be equal on a perfect machine.

use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Steps of a single-core benchmark: half a millisecond, in which an interruption of a few
/// microseconds is visible and the clock's error is not.
const STEPS: u64 = 1 << 18;

/// Steps on all cores: four times as long, so that starting the threads counts less.
const STEPS_ON_ALL: u64 = 4 * STEPS;

/// Size of the memory that is read, bytes: larger than the caches of a core.
const WORKING_SET_BYTES: usize = 64 << 20;

/// Warm-up: clocks rise, memory is mapped.
const WARM_UP: Duration = Duration::from_millis(30);

/// A benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NoiseWork {
    /// Integers in registers on one core.
    Compute,
    /// Reading memory on one core.
    Memory,
    /// The first benchmark on all cores that the process may use, until the last core is done.
    AllCores,
}

impl NoiseWork {
    pub(crate) const ALL: [Self; 3] = [Self::Compute, Self::Memory, Self::AllCores];

    /// The name that is printed.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Compute => "one core",
            Self::Memory => "memory",
            Self::AllCores => "all cores",
        }
    }

    /// Repeats the benchmark for this long and returns its times, ns; at least one.
    pub(crate) fn samples(self, for_so_long: Duration) -> Vec<f64> {
        match self {
            Self::Compute => timed(for_so_long, || {
                black_box(steps(black_box(STEPS)));
            }),
            Self::Memory => {
                // Written, so that each page is backed by its own memory.
                let memory: Vec<u64> = (0..(WORKING_SET_BYTES / 8) as u64).collect();
                timed(for_so_long, || {
                    let sum = |sum: u64, word: &u64| sum.wrapping_add(*word);
                    black_box(black_box(&memory).iter().fold(0, sum));
                })
            }
            Self::AllCores => timed(for_so_long, || {
                let work = || black_box(steps(black_box(STEPS_ON_ALL)));
                match breakeven_machine::has_pool() {
                    true => _ = rayon::broadcast(|_| work()),
                    false => _ = work(),
                }
            }),
        }
    }
}

impl fmt::Display for NoiseWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Steps of a dependent chain (Marsaglia 2003, "Xorshift RNGs").
fn steps(count: u64) -> u64 {
    let mut x: u64 = 0x9e37_79b9_7f4a_7c15;
    for _ in 0..count {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    x
}

fn timed(for_so_long: Duration, piece: impl Fn()) -> Vec<f64> {
    let start = Instant::now();
    piece();
    while start.elapsed() < WARM_UP {
        piece();
    }
    let (mut samples, start) = (Vec::new(), Instant::now());
    while samples.is_empty() || start.elapsed() < for_so_long {
        let before = Instant::now();
        piece();
        let took = before.elapsed();
        samples.push((took.as_nanos() as f64).max(1.0));
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The compiler must not remove the work.
    #[test]
    fn every_piece_takes_time() {
        for work in NoiseWork::ALL {
            let samples = work.samples(Duration::from_millis(40));
            let ns = samples.into_iter().fold(f64::INFINITY, f64::min);
            assert!(ns > 20_000.0, "{work}: {ns} ns");
        }
    }
}
