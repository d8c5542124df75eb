//! The kinds of noise of the made-up series, and their densities.

use rand::RngExt as _;
use rand_distr::{Distribution, StandardNormal, StudentT};
use rand_xoshiro::Xoshiro256PlusPlus;
use statrs::distribution::{Continuous as _, ContinuousCDF as _, Normal};

/// A kind of noise of deviation one.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// Correlation of a value with the one before.
    pub(crate) alike: f64,
    /// Probability that a run lies [`FAR`] above.
    pub(crate) outliers: f64,
    heavy: bool,
}

/// How far above the others an outlier lies: evenly between the two.
pub(crate) const FAR: [f64; 2] = [4.0, 14.0];

/// A kind of normal noise.
const fn normal(name: &'static str, alike: f64, outliers: f64) -> Kind {
    Kind {
        name,
        alike,
        outliers,
        heavy: false,
    }
}

pub(crate) const KINDS: [Kind; 7] = [
    normal("white", 0.0, 0.0),
    normal("alike_0.3", 0.3, 0.0),
    normal("alike_0.5", 0.5, 0.0),
    normal("outliers_5", 0.0, 0.05),
    normal("alike_0.3_outliers_5", 0.3, 0.05),
    Kind {
        heavy: true,
        ..normal("heavy", 0.0, 0.0)
    },
    normal("alike_0.7", 0.7, 0.0),
];

impl Kind {
    pub(crate) fn series(&self, length: usize, random: &mut Xoshiro256PlusPlus) -> Vec<f64> {
        let mut last: f64 = StandardNormal.sample(random);
        let innovation = (1.0 - self.alike * self.alike).sqrt();
        (0..length)
            .map(|_| {
                let new: f64 = match self.heavy {
                    // Four degrees of freedom: a variance of two.
                    true => {
                        let t: f64 = StudentT::new(4.0).expect("degrees").sample(random);
                        t / 2.0f64.sqrt()
                    }
                    false => StandardNormal.sample(random),
                };
                last = self.alike * last + innovation * new;
                match random.random::<f64>() < self.outliers {
                    true => last + FAR[0] + (FAR[1] - FAR[0]) * random.random::<f64>(),
                    false => last,
                }
            })
            .collect()
    }

    /// The logarithm of the density of an innovation, but for a constant; of a value itself
    /// where some lie far out and neighbours do not resemble each other.
    pub(crate) fn log_density(&self) -> impl Fn(f64) -> f64 {
        let Self {
            alike,
            outliers,
            heavy,
            ..
        } = *self;
        let normal = Normal::standard();
        move |x: f64| {
            if heavy {
                return -2.5 * (x * x / 2.0).ln_1p();
            }
            if outliers == 0.0 {
                return -x * x / (1.0 - alike * alike) / 2.0;
            }
            let far = (normal.cdf(x - FAR[0]) - normal.cdf(x - FAR[1])) / (FAR[1] - FAR[0]);
            ((1.0 - outliers) * normal.pdf(x) + outliers * far).ln()
        }
    }
}
