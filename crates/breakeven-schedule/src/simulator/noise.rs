//! How far simulated times deviate from their means.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Times that vary from one span or launch to the next, as on real machines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Standard deviation of a time's logarithm: times are log-normal, with the true mean.
    pub deviation: f64,
    /// One launch in `rare` is delayed; 0 for none.
    pub rare: f64,
    /// Mean delay, ns.
    pub rare_ns: f64,
    /// Seed of the noise: scenarios with the same seed get the same noise.
    pub seed: u64,
}

impl Noise {
    /// Times that never vary.
    pub const NONE: Self = Self {
        deviation: 0.0,
        rare: 0.0,
        rare_ns: 0.0,
        seed: 0,
    };
}

impl Default for Noise {
    fn default() -> Self {
        Self {
            deviation: 0.03,
            rare: 500.0,
            rare_ns: 500_000.0,
            seed: 0,
        }
    }
}

/// Draws factors of times.
pub(super) struct Factors {
    noise: Noise,
    random: Xoshiro256PlusPlus,
}

impl Factors {
    /// Creates the factors of a scenario's batch.
    pub(super) fn new(noise: Noise, batch: u64) -> Self {
        Self {
            noise,
            random: Xoshiro256PlusPlus::seed_from_u64(noise.seed ^ batch.rotate_left(32)),
        }
    }

    /// Draws a delay over its mean: exponential, like waits for random events.
    pub(super) fn delay(&mut self) -> f64 {
        match self.noise == Noise::NONE {
            true => 1.0,
            false => -(1.0 - self.random.random::<f64>()).ln(),
        }
    }

    /// Draws the delay of a launch, ns: mostly 0.
    pub(super) fn rare(&mut self) -> f64 {
        let is_rare = self.noise.rare > 0.0 && self.random.random_bool(self.noise.rare.recip());
        if is_rare {
            self.noise.rare_ns * self.delay()
        } else {
            0.0
        }
    }

    /// Draws the factor of the next time.
    pub(super) fn next(&mut self) -> f64 {
        let deviation = self.noise.deviation;
        // Box and Muller, 1958.
        let [radius, turn]: [f64; 2] = [self.random.random(), self.random.random()];
        let normal = (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * turn).cos();
        // Their mean is 1.
        (deviation * normal - 0.5 * deviation * deviation).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_have_a_mean_of_one_and_the_deviation() {
        for deviation in [0.0, 0.1, 0.4] {
            let noise = Noise {
                deviation,
                ..Noise::default()
            };
            let mut factors = Factors::new(noise, 1);
            let drawn: Vec<f64> = (0..20_000).map(|_| factors.next()).collect();
            let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
            let squares = drawn.iter().map(|factor| factor.ln().powi(2)).sum::<f64>();
            let about = (squares / drawn.len() as f64 - 0.25 * deviation.powi(4)).sqrt();
            assert!((mean - 1.0).abs() < 0.01, "{deviation}: {mean}");
            assert!((about - deviation).abs() < 0.01, "{deviation}: {about}");
        }
    }
}
