//! Times a CPU path and a GPU path over sizes: the sizes, rounds and time limit of a sweep.
//!
//! 1. A run of each path at the smallest size warms up. Then all sizes are measured, the smaller
//!    ones first. The time at a size is predicted from the sizes before; if three rounds do not fit
//!    the time limit, that size and the larger ones are left out. Once the GPU path is faster,
//!    larger sizes get half of the time at most.
//! 2. Two more rounds over these sizes, every other one backwards; then the larger ones if there is
//!    time for them by now.
//! 3. More rounds at the sizes that are still undecided, then at those around the break-even and at
//!    sizes between them, four per doubling; and again while the interval is wide. No run begins
//!    that would exceed the limit.
//!
//! At each size the paths run one right after the other, in random order. A size at which a path
//! fails has a failure and no times of it.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use breakeven_profile::profile::{Device, Failure};
use breakeven_profile::stats::median;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{
    BreakEven, LEAST_ROUNDS, Point, Rival, Sign, Signs, Swept, Time, break_even, refined_sizes,
};
use crate::ab::{MOST_CALLS, SHORTEST_SAMPLE};

/// The sides of a sweep, as devices.
const DEVICES: [&str; 2] = [Device::CPU, "gpu"];

/// Default rounds at the sizes that decide.
const ROUNDS: usize = 10;

/// Most passes over the sizes that decide, and the interval, as a factor, at which no further one
/// begins.
const PASSES: usize = 8;
const NARROW: f64 = 1.25;

/// Samples of a short call per round, of which the median counts, and how short that is.
const SAMPLES: usize = 5;
const SHORT: Duration = Duration::from_millis(10);

/// The path that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// That on the CPU.
    Cpu,
    /// That on the GPU.
    Gpu,
}

/// Why a run has no time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missed {
    /// It failed; this path is not run at this size again.
    Failed(Failure),
    /// Measuring ends, and the times so far are kept.
    Ended,
}

/// Options of a sweep: see [`sweep`].
#[derive(Debug, Clone)]
#[must_use = "nothing is measured before it runs"]
pub struct Sweep {
    name: String,
    sizes: Vec<u64>,
    rounds: usize,
    time_limit: Duration,
}

/// Finds the size from which the GPU pays for a pair of closures, in ten seconds at most.
///
/// `make_input` makes the input of a size once, which is not timed; the inputs are kept until the
/// end. Each closure is called once to warm up, then in turns with the other; short calls are
/// repeated, and their results are black boxes. A GPU closure must wait for its result. Closures
/// that may fail are for [`Sweep::try_closures`].
///
/// ```
/// use breakeven_judge::break_even::{coarse_sizes, sweep};
/// use std::time::Duration;
///
/// let cpu = |n: &u64| (0..*n).fold(0, |sum, x| std::hint::black_box(sum + x));
/// // Without a GPU: a launch that takes 100 µs.
/// let gpu = |_: &u64| std::thread::sleep(Duration::from_micros(100));
/// let swept = sweep("sum", coarse_sizes(1_000, 1_000_000), |n| n, cpu, gpu);
/// println!("{swept}");
/// assert!(swept.break_even().is_some());
/// ```
pub fn sweep<I, A, B>(
    name: &str,
    sizes: impl IntoIterator<Item = u64>,
    make_input: impl FnMut(u64) -> I,
    cpu: impl FnMut(&I) -> A,
    gpu: impl FnMut(&I) -> B,
) -> Swept {
    Sweep::new(name, sizes).closures(make_input, cpu, gpu)
}

impl Sweep {
    /// A sweep over these sizes, 1 or more each, for ten seconds at most. [`coarse_sizes`] doubles
    /// them over a range.
    ///
    /// [`coarse_sizes`]: super::coarse_sizes
    pub fn new(name: impl Into<String>, sizes: impl IntoIterator<Item = u64>) -> Self {
        let mut sizes: Vec<u64> = sizes.into_iter().filter(|size| *size > 0).collect();
        sizes.sort_unstable();
        sizes.dedup();
        Self {
            name: name.into(),
            sizes,
            rounds: ROUNDS,
            time_limit: Duration::from_secs(10),
        }
    }

    /// Sets the rounds at the sizes that decide, ten by default; an interval needs three.
    pub fn rounds(mut self, rounds: usize) -> Self {
        self.rounds = rounds.max(1);
        self
    }

    /// Sets the time limit.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// Measures two closures: see [`sweep`].
    pub fn closures<I, A, B>(
        &self,
        mut make_input: impl FnMut(u64) -> I,
        mut cpu: impl FnMut(&I) -> A,
        mut gpu: impl FnMut(&I) -> B,
    ) -> Swept {
        self.try_closures(
            |size| Ok(make_input(size)),
            |input| Ok(cpu(input)),
            |input| Ok(gpu(input)),
        )
    }

    /// Measures two closures that may fail: see [`sweep`].
    pub fn try_closures<I, A, B>(
        &self,
        mut make_input: impl FnMut(u64) -> Result<I, Missed>,
        mut cpu: impl FnMut(&I) -> Result<A, Missed>,
        mut gpu: impl FnMut(&I) -> Result<B, Missed>,
    ) -> Swept {
        let start = Instant::now();
        let mut inputs: HashMap<u64, (I, [u32; 2])> = HashMap::new();
        let measure = |side: Side, size: u64| {
            let (input, calls) = match inputs.entry(size) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert((make_input(size)?, [0, 0])),
            };
            let mut time = |calls: u32| {
                let start = Instant::now();
                for _ in 0..calls {
                    match side {
                        Side::Cpu => drop(std::hint::black_box(cpu(input)?)),
                        Side::Gpu => drop(std::hint::black_box(gpu(input)?)),
                    }
                }
                Ok(start.elapsed())
            };
            let calls = &mut calls[side as usize];
            if *calls == 0 {
                time(1)?;
                *calls = 1;
                while *calls < MOST_CALLS && time(*calls)? < SHORTEST_SAMPLE {
                    *calls *= 2;
                }
            }
            let mut samples = vec![time(*calls)?];
            if samples[0] < SHORT {
                for _ in 1..SAMPLES {
                    samples.push(time(*calls)?);
                }
            }
            let ns = |time: &Duration| time.as_secs_f64() * 1e9 / f64::from(*calls);
            let samples: Vec<f64> = samples.iter().map(ns).collect();
            median(&samples).map_err(|_| Missed::Ended)
        };
        self.run(|| start.elapsed(), measure)
    }

    /// Measures by `measure`, which runs a side at a size and returns its time, ns. `clock` is the
    /// time since any fixed moment, in which the time limit counts.
    pub fn run(
        &self,
        clock: impl Fn() -> Duration,
        measure: impl FnMut(Side, u64) -> Result<f64, Missed>,
    ) -> Swept {
        let end = clock().saturating_add(self.time_limit);
        let mut sides = Sides {
            clock,
            measure,
            end,
            random: Xoshiro256PlusPlus::seed_from_u64(0),
            points: Vec::new(),
            costs: BTreeMap::new(),
            is_ended: false,
        };
        self.measure(&mut sides);
        let has_any = |point: &Point| {
            let mut times = point.times.iter();
            times.any(|time| time.failure.is_some() || !time.rounds_ns.is_empty())
        };
        sides.points.retain(has_any);
        let is_missing = |size: &u64| sides.points.iter().all(|point| point.value != *size);
        let not_measured = self.sizes.iter().copied().filter(is_missing).collect();
        let devices = DEVICES.map(str::to_owned);
        let mut swept = Swept::new(self.name.as_str(), "size", &devices, sides.points, true);
        swept.not_measured = not_measured;
        swept
    }

    fn measure<C, M>(&self, sides: &mut Sides<C, M>)
    where
        C: Fn() -> Duration,
        M: FnMut(Side, u64) -> Result<f64, Missed>,
    {
        for side in [Side::Cpu, Side::Gpu] {
            if let (Some(first), false) = (self.sizes.first(), sides.is_ended) {
                let warmed = (sides.measure)(side, *first);
                sides.is_ended = warmed == Err(Missed::Ended);
            }
        }
        // Again after the further rounds, which may show that there is time for larger sizes.
        loop {
            let known = sides.points.len();
            let further = LEAST_ROUNDS as f64 - 1.0;
            let mut before = 0.0;
            for size in &self.sizes[known..] {
                let pays = sides.rival().pays_at_last();
                let share = if pays { 0.5 } else { 1.0 };
                let cost = sides.cost(*size) * (further + 1.0) + further * before;
                if sides.is_ended || cost > share * sides.left() {
                    break;
                }
                sides.add(*size);
                sides.pair(*size);
                before += sides.cost(*size);
            }
            if sides.points.len() == known {
                break;
            }
            sides.rounds(LEAST_ROUNDS - 1, sides.sizes().skip(known).collect());
        }
        for _ in 0..PASSES {
            let rounds = self.rounds.saturating_sub(LEAST_ROUNDS);
            sides.rounds(rounds, sides.undecided());
            let mut more = refined_sizes(&sides.rival().times);
            // Rather fewer sizes than too few rounds for an interval.
            while sides.rounds_of(&more) < LEAST_ROUNDS as f64 && !more.is_empty() {
                more = more.into_iter().skip(1).step_by(2).collect();
            }
            more.into_iter().for_each(|size| sides.add(size));
            sides.points.sort_by_key(|point| point.value);
            sides.rounds(self.rounds, sides.around());
            let is_clear = match break_even(&sides.rival().times) {
                BreakEven::From { interval, .. } => interval[1] < NARROW * interval[0],
                BreakEven::Unclear { .. } => false,
                _ => true,
            };
            if is_clear || sides.is_ended {
                break;
            }
        }
    }
}

/// Both sides while they are measured.
struct Sides<C, M> {
    clock: C,
    measure: M,
    end: Duration,
    random: Xoshiro256PlusPlus,
    /// In the order of their sizes, the times of the CPU first.
    points: Vec<Point>,
    /// Time that the last run of both sides took, with what is not timed, s, by size.
    costs: BTreeMap<u64, f64>,
    is_ended: bool,
}

impl<C: Fn() -> Duration, M: FnMut(Side, u64) -> Result<f64, Missed>> Sides<C, M> {
    fn add(&mut self, size: u64) {
        let times = DEVICES.map(|device| Time {
            device: device.to_owned(),
            ..Time::default()
        });
        self.points.push(Point {
            value: size,
            elements: size,
            times: times.to_vec(),
        });
    }

    fn sizes(&self) -> impl Iterator<Item = u64> {
        self.points.iter().map(|point| point.value)
    }

    /// The times of both sides so far.
    fn rival(&self) -> Rival {
        Rival::of(DEVICES[1], 1, &self.points, false)
    }

    /// Time that is left, s.
    fn left(&self) -> f64 {
        self.end.saturating_sub((self.clock)()).as_secs_f64()
    }

    /// Predicted time of a run of both sides, s: what the next larger size took, or the last two
    /// continued, at least in proportion to the size.
    fn cost(&self, size: u64) -> f64 {
        if let Some((_, cost)) = self.costs.range(size..).next() {
            return *cost;
        }
        let mut below = self.costs.iter().rev();
        let Some((last, cost)) = below.next() else {
            return 0.0;
        };
        let times = |size: u64, other: u64| size as f64 / other as f64;
        let slope = below.next().map_or(1.0, |(before, earlier)| {
            (cost / earlier).ln() / times(*last, *before).ln()
        });
        cost * times(size, *last).powf(if slope > 1.0 { slope.min(4.0) } else { 1.0 })
    }

    /// Rounds over these further sizes and those around the break-even for which there is time.
    fn rounds_of(&self, more: &[u64]) -> f64 {
        let around = self.around();
        let all = around.iter().chain(more).map(|size| self.cost(*size));
        self.left() / all.fold(f64::MIN_POSITIVE, |sum, cost| sum + cost)
    }

    /// Measures both sides at a size once, unless that would exceed the limit.
    fn pair(&mut self, size: u64) {
        let is_late = self.cost(size) >= self.left();
        let Some(point) = self.points.iter_mut().find(|point| point.value == size) else {
            return;
        };
        let has_failed = point.times.iter().any(|time| time.failure.is_some());
        if self.is_ended || has_failed || is_late {
            return;
        }
        let mut sides = [Side::Cpu, Side::Gpu];
        if self.random.random() {
            sides.reverse();
        }
        let begun = (self.clock)();
        let mut found = [None; 2];
        for side in sides {
            match (self.measure)(side, size) {
                Ok(ns) => found[side as usize] = Some(ns),
                Err(Missed::Failed(failure)) => {
                    let time = &mut point.times[side as usize];
                    time.failure = Some(failure);
                    time.rounds_ns.clear();
                }
                Err(Missed::Ended) => {
                    self.is_ended = true;
                    return;
                }
            }
        }
        for (time, found) in point.times.iter_mut().zip(found) {
            time.rounds_ns.extend(found);
        }
        let took = (self.clock)().saturating_sub(begun);
        self.costs.insert(size, took.as_secs_f64());
    }

    /// Measures these sizes in turns, every other round backwards.
    fn rounds(&mut self, count: usize, mut sizes: Vec<u64>) {
        for _ in 0..count {
            sizes.reverse();
            sizes.iter().for_each(|size| self.pair(*size));
        }
    }

    /// The sizes at which neither side is clearly faster yet.
    fn undecided(&self) -> Vec<u64> {
        let times = self.rival().times;
        let signs = Signs::of(&times);
        let is_unclear = |size: &u64| {
            let mut signs = signs.times.iter().zip(&signs.signs);
            signs.any(|(times, sign)| times.size == *size as f64 && *sign == Sign::Unclear)
        };
        self.sizes().filter(is_unclear).collect()
    }

    /// The sizes that narrow the break-even.
    fn around(&self) -> Vec<u64> {
        let Some([low, high]) = Signs::of(&self.rival().times).around() else {
            return Vec::new();
        };
        let is_near = |size: &u64| (low..=high).contains(&(*size as f64));
        self.sizes().filter(is_near).collect()
    }
}
