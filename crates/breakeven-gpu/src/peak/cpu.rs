//! The CPU's peaks, with every worker of the current rayon pool at work.

use std::hint::black_box;
use std::sync::Barrier;

use breakeven_profile::profile::{Bandwidth, Peak};
use breakeven_profile::recorder::{Clock, Instant};
use pulp::{Arch, Simd, WithSimd};
use rayon::ThreadPoolBuilder;

use super::{REPEATS, WORKING_SETS};

/// A measurement lasts at least this long, so that handing it out does not count.
const LEAST_NS: u64 = 3_000_000;

/// Measures bandwidth and arithmetic on the current rayon pool, or on a thread for each core
/// if that has more: those would reach no more, and have no share of a small working set.
/// Working sets larger than `memory_limit` bytes are left out. Takes about a second.
pub fn measure_cpu(memory_limit: Option<u64>) -> Peak {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let pool = ThreadPoolBuilder::new();
    let pool = match breakeven_machine::has_pool() {
        true if rayon::current_num_threads() <= cores => return measure(memory_limit),
        true => pool.num_threads(cores),
        false => pool.num_threads(1).use_current_thread(),
    };
    match pool.build() {
        Ok(pool) => pool.install(|| measure(memory_limit)),
        Err(_) => Peak {
            device: "cpu".to_owned(),
            ..Peak::default()
        },
    }
}

fn measure(memory_limit: Option<u64>) -> Peak {
    let clock = Clock::new();
    let memory: Vec<Bandwidth> = WORKING_SETS
        .iter()
        // Half of what may be used: measuring must not push the program out.
        .filter(|set| memory_limit.is_none_or(|limit| **set <= limit / 2))
        .map(|set| Bandwidth {
            working_set_bytes: *set,
            bytes_per_s: triad(&clock, *set),
        })
        .collect();
    Peak {
        device: "cpu".to_owned(),
        memory_bytes_per_s: memory.last().map(|largest| largest.bytes_per_s),
        memory,
        flops_per_s: Some(fused_multiply_adds(&clock)),
        ..Peak::default()
    }
}

/// a = b + 3·c over each worker's own arrays (the triad of McCalpin's STREAM,
/// 1995), counted as 12 bytes an element: what the program moves, without the
/// write-allocate traffic that some CPUs add.
fn triad(clock: &Clock, working_set: u64) -> f64 {
    let workers = rayon::current_num_threads();
    let each = usize::try_from(working_set / 12).unwrap_or(usize::MAX) / workers;
    let run = |passes: usize| {
        together(clock, |start_line| {
            let mut a = vec![0.0_f32; each];
            let b = vec![1.0_f32; each];
            let c = vec![2.0_f32; each];
            let mut sweep = |passes: usize| {
                Arch::new().dispatch(|| {
                    for _ in 0..passes {
                        for ((a, b), c) in a.iter_mut().zip(black_box(&b)).zip(&c) {
                            *a = b + 3.0 * c;
                        }
                        black_box(&mut a);
                    }
                });
            };
            // The first pass has the system find pages for `a`.
            sweep(1);
            start_line.wait();
            let start = clock.now();
            sweep(passes);
            (start, clock.now())
        })
    };
    let bytes = (12 * each * workers) as f64;
    best_rate(run, bytes)
}

/// Independent chains of fused multiply-adds on every worker.
fn fused_multiply_adds(clock: &Clock) -> f64 {
    let run = |passes: usize| {
        together(clock, |start_line| {
            start_line.wait();
            let start = clock.now();
            Arch::new().dispatch(Chains { passes });
            (start, clock.now())
        })
    };
    let lanes = Arch::new().dispatch(Chains { passes: 0 }) * rayon::current_num_threads();
    let flops = (2 * CHAINS * ROUNDS * lanes) as f64;
    best_rate(run, flops)
}

/// Runs `work` on every worker and returns the time from the first one's start to the last one's
/// end, ns: what only some of the workers did at once must not count as done by all.
fn together(clock: &Clock, work: impl Fn(&Barrier) -> (Instant, Instant) + Sync) -> u64 {
    let start_line = Barrier::new(rayon::current_num_threads());
    let spans = rayon::broadcast(|_| work(&start_line));
    let start = spans.iter().map(|(start, _)| *start).min();
    let end = spans.iter().map(|(_, end)| *end).max();
    let ns = start
        .zip(end)
        .map_or(0, |(start, end)| clock.ns_between(start, end));
    ns.max(1)
}

/// The best rate of `run`, whose one pass does `work`, after finding how many
/// passes last [`LEAST_NS`].
fn best_rate(run: impl Fn(usize) -> u64, work: f64) -> f64 {
    let mut passes = 1;
    while run(passes) < LEAST_NS && passes < 1 << 30 {
        passes *= 2;
    }
    (0..REPEATS)
        .map(|_| work * passes as f64 / run(passes) as f64 * 1e9)
        .fold(0.0, f64::max)
}

/// Enough chains to cover latency × throughput of today's cores (4 to 5 cycles ×
/// 2 units), and few enough for AVX2's sixteen registers, two of which hold the
/// factor and the addend: one chain more than fits halves the rate.
const CHAINS: usize = 12;
const ROUNDS: usize = 1_024;

struct Chains {
    passes: usize,
}

impl WithSimd for Chains {
    /// Lanes of a vector.
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> usize {
        let factor = simd.splat_f32s(black_box(0.999_9));
        let addend = simd.splat_f32s(black_box(1e-4));
        let mut chains = [simd.splat_f32s(black_box(1.0)); CHAINS];
        for _ in 0..self.passes {
            for _ in 0..ROUNDS {
                for chain in &mut chains {
                    *chain = simd.mul_add_e_f32s(*chain, factor, addend);
                }
            }
        }
        black_box(chains.map(|chain| simd.reduce_sum_f32s(chain)));
        S::F32_LANES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_are_of_the_order_of_a_cpu() {
        let peak = measure_cpu(Some(32 << 20));
        assert_eq!(peak.memory.len(), 4, "sets up to half the limit: {peak:?}");
        for point in &peak.memory {
            assert!((1e8..1e14).contains(&point.bytes_per_s), "{point:?}");
        }
        let flops = peak.flops_per_s.unwrap_or(0.0);
        assert!((1e8..1e15).contains(&flops), "{flops}");
    }
}
