//! Synthetic runs, with the difficulties of real runs.

use breakeven_profile::profile::{Operation, Run};
use rand::{Rng, RngExt};
use rand_distr::{Distribution, Pareto, StandardNormal, StudentT};

/// Standard deviation between the medians of runs, as a fraction of them.
pub(crate) const CV: f64 = 0.03;

/// Samples of a run.
const SAMPLES: usize = 20;

/// All shapes.
pub(crate) const SHAPES: [Shape; 5] = [
    Shape::Plain,
    Shape::HeavyTails,
    Shape::Drift,
    Shape::Bimodal,
    Shape::Autocorrelated,
];

/// How times vary.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// Log-normal: 3 % between runs, 2 % inside.
    Plain,
    /// Student's t with three degrees of freedom between runs and two inside runs, and one sample
    /// in twenty longer by a Pareto factor (α = 1.5).
    HeavyTails,
    /// Samples fall by about 20 % from a run's first to its last, by a different fraction in each
    /// run, and each run, taken in turns, is 1 % slower than the one before.
    Drift,
    /// Each run in one of two states 15 % apart, and three samples in ten 30 % longer.
    Bimodal,
    /// Samples are autocorrelated: AR(1), ρ = 0.95, 10 %.
    Autocorrelated,
}

impl Shape {
    /// Name in the tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::HeavyTails => "heavy_tails",
            Self::Drift => "drift",
            Self::Bimodal => "bimodal",
            Self::Autocorrelated => "autocorrelated",
        }
    }

    /// Two sides of `runs` runs each, the first operation slower by `factor` on
    /// the second side.
    pub(crate) fn pair(
        self,
        operations: usize,
        runs: usize,
        factor: f64,
        random: &mut impl Rng,
    ) -> (Vec<Operation>, Vec<Operation>) {
        let mut sides = (Vec::new(), Vec::new());
        for number in 0..operations {
            // From 0.1 ms to 100 ms.
            let median_ns = 1e5 * 1e3f64.powf(random.random());
            let mut operation = |factor: f64, turn: usize| {
                let mut operation = Operation::new(format!("operation {number}"), "cpu");
                operation.runs = (0..runs)
                    .map(|run| self.run(factor * median_ns, 2 * run + turn, random))
                    .collect();
                operation
            };
            sides.0.push(operation(1.0, 0));
            sides
                .1
                .push(operation(if number == 0 { factor } else { 1.0 }, 1));
        }
        sides
    }

    /// One run, the `turn`-th in the order of measurement.
    fn run(self, median_ns: f64, turn: usize, random: &mut impl Rng) -> Run {
        let normal = |random: &mut _| -> f64 { StandardNormal.sample(random) };
        let student = |freedom: f64, random: &mut _| -> f64 {
            StudentT::new(freedom)
                .expect("degrees of freedom are positive")
                .sample(random)
        };
        let between = match self {
            // Scales to the same standard deviation: that of t with 3 degrees of freedom is √3.
            Self::HeavyTails => student(3.0, random) / 3f64.sqrt(),
            _ => normal(random),
        };
        let state = match self {
            Self::Bimodal if random.random_bool(0.5) => 1.15,
            Self::Drift => 1.01f64.powi(turn as i32),
            _ => 1.0,
        };
        let slope = 0.2 + 0.05 * normal(random);
        let longer = Pareto::new(1.0, 1.5).expect("both are positive");
        let mut follows: f64 = normal(random);
        let samples_ns = (0..SAMPLES)
            .map(|number| {
                let inside = match self {
                    Self::Plain => (0.02 * normal(random)).exp(),
                    Self::HeavyTails => {
                        let outlier = random.random_bool(0.05);
                        let factor = if outlier { longer.sample(random) } else { 1.0 };
                        (0.02 * student(2.0, random)).clamp(-1.0, 1.0).exp() * factor
                    }
                    Self::Drift => {
                        let way = number as f64 / (SAMPLES - 1) as f64;
                        (1.0 - slope * way) * (0.02 * normal(random)).exp()
                    }
                    Self::Bimodal => {
                        let longer = if random.random_bool(0.3) { 1.3 } else { 1.0 };
                        longer * (0.02 * normal(random)).exp()
                    }
                    Self::Autocorrelated => {
                        follows = 0.95 * follows + (1.0 - 0.95f64 * 0.95).sqrt() * normal(random);
                        (0.1 * follows).exp()
                    }
                };
                (median_ns * state * (CV * between).exp() * inside).round()
            })
            .collect();
        Run {
            samples_ns,
            ..Run::default()
        }
    }
}
