//! Times the calls of one benchmark in one run.

use std::hint::black_box;
use std::time::{Duration, Instant};

use breakeven_profile::profile::Run;

/// Samples to fit into the time of a benchmark. A sample is the mean of several calls, unless a
/// call is long.
const SAMPLES: u32 = 400;

/// A sample takes at least this long, ns: a thousand readings of a clock.
const SAMPLE_NS: f64 = 50_000.0;

/// Measures the routine that a benchmark gives it, once per benchmark.
#[derive(Debug, Default)]
pub struct Bencher {
    /// For the warm-up and all samples; `None` calls the routine once, unmeasured.
    pub(crate) time: Option<Duration>,
    pub(crate) routines: usize,
    pub(crate) run: Run,
}

/// How many inputs [`Bencher::iter_batched`] makes at a time: criterion's names and numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchSize {
    /// A tenth of a sample's calls.
    SmallInput,
    /// A thousandth of a sample's calls.
    LargeInput,
    /// One: each call is timed alone.
    PerIteration,
}

impl Bencher {
    /// Measures `routine`. Its output is passed to [`black_box`] and dropped; the time includes
    /// that.
    pub fn iter<R>(&mut self, mut routine: impl FnMut() -> R) {
        self.measure(|calls| {
            let start = Instant::now();
            for _ in 0..calls {
                black_box(routine());
            }
            start.elapsed()
        });
    }

    /// Measures `routine`, which gets an input of its own per call. The time includes neither
    /// making the inputs nor dropping the outputs.
    pub fn iter_batched<I, R>(
        &mut self,
        mut setup: impl FnMut() -> I,
        mut routine: impl FnMut(I) -> R,
        size: BatchSize,
    ) {
        self.measure(|calls| {
            let batch = match size {
                BatchSize::SmallInput => calls.div_ceil(10),
                BatchSize::LargeInput => calls.div_ceil(1_000),
                BatchSize::PerIteration => 1,
            };
            let (mut left, mut time) = (calls, Duration::ZERO);
            while left > 0 {
                let inputs: Vec<I> = (0..batch.min(left)).map(|_| setup()).collect();
                let mut outputs = Vec::with_capacity(inputs.len());
                let mut inputs = black_box(inputs).into_iter();
                let start = Instant::now();
                outputs.extend(inputs.by_ref().map(&mut routine));
                time += start.elapsed();
                drop(black_box(outputs));
                left = left.saturating_sub(batch);
            }
            time
        });
    }

    /// Takes the samples: `time_of` makes calls and returns their time.
    fn measure(&mut self, mut time_of: impl FnMut(u64) -> Duration) {
        self.routines += 1;
        // The time of one of `calls`, ns, and what it takes with its input, s.
        let mut timed = |calls: u64| {
            let began = Instant::now();
            let ns = time_of(calls).as_nanos() as f64 / calls as f64;
            (ns, began.elapsed().as_secs_f64() / calls as f64)
        };
        let began = Instant::now();
        let (mut ns, mut wall) = timed(1);
        let Some(time) = self.time else { return };
        self.run.first_call_ns = Some(ns);
        let mut calls = 1;
        while began.elapsed() < time / 5 {
            // Twice as many take a tenth of the time at the most.
            if wall * (calls as f64) < time.as_secs_f64() / 20.0 {
                calls *= 2;
            }
            // The shortest: another process may have had the core meanwhile.
            let next = timed(calls);
            (ns, wall) = (ns.min(next.0), wall.min(next.1));
        }
        let left = time.saturating_sub(began.elapsed()) / SAMPLES;
        let calls = (left.as_secs_f64() / wall).max(SAMPLE_NS / ns.max(1e-3));
        #[expect(clippy::cast_sign_loss, reason = "it is not negative; a NaN is 1")]
        let calls = calls.ceil().clamp(1.0, 1e9) as u64;
        while self.run.samples_ns.is_empty() || began.elapsed() < time {
            self.run.samples_ns.push(timed(calls).0);
        }
    }
}
