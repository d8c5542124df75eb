//! What holds for any input: no panic, no NaN, and the laws of each statistic.

use breakeven_stats::{
    Bootstrap, LogRatioMethod, StatsError, benjamini_hochberg, bootstrap, bootstrap_median_ratio,
    deviation_interval, log_ratio_test, mean_interval, one_way_anova, power_law, runs_needed,
    theil_sen,
};
use proptest::{collection::vec, prelude::*, sample::select};

use crate::numbers::{awkward, taken};

/// Positive numbers that are taken.
fn positive() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => 1e-3..1e3,
        3 => select(vec![1.0, 1.0, 2.0, 5.0]),
        1 => select(vec![1e140, 1e-140]),
    ]
}

fn level() -> impl Strategy<Value = f64> {
    prop_oneof![
        0.5..0.999,
        select(vec![0.0, 1.0, f64::NAN, 1e-300, 1.0 - f64::EPSILON]),
        Just(1.0 - f64::EPSILON / 2.0),
    ]
}

fn small(level: f64) -> Bootstrap {
    Bootstrap {
        level,
        resamples: 100,
        seed: 3,
    }
}

/// Every figure of every statistic that succeeds; a refusal gives none.
fn figures(a: &[f64], b: &[f64], level: f64) -> Vec<f64> {
    let mut all = Vec::new();
    let mut add = |found: Result<Vec<f64>, StatsError>| all.extend(found.unwrap_or_default());
    add(mean_interval(a, level).map(|ends| ends.to_vec()));
    add(deviation_interval(a, level).map(|ends| ends.to_vec()));
    add(log_ratio_test(a, b, level).map(|t| {
        let mut figures = vec![t.ratio, t.lower, t.upper, t.p_value, t.standard_error];
        if let LogRatioMethod::Welch { degrees_of_freedom } = t.method {
            figures.push(degrees_of_freedom);
        }
        figures
    }));
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    for found in [
        bootstrap(a, mean, &small(level)),
        bootstrap(a, |v| v[0] * 1e200, &small(level)),
        bootstrap_median_ratio(a, b, &small(level)),
    ] {
        add(found.map(|i| vec![i.estimate, i.lower, i.upper]));
    }
    add(theil_sen(a, b, level).map(|l| vec![l.slope, l.intercept, l.slope_lower, l.slope_upper]));
    add(power_law(a, b, level).map(|l| vec![l.intercept, l.slope, l.slope_lower, l.slope_upper]));
    add(one_way_anova(&[a.to_vec(), b.to_vec()]).map(|p| vec![p]));
    add(one_way_anova(&[a.to_vec(), b.to_vec(), vec![1.0]]).map(|p| vec![p]));
    add(benjamini_hochberg(a));
    all
}

fn close(a: f64, b: f64, scale: f64) -> bool {
    (a - b).abs() <= 1e-9 * scale.max(1e-300)
}

proptest! {
    #[test]
    fn no_panic_and_no_nan_on_anything(
        a in vec(awkward(), 0..9), b in vec(awkward(), 0..9), level in level(),
    ) {
        prop_assert!(figures(&a, &b, level).iter().all(|figure| figure.is_finite()));
    }

    #[test]
    fn no_panic_and_no_nan_on_what_is_taken(
        pairs in vec((taken(), taken()), 2..30), level in 0.01..0.999,
    ) {
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let found = figures(&a, &b, level);
        // The mean's two intervals at least.
        prop_assert!(found.len() >= 5);
        prop_assert!(found.iter().all(|figure| figure.is_finite()));
    }

    #[test]
    fn no_panic_and_no_nan_on_positive_values(
        pairs in vec((positive(), positive()), 3..30), level in 0.01..0.999,
    ) {
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        prop_assert!(figures(&a, &b, level).iter().all(|figure| figure.is_finite()));
    }

    #[test]
    fn one_value_over_and_over(value in positive(), n in 1usize..60, m in 1usize..60) {
        let (a, b) = (vec![value; n], vec![value; m]);
        prop_assert!(figures(&a, &b, 0.95).iter().all(|figure| figure.is_finite()));
    }

    #[test]
    fn runs_needed_never_panics(
        cv in awkward(), ratio in awkward(), alpha in awkward(), power in level(),
    ) {
        if let Ok(runs) = runs_needed(cv, ratio, alpha, power) {
            prop_assert!(runs >= 2);
        }
    }

    #[test]
    fn log_ratio_turns_round_and_scales(
        a in vec(1.0..100.0, 2..12), b in vec(1.0..100.0, 2..12), unit in 1e-6..1e6,
    ) {
        let there = log_ratio_test(&a, &b, 0.9).unwrap();
        let back = log_ratio_test(&b, &a, 0.9).unwrap();
        prop_assert!(close(there.ratio * back.ratio, 1.0, 1.0));
        prop_assert!(close(there.p_value, back.p_value, 1.0));
        prop_assert!(there.lower <= there.ratio && there.ratio <= there.upper);
        // The interval leaves 1 out exactly where the test at its level rejects.
        let outside = there.lower > 1.0 || there.upper < 1.0;
        prop_assert_eq!(outside, there.p_value < 0.1);
        let scaled = |v: &[f64]| v.iter().map(|x| x * unit).collect::<Vec<_>>();
        let other = log_ratio_test(&scaled(&a), &scaled(&b), 0.9).unwrap();
        prop_assert!(close(other.ratio, there.ratio, there.ratio));
    }

    #[test]
    fn adjusted_p_values_rise_and_keep_their_order(p in vec(0.0..=1.0, 0..30)) {
        let bh = benjamini_hochberg(&p).unwrap();
        for i in 0..p.len() {
            prop_assert!(p[i] <= bh[i] && bh[i] <= 1.0);
            for j in 0..p.len() {
                prop_assert!(p[i] > p[j] || bh[i] <= bh[j]);
            }
        }
    }

    #[test]
    fn a_line_is_found_again(
        x in vec(-1000i32..1000, 3..30), slope in -9i32..9, intercept in -9i32..9,
    ) {
        prop_assume!(x.iter().any(|v| *v != x[0]));
        let x: Vec<f64> = x.into_iter().map(f64::from).collect();
        let (slope, intercept) = (f64::from(slope), f64::from(intercept));
        let y: Vec<f64> = x.iter().map(|x| intercept + slope * x).collect();
        let line = theil_sen(&x, &y, 0.95).unwrap();
        prop_assert_eq!((line.slope, line.intercept), (slope, intercept));
        prop_assert_eq!((line.slope_lower, line.slope_upper), (slope, slope));
    }
}
