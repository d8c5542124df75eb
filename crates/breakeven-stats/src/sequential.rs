//! A mean of which one may look at every value as it comes, and stop.

/// Prior standard deviation of the effect, in standard deviations of a value: where the test
/// is sharpest. An effect ten times as small or large takes little longer to see than with a
/// prior made for it.
const PRIOR: f64 = 1.0;

/// The mean of values that come one by one, with an interval that holds at all times at once:
/// whoever stops because of what it says is wrong no more often than its level allows.
///
/// It is the sequential t-test by Bayes factors, with the right Haar prior on the values'
/// standard deviation and a normal one on the effect: under any mean and standard deviation
/// of normal values the factor is a test martingale, so that by Ville's inequality it ever
/// exceeds 1/α with probability α at most (Lai 1976, "On confidence sequences"; Hendriksen,
/// de Heide and Grünwald 2021, "Optional stopping with Bayes factors"). The factor in closed
/// form: Gronau, Ly and Wagenmakers (2020, "Informed Bayesian t-tests"). A fixed t-test that
/// is looked at after every value and stopped at its first p below 0.05 is wrong far more
/// often than in 5 %.
///
/// ```
/// use breakeven_stats::SequentialMean;
///
/// let mut change = SequentialMean::default();
/// for value in [0.11, 0.09, 0.10, 0.12, 0.10, 0.11, 0.09, 0.10] {
///     change.push(value);
/// }
/// let [lower, upper] = change.interval(0.95);
/// assert!(0.07 < lower && lower < 0.1025 && 0.1025 < upper && upper < 0.14);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[must_use]
pub struct SequentialMean {
    count: u64,
    mean: f64,
    /// Sum of the squares of the differences from the mean (Welford 1962).
    squares: f64,
}

impl SequentialMean {
    /// Takes in a value. One that is not finite is left out.
    pub fn push(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        self.count += 1;
        let off = value - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (value - self.mean);
    }

    /// Values so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean; 0 before the first.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Returns the interval of the mean of all future values with that confidence, valid at every
    /// time it is checked; unbounded while there are too few values.
    pub fn interval(&self, level: f64) -> [f64; 2] {
        let unknown = [f64::NEG_INFINITY, f64::INFINITY];
        let alpha = 1.0 - level;
        if self.count < 2 || !(alpha > 0.0 && alpha < 1.0) {
            return unknown;
        }
        let (count, freedom) = (self.count as f64, self.count as f64 - 1.0);
        // The factor is g^(−1/2) · ((1 + x) / (1 + x/g))^(n/2) with x = t²/(n−1): it is 1/α
        // at x = (c − 1) / (1 − c/g).
        let g = 1.0 + count * PRIOR * PRIOR;
        let c = (g / (alpha * alpha)).powf(1.0 / count);
        if c >= g {
            return unknown;
        }
        let t = (freedom * (c - 1.0) / (1.0 - c / g)).sqrt();
        let half = t * (self.squares / freedom / count).sqrt();
        [self.mean - half, self.mean + half]
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// A normal value by Box and Muller.
    fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
        let (radius, angle): (f64, f64) = (random.random(), random.random());
        (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    #[test]
    fn whoever_looks_at_every_value_is_wrong_as_seldom_as_promised() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let (mut wrong, mut width, streams) = (0, 0.0, 2_000);
        for stream in 0..streams {
            let scale = [1e-3, 1.0, 50.0][stream % 3];
            let mut mean = SequentialMean::default();
            let mut was_wrong = false;
            for _ in 0..300 {
                mean.push(scale * (0.3 + normal(&mut random)));
                let [lower, upper] = mean.interval(0.95);
                was_wrong |= lower > 0.3 * scale || upper < 0.3 * scale;
            }
            let [lower, upper] = mean.interval(0.95);
            wrong += usize::from(was_wrong);
            width += (upper - lower) / scale / streams as f64;
        }
        let part = wrong as f64 / streams as f64;
        assert!((0.01..=0.05).contains(&part), "wrong in {part}");
        // A fixed t-interval of 300 values would be 0.227 wide.
        assert!((0.3..0.45).contains(&width), "{width} wide");
    }

    #[test]
    fn an_effect_is_seen_soon() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
        for (effect, most) in [(2.0, 20), (0.5, 150)] {
            let mut mean = SequentialMean::default();
            while mean.interval(0.95)[0] <= 0.0 {
                mean.push(effect + normal(&mut random));
            }
            assert!(mean.count() <= most, "{effect}: {} values", mean.count());
        }
    }

    #[test]
    fn too_few_values_say_nothing() {
        let mut mean = SequentialMean::default();
        assert_eq!(mean.interval(0.95), [f64::NEG_INFINITY, f64::INFINITY]);
        mean.push(f64::NAN);
        mean.push(3.0);
        assert_eq!((mean.count(), mean.mean()), (1, 3.0));
        mean.push(3.0);
        assert_eq!(mean.interval(0.95)[1], f64::INFINITY);
        mean.push(3.0);
        mean.push(3.0);
        mean.push(3.0);
        mean.push(3.0);
        assert_eq!(mean.interval(0.95), [3.0, 3.0]);
        assert_eq!(mean.interval(1.0)[1], f64::INFINITY);
    }
}
