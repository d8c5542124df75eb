//! Tails and upper quantiles of the normal and of Student's t distribution:
//! `statrs`, with the ends of the ranges made safe.

use statrs::distribution::{Continuous, ContinuousCDF, FisherSnedecor, Gamma, Normal, StudentsT};

/// Degrees of freedom from which the t distribution is taken as normal: the
/// two then differ by less than 1e-4 of any tail up to |t| = 4, while the
/// incomplete beta function behind t loses more digits the more there are.
const NORMAL_FROM: f64 = 1e6;

/// Steps of Newton's method, which takes four to eight of them where it is at its best.
const NEWTON_STEPS: usize = 12;

/// P(Z ≤ z) of the standard normal distribution.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    Normal::standard().cdf(z).clamp(0.0, 1.0)
}

/// The z with P(Z > z) = `tail`, for a tail strictly between 0 and 1.
pub(crate) fn normal_upper(tail: f64) -> f64 {
    -Normal::standard().inverse_cdf(tail)
}

/// P(T > t) of Student's t for t ≥ 0 and `freedom` > 0.
fn t_tail(t: f64, freedom: f64) -> f64 {
    if freedom >= NORMAL_FROM {
        return normal_cdf(-t);
    }
    students_t(freedom).sf(t).clamp(0.0, 0.5)
}

fn students_t(freedom: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, freedom)
        .expect("callers pass degrees of freedom that are a positive number")
}

/// P(|T| ≥ |t|) of Student's t with `freedom` > 0 degrees of freedom.
pub(crate) fn t_two_sided(t: f64, freedom: f64) -> f64 {
    2.0 * t_tail(t.abs(), freedom)
}

/// P(F > `ratio`) of a ratio of two variances with `freedom` and `other_freedom`
/// degrees of freedom, the second perhaps infinite.
pub(crate) fn f_upper_tail(ratio: f64, freedom: f64, other_freedom: f64) -> f64 {
    const POSITIVE: &str = "callers pass degrees of freedom that are positive";
    // If these exceed the range of an `f64`, the functions below panic instead of returning a
    // value.
    let half = freedom / 2.0;
    if ratio * half <= 0.0 {
        return 1.0;
    } else if !(ratio * freedom).is_finite() {
        return 0.0;
    }
    let tail = if other_freedom >= NORMAL_FROM {
        // χ² over its degrees of freedom.
        Gamma::new(half, half).expect(POSITIVE).sf(ratio)
    } else {
        let distribution = FisherSnedecor::new(freedom, other_freedom);
        distribution.expect(POSITIVE).sf(ratio)
    };
    tail.clamp(0.0, 1.0)
}

/// The t with P(T > t) = `tail`, for a tail strictly between 0 and 1.
///
/// Newton's method from the normal quantile, which is never above t: the tail is
/// convex, so each step stays below. Where the tails are so heavy that it takes long
/// (few degrees of freedom, a tiny tail), bisection, which is sure. Stops at 1e150.
pub(crate) fn t_upper(tail: f64, freedom: f64) -> f64 {
    if tail > 0.5 {
        return -t_upper(1.0 - tail, freedom);
    }
    let mut low = normal_upper(tail);
    if freedom >= NORMAL_FROM {
        return low;
    }
    let distribution = students_t(freedom);
    for _ in 0..NEWTON_STEPS {
        let step = (t_tail(low, freedom) - tail) / distribution.pdf(low);
        if !step.is_finite() {
            // So far out that the density has no digits left.
            break;
        }
        low += step;
        if step <= 1e-14 * low {
            return low;
        }
    }
    let mut high = 2.0 * low;
    while t_tail(high, freedom) > tail && high < 1e150 {
        low = high;
        high *= 2.0;
    }
    bisect(low, high, |t| t_tail(t, freedom) > tail)
}

/// The place between `low` and `high` up to which `is_below` holds, as near as
/// an `f64` is: the least value found for which it does not.
pub(crate) fn bisect(mut low: f64, mut high: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return high;
        }
        if is_below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_of_the_tables() {
        assert!((normal_upper(0.025) - 1.959_963_984_540_054).abs() < 1e-12);
        for (freedom, t) in [
            (1.0, 12.706_204_736),
            (2.0, 4.302_652_730),
            (10.0, 2.228_138_852),
        ] {
            assert!((t_upper(0.025, freedom) - t).abs() < 1e-8);
            assert!((t_two_sided(t, freedom) - 0.05).abs() < 1e-10);
        }
    }

    #[test]
    fn tails_of_ratios_of_variances() {
        // F(0.95; 4, 10) = 3.478 050; χ²(0.95; 4) = 9.487 729.
        assert!((f_upper_tail(3.478_050, 4.0, 10.0) - 0.05).abs() < 1e-7);
        assert!((f_upper_tail(9.487_729 / 4.0, 4.0, f64::INFINITY) - 0.05).abs() < 1e-7);
        assert_eq!(f_upper_tail(0.0, 4.0, 10.0), 1.0);
        assert_eq!(f_upper_tail(f64::INFINITY, 4.0, 10.0), 0.0);
    }

    #[test]
    fn many_degrees_of_freedom_go_over_into_the_normal() {
        for t in [0.1, 1.0, 3.0] {
            let (last, normal) = (t_two_sided(t, 0.99 * NORMAL_FROM), 2.0 * normal_cdf(-t));
            assert!((last / normal - 1.0).abs() < 1e-4);
        }
    }

    #[test]
    fn quantiles_have_the_tail_that_was_asked_for() {
        for freedom in [1.0, 1.7, 3.0, 8.9, 40.0, 900.0, 9e5] {
            for tail in [0.4, 0.1, 0.025, 1e-4, 1e-9, 1e-30, 1e-100] {
                let t = t_upper(tail, freedom);
                let found = t_two_sided(t, freedom) / (2.0 * tail);
                assert!((found - 1.0).abs() < 1e-9, "{freedom} {tail}: {found}");
            }
        }
    }

    #[test]
    fn ends_of_the_ranges() {
        assert_eq!(t_two_sided(0.0, 3.0), 1.0);
        assert_eq!(t_two_sided(f64::INFINITY, 3.0), 0.0);
        assert!(t_upper(1e-300, 1.0).is_finite() && normal_upper(1e-300) > 37.0);
        assert_eq!(t_upper(0.9, 4.0), -t_upper(1.0 - 0.9, 4.0));
    }
}
