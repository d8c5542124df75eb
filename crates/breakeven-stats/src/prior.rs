//! What the variances of many operations say of each one.

use breakeven_profile::stats::median;
use statrs::function::gamma::digamma;

use crate::correction::benjamini_hochberg;
use crate::distribution::{bisect, f_upper_tail};

/// Least variance that the prior is fitted on, as a fraction of the median one: a
/// clock's steps can make a variance all but zero, and its logarithm boundless.
const FLOOR: f64 = 1e-5;

/// False discovery rate above which a variance that lies apart counts in full.
const APART: f64 = 0.01;

/// A variance estimated from the values of one operation.
#[derive(Clone, Copy)]
pub(crate) struct Estimate {
    pub(crate) variance: f64,
    /// Its degrees of freedom.
    pub(crate) freedom: f64,
}

/// How variances lie about the common one: `freedom` · `variance` / χ².
#[derive(Clone, Copy)]
pub(crate) struct Prior {
    pub(crate) variance: f64,
    /// Infinite if the operations show no more spread than chance would.
    pub(crate) freedom: f64,
    /// True for an operation that is so much quieter than the rest that its variance lies
    /// apart.
    pub(crate) is_quiet: bool,
}

/// Fits what each operation gets from all operations together. `None` if there are fewer than two
/// to learn from.
pub(crate) fn priors(estimates: &[Estimate]) -> Option<Vec<Prior>> {
    let noisy: Vec<Estimate> = estimates.iter().copied().filter(learns).collect();
    let prior = Prior::fit(&noisy, &vec![1.0; noisy.len()])?;
    let (prior, own) = prior.without_those_apart(&noisy);
    let mut own = own.into_iter();
    let each = estimates.iter().map(|estimate| match learns(estimate) {
        true => own.next().expect("one for each that learns"),
        // Without any spread, or with the noise known.
        false => prior,
    });
    Some(each.collect())
}

/// Degrees of freedom of all that learn, together.
pub(crate) fn pooled(estimates: &[Estimate]) -> f64 {
    let noisy = estimates.iter().filter(|estimate| learns(estimate));
    noisy.map(|estimate| estimate.freedom).sum()
}

/// Returns true if the other operations may learn from it, and it from them.
fn learns(estimate: &Estimate) -> bool {
    estimate.variance > 0.0 && estimate.freedom.is_finite()
}

impl Prior {
    /// By how much each estimate counts, 0 to 1.
    fn fit(noisy: &[Estimate], weights: &[f64]) -> Option<Self> {
        let count: f64 = weights.iter().sum();
        if count < 2.0 {
            return None;
        }
        let variances: Vec<f64> = noisy.iter().map(|each| each.variance).collect();
        let least = FLOOR * median(&variances).ok()?;
        let mean_of = |figure: &dyn Fn(&Estimate) -> f64| {
            let each = noisy.iter().zip(weights);
            each.map(|(estimate, weight)| weight * figure(estimate))
                .sum::<f64>()
                / count
        };
        // ln of a variance, less what its own few degrees of freedom do to it.
        let log = |estimate: &Estimate| {
            let half = estimate.freedom / 2.0;
            estimate.variance.max(least).ln() - digamma(half) + half.ln()
        };
        let mean = mean_of(&log);
        let spread = mean_of(&|each| (log(each) - mean).powi(2)) * count / (count - 1.0);
        let true_spread = spread - mean_of(&|each| trigamma(each.freedom / 2.0));
        Some(if true_spread > 0.0 {
            let half = inverse_trigamma(true_spread);
            Self {
                freedom: 2.0 * half,
                variance: (mean + digamma(half) - half.ln()).exp(),
                is_quiet: false,
            }
        } else {
            Self {
                freedom: f64::INFINITY,
                // Of one common variance, their mean says more than their logarithms.
                variance: mean_of(&|each| each.variance),
                is_quiet: false,
            }
        })
    }

    /// The prior without those whose variance lies apart, and what each has of it.
    fn without_those_apart(self, noisy: &[Estimate]) -> (Self, Vec<Self>) {
        let as_it_is = || (self, vec![self; noisy.len()]);
        let one_sided = self.tails(noisy);
        let two_sided: Vec<f64> = one_sided.iter().map(|p| 2.0 * p.min(1.0 - p)).collect();
        let Ok(rates) = benjamini_hochberg(&two_sided) else {
            return as_it_is();
        };
        if rates.iter().all(|rate| *rate > APART) {
            return as_it_is();
        }
        let weight = |rate: &f64| if *rate > APART { 1.0 } else { *rate };
        let weights: Vec<f64> = rates.iter().map(weight).collect();
        let Some(prior) = Self::fit(noisy, &weights) else {
            return as_it_is();
        };
        // The rarest first. No operation takes more from the rest than a less rare one.
        let tails = prior.tails(noisy);
        let mut order: Vec<usize> = (0..noisy.len()).collect();
        order.sort_by(|a, b| tails[*a].total_cmp(&tails[*b]));
        let mut own = vec![prior; noisy.len()];
        let most = prior.freedom.min(pooled(noisy));
        let mut freedom = 0.0_f64;
        for (rank, index) in order.into_iter().enumerate() {
            let by_rank = (rank as f64 + 0.5) / noisy.len() as f64;
            let fits = tails[index] / by_rank;
            if fits < 1.0 {
                freedom = freedom.max(fits * most);
                own[index].freedom = freedom;
            }
            own[index].is_quiet = tails[index] > 0.5 && rates[index] <= APART;
        }
        (prior, own)
    }

    /// How probable a variance as large as each is.
    fn tails(&self, noisy: &[Estimate]) -> Vec<f64> {
        let tail = |each: &Estimate| {
            f_upper_tail(each.variance / self.variance, each.freedom, self.freedom)
        };
        noisy.iter().map(tail).collect()
    }

    /// The prior and an estimate, each by its degrees of freedom.
    pub(crate) fn and(self, own: Estimate) -> Estimate {
        let freedom = self.freedom + own.freedom;
        Estimate {
            variance: match self.freedom.is_infinite() {
                true => self.variance,
                false => (self.freedom * self.variance + own.freedom * own.variance) / freedom,
            },
            freedom,
        }
    }
}

/// ψ′(x) for x > 0: up by the recurrence to where the asymptotic series holds
/// (Abramowitz and Stegun 1964, 6.4.6 and 6.4.12).
fn trigamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 10.0 {
        sum += (x * x).recip();
        x += 1.0;
    }
    let square = (x * x).recip();
    let series = 1.0 / 6.0 - square * (1.0 / 30.0 - square * (1.0 / 42.0 - square / 30.0));
    sum + x.recip() + square / 2.0 + square / x * series
}

/// The x > 0 with ψ′(x) = `y`, for y > 0. Bisection: ψ′ falls from ∞ to 0, and
/// 1/x < ψ′(x) < 1/x + 1/x² encloses the answer.
fn inverse_trigamma(y: f64) -> f64 {
    let high = 0.5 * (1.0 + (1.0 + 4.0 * y).sqrt()) / y;
    bisect(y.recip(), high, |x| trigamma(x) > y)
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    #[test]
    fn trigamma_at_known_places_and_back() {
        assert!((trigamma(1.0) - PI * PI / 6.0).abs() < 1e-12);
        assert!((trigamma(0.5) - PI * PI / 2.0).abs() < 1e-12);
        for x in [0.01, 0.5, 1.0, 3.7, 80.0, 1e6] {
            let back = inverse_trigamma(trigamma(x));
            assert!((back / x - 1.0).abs() < 1e-6, "{x}");
        }
    }
}
