//! What holds for any sample: no panic, no NaN, and the laws of each figure.

mod numbers;

use breakeven_profile::stats::{Moments, Summary, median, quantile};
use proptest::{collection::vec, prelude::*};

use numbers::{awkward, taken};

/// Every figure of a sample that has them; a refusal gives none.
fn figures(values: &[f64], q: f64) -> Vec<f64> {
    let mut all = Vec::new();
    if let Ok(s) = Summary::of(values) {
        all.extend([s.total, s.mean, s.min, s.median, s.p95, s.p99, s.max]);
        all.extend([s.deviation, s.cv].into_iter().flatten());
    }
    all.extend([median(values), quantile(values, q)].into_iter().flatten());
    all
}

fn close(a: f64, b: f64, scale: f64) -> bool {
    (a - b).abs() <= 1e-9 * scale.max(1e-300)
}

proptest! {
    #[test]
    fn no_panic_and_no_nan_on_anything(values in vec(awkward(), 0..9), q in awkward()) {
        prop_assert!(figures(&values, q).iter().all(|figure| figure.is_finite()));
    }

    #[test]
    fn no_panic_and_no_nan_on_what_is_taken(values in vec(taken(), 1..30), q in 0.0..=1.0) {
        let found = figures(&values, q);
        prop_assert!(found.len() >= 8);
        prop_assert!(found.iter().all(|figure| figure.is_finite()));
    }

    #[test]
    fn one_value_over_and_over(value in taken(), n in 1usize..60) {
        prop_assert_eq!(Summary::of(&vec![value; n]).unwrap().mean, value);
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
}
