//! What holds for any input: no panic, no NaN, and the laws of each statistic.

use breakeven_profile::stats::{
    Bootstrap, BootstrapMethod, BrunnerMunzelMethod, LogRatioMethod, Moments, StatsError, Summary,
    benjamini_hochberg, bootstrap, bootstrap_median_ratio, brunner_munzel, holm, log_ratio_test,
    log_ratio_with_noise, mann_whitney, median, power_law, pseudo_median, quantile, runs_needed,
    shift, theil_sen,
};
use proptest::{collection::vec, prelude::*, sample::select};

/// Any number at all, and the awkward ones often.
fn awkward() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => any::<f64>(),
        4 => -10.0..10.0,
        4 => select(vec![0.0, 1.0, 1.0, 2.0, 5.0]),
        2 => select(vec![1e140, -1e140, 1e-140, 5e-324, -0.0, 1e139, f64::MIN_POSITIVE]),
        1 => select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN]),
    ]
}

/// Numbers that are taken, from the smallest to the largest.
fn taken() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -1e3..1e3,
        3 => select(vec![0.0, 1.0, 1.0, 2.0, 5.0]),
        2 => select(vec![1e140, -1e140, 1e-140, 5e-324, -0.0]),
    ]
}

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
        select(vec![0.0, 1.0, f64::NAN, 1e-300, 1.0 - f64::EPSILON])
    ]
}

fn small(method: BootstrapMethod, level: f64) -> Bootstrap {
    Bootstrap {
        method,
        level,
        resamples: 100,
        seed: 3,
    }
}

/// Every figure of every statistic that succeeds; a refusal gives none.
fn figures(a: &[f64], b: &[f64], level: f64) -> Vec<f64> {
    let mut all = Vec::new();
    let mut add = |found: Result<Vec<f64>, StatsError>| all.extend(found.unwrap_or_default());
    add(Summary::of(a).map(|s| {
        let figures = [s.total, s.mean, s.min, s.median, s.p95, s.p99, s.max];
        let rest = [s.deviation, s.cv].into_iter().flatten();
        figures.into_iter().chain(rest).collect()
    }));
    add(median(a).map(|m| vec![m]));
    add(quantile(a, level).map(|q| vec![q]));
    add(mann_whitney(a, b).map(|t| vec![t.u, t.p_value, t.superiority, t.cliffs_delta]));
    add(brunner_munzel(a, b).map(|t| match t.method {
        BrunnerMunzelMethod::StudentT {
            statistic,
            degrees_of_freedom,
        } => vec![t.p_value, t.superiority, statistic, degrees_of_freedom],
        BrunnerMunzelMethod::Permutation => vec![t.p_value, t.superiority],
    }));
    for found in [
        log_ratio_test(a, b, level),
        log_ratio_with_noise(a, b, 0.02, level),
    ] {
        add(found.map(|t| {
            let mut figures = vec![t.ratio, t.lower, t.upper, t.p_value, t.standard_error];
            if let LogRatioMethod::Welch { degrees_of_freedom } = t.method {
                figures.push(degrees_of_freedom);
            }
            figures
        }));
    }
    for found in [pseudo_median(a, level), shift(a, b, level)] {
        add(found.map(|s| vec![s.estimate, s.lower, s.upper, s.level]));
    }
    for method in [BootstrapMethod::Percentile, BootstrapMethod::Bca] {
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        add(bootstrap(a, mean, &small(method, level)).map(|i| vec![i.estimate, i.lower, i.upper]));
        add(bootstrap(a, |v| v[0] * 1e200, &small(method, level))
            .map(|i| vec![i.estimate, i.lower, i.upper]));
        add(bootstrap_median_ratio(a, b, &small(method, level))
            .map(|i| vec![i.estimate, i.lower, i.upper]));
    }
    add(theil_sen(a, b, level).map(|l| vec![l.slope, l.intercept, l.slope_lower, l.slope_upper]));
    add(power_law(a, b, level)
        .map(|l| vec![l.factor, l.exponent, l.exponent_lower, l.exponent_upper]));
    add(benjamini_hochberg(a));
    add(holm(a));
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
        pairs in vec((taken(), taken()), 1..30), level in 0.01..0.999,
    ) {
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let found = figures(&a, &b, level);
        prop_assert!(found.len() > 20);
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
        prop_assert_eq!(mann_whitney(&a, &b).unwrap().p_value, 1.0);
        prop_assert_eq!(shift(&a, &b, 0.95).unwrap().estimate, 0.0);
        prop_assert_eq!(Summary::of(&a).unwrap().mean, value);
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
    fn rank_tests_do_not_mind_the_order_of_the_sides(
        a in vec(taken(), 2..40), b in vec(taken(), 2..40),
    ) {
        let (there, back) = (mann_whitney(&a, &b).unwrap(), mann_whitney(&b, &a).unwrap());
        prop_assert_eq!(there.u + back.u, (a.len() * b.len()) as f64);
        prop_assert!(close(there.p_value, back.p_value, 1.0));
        prop_assert!(close(there.cliffs_delta, -back.cliffs_delta, 1.0));
        prop_assert!((0.0..=1.0).contains(&there.p_value));
        let (there, back) = (brunner_munzel(&a, &b).unwrap(), brunner_munzel(&b, &a).unwrap());
        prop_assert!(close(there.p_value, back.p_value, 1.0));
        prop_assert!(close(there.superiority, mann_whitney(&a, &b).unwrap().superiority, 1.0));
    }

    #[test]
    fn rank_tests_see_ranks_only(a in vec(-9i32..9, 2..30), b in vec(-9i32..9, 2..30)) {
        let plain = |v: &[i32]| v.iter().copied().map(f64::from).collect::<Vec<_>>();
        let bent = |v: &[i32]| v.iter().map(|&x| f64::from(x).exp()).collect::<Vec<_>>();
        prop_assert_eq!(
            mann_whitney(&plain(&a), &plain(&b)),
            mann_whitney(&bent(&a), &bent(&b))
        );
        prop_assert_eq!(
            brunner_munzel(&plain(&a), &plain(&b)),
            brunner_munzel(&bent(&a), &bent(&b))
        );
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
    fn merging_is_pushing(parts in vec(vec(-1e6..1e6f64, 0..20), 0..6)) {
        let mut merged = Moments::new();
        for part in &parts {
            merged.merge(&Moments::of(part).unwrap());
        }
        let all = Moments::of(&parts.concat()).unwrap();
        prop_assert_eq!(merged.count(), all.count());
        prop_assert_eq!((merged.min(), merged.max()), (all.min(), all.max()));
        prop_assert!(close(merged.total(), all.total(), 1e8));
        let or_zero = |x: Option<f64>| x.unwrap_or(0.0);
        prop_assert!(close(or_zero(merged.mean()), or_zero(all.mean()), 1e6));
        prop_assert!(close(or_zero(merged.variance()), or_zero(all.variance()), 1e12));
    }

    #[test]
    fn moments_survive_their_file(values in vec(taken(), 0..20)) {
        let moments = Moments::of(&values).unwrap();
        let text = serde_json::to_string(&moments).unwrap();
        let back: Moments = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(back.count(), moments.count());
        let size = moments.total().abs();
        prop_assert!(close(back.total(), moments.total(), size));
    }

    #[test]
    fn quantiles_rise_from_least_to_most(mut values in vec(taken(), 1..30), q in 0.0..=1.0) {
        values.sort_by(f64::total_cmp);
        let (least, most) = (values[0], values[values.len() - 1]);
        let at = |q: f64| quantile(&values, q).unwrap();
        prop_assert!((least..=most).contains(&at(q)));
        prop_assert!(at(q / 2.0) <= at(q));
        prop_assert_eq!((at(0.0), at(1.0)), (least, most));
    }

    #[test]
    fn adjusted_p_values_rise_and_keep_their_order(p in vec(0.0..=1.0, 0..30)) {
        let (bh, holm) = (benjamini_hochberg(&p).unwrap(), holm(&p).unwrap());
        for i in 0..p.len() {
            prop_assert!(p[i] <= bh[i] && bh[i] <= holm[i] + 1e-15 && holm[i] <= 1.0);
            for j in 0..p.len() {
                prop_assert!(p[i] > p[j] || (bh[i] <= bh[j] && holm[i] <= holm[j]));
            }
        }
    }

    #[test]
    fn a_shift_moves_with_its_sample(
        a in vec(-100i32..100, 1..40), b in vec(-100i32..100, 1..40), by in -50i32..50,
    ) {
        let plain = |v: &[i32], by: i32| v.iter().map(|x| f64::from(x + by)).collect::<Vec<_>>();
        let still = shift(&plain(&a, 0), &plain(&b, 0), 0.9).unwrap();
        let moved = shift(&plain(&a, 0), &plain(&b, by), 0.9).unwrap();
        prop_assert_eq!(moved.estimate, still.estimate + f64::from(by));
        prop_assert_eq!(moved.lower, still.lower + f64::from(by));
        prop_assert_eq!(moved.upper, still.upper + f64::from(by));
        prop_assert!(still.lower <= still.estimate && still.estimate <= still.upper);
        let back = shift(&plain(&b, 0), &plain(&a, 0), 0.9).unwrap();
        prop_assert_eq!((back.lower, back.estimate), (-still.upper, -still.estimate));
        let one = pseudo_median(&plain(&a, by), 0.9).unwrap();
        let here = pseudo_median(&plain(&a, 0), 0.9).unwrap();
        prop_assert_eq!(one.estimate, here.estimate + f64::from(by));
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
