//! How far simulated times are off what is known of them.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Times that vary from one span or launch to the next, as those of machines do.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Noise {
    /// Standard deviation of a time's logarithm: times are log-normal, with the true mean.
    pub deviation: f64,
    /// Which noise: batches of one seed meet the same.
    pub seed: u64,
}

/// Draws factors of times.
pub(super) struct Factors {
    deviation: f64,
    random: Xoshiro256PlusPlus,
}

impl Factors {
    pub(super) fn new(noise: Noise) -> Self {
        Self {
            deviation: noise.deviation,
            random: Xoshiro256PlusPlus::seed_from_u64(noise.seed),
        }
    }

    /// How many times as long the next time is.
    pub(super) fn next(&mut self) -> f64 {
        // Box and Muller, 1958.
        let [radius, turn]: [f64; 2] = [self.random.random(), self.random.random()];
        let normal = (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * turn).cos();
        // Their mean is 1.
        (self.deviation * normal - 0.5 * self.deviation * self.deviation).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_have_a_mean_of_one_and_the_deviation() {
        for deviation in [0.0, 0.1, 0.4] {
            let mut factors = Factors::new(Noise { deviation, seed: 1 });
            let drawn: Vec<f64> = (0..20_000).map(|_| factors.next()).collect();
            let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
            let squares = drawn.iter().map(|factor| factor.ln().powi(2)).sum::<f64>();
            let about = (squares / drawn.len() as f64 - 0.25 * deviation.powi(4)).sqrt();
            assert!((mean - 1.0).abs() < 0.01, "{deviation}: {mean}");
            assert!((about - deviation).abs() < 0.01, "{deviation}: {about}");
        }
    }
}
