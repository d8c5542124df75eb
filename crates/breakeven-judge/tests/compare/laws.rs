//! What holds for any two sides.

use breakeven_judge::compare::{Metric, Options};
use breakeven_judge::{ChangeType, ProfilerComparison, Threshold};
use breakeven_profile::profile::{Operation, Profile};
use proptest::collection::vec;
use proptest::prelude::*;

use super::{compared, operation, profile, recorded};

/// Run medians of one operation: a level, and up to eight runs about it.
fn medians() -> impl Strategy<Value = Vec<u64>> {
    let level = 1_000u64..10_000_000;
    let runs = vec(0.8f64..1.25, 1..8);
    (level, runs).prop_map(|(level, parts)| {
        let parts = parts.into_iter();
        parts
            .map(|part| super::whole(level as f64 * part))
            .collect()
    })
}

/// Operations on both sides, some of which did not change at all.
fn sides() -> impl Strategy<Value = (Profile, Profile)> {
    let pair = (medians(), medians(), any::<bool>());
    vec(pair, 1..8).prop_map(|operations| {
        let pairs = operations.into_iter().enumerate();
        let (baseline, current): (Vec<_>, Vec<_>) = pairs
            .map(|(index, (baseline, current, same))| {
                let name = format!("operation{index}");
                let current = if same { &baseline } else { &current };
                (operation(&name, &baseline), operation(&name, current))
            })
            .unzip();
        (recorded(profile(baseline)), recorded(profile(current)))
    })
}

fn options() -> impl Strategy<Value = Options> {
    let metrics = prop_oneof![
        Just(Metric::TIME),
        Just(Metric::MEAN),
        Just(Metric::from("p95")),
        Just(Metric::from("total")),
        Just(Metric::CALLS),
        Just(Metric::from("throughput"))
    ];
    (metrics, any::<bool>(), 0.01f64..0.5).prop_map(|(metric, plain_threshold, threshold)| {
        Options {
            threshold: Threshold::fraction(threshold).unwrap(),
            metric,
            plain_threshold,
            ..Options::default()
        }
    })
}

fn kinds(comparison: &ProfilerComparison) -> Vec<ChangeType> {
    let operations = comparison.operations.iter();
    operations.map(|operation| operation.change_type).collect()
}

fn mirrored(kind: ChangeType) -> ChangeType {
    match kind {
        ChangeType::Regression => ChangeType::Improvement,
        ChangeType::Improvement => ChangeType::Regression,
        ChangeType::New => ChangeType::Removed,
        ChangeType::Removed => ChangeType::New,
        same @ (ChangeType::NoChange | ChangeType::Inconclusive) => same,
    }
}

/// 1 where more is worse.
fn sign(metric: &Metric) -> f64 {
    match metric.to_string().as_str() {
        "throughput" => -1.0,
        _ => 1.0,
    }
}

/// The profile with operations added to it.
fn with(mut profile: Profile, added: &[Operation]) -> Profile {
    profile.operations.extend_from_slice(added);
    profile
}

proptest! {
    #[test]
    fn exchanging_the_sides_mirrors_the_verdicts((baseline, current) in sides(), options in options()) {
        let there = kinds(&compared(&baseline, &current, &options));
        let back = kinds(&compared(&current, &baseline, &options));
        let mirrored: Vec<_> = back.into_iter().map(mirrored).collect();
        prop_assert_eq!(there, mirrored);
    }

    #[test]
    fn the_same_input_gives_the_same_answer((baseline, current) in sides(), options in options()) {
        let first = compared(&baseline, &current, &options);
        let second = compared(&baseline, &current, &options);
        prop_assert_eq!(
            serde_json::to_string(&first).unwrap(),
            serde_json::to_string(&second).unwrap()
        );
    }

    /// They teach nothing of the noise, and correction only grows with them.
    #[test]
    fn operations_that_neither_change_nor_vary_make_no_regression(
        (baseline, current) in sides(),
        options in options(),
        added in vec((1_000u64..10_000_000, 2usize..8), 1..6),
    ) {
        let added: Vec<_> = added
            .iter()
            .enumerate()
            .map(|(index, (median, runs))| operation(&format!("added{index}"), &vec![*median; *runs]))
            .collect();
        let alone = kinds(&compared(&baseline, &current, &options));
        let among = kinds(&compared(&with(baseline, &added), &with(current, &added), &options));
        for (before, after) in alone.iter().zip(&among) {
            let worse = *after == ChangeType::Regression && *before != ChangeType::Regression;
            prop_assert!(!worse, "{alone:?} {among:?}");
        }
    }

    /// From the others it is learnt how noisy operations are, so they may make one
    /// surer; what is estimated is its own.
    #[test]
    fn no_other_operation_moves_an_estimate(
        (baseline, current) in sides(),
        (others_before, others_after) in sides(),
        options in options(),
    ) {
        let named = |mut profile: Profile| {
            for operation in &mut profile.operations {
                operation.name.insert_str(0, "other ");
            }
            profile.operations
        };
        let alone = compared(&baseline, &current, &options);
        let baseline = with(baseline, &named(others_before));
        let current = with(current, &named(others_after));
        let among = compared(&baseline, &current, &options);
        for (before, after) in alone.operations.iter().zip(&among.operations) {
            prop_assert_eq!(before.judged.ratio, after.judged.ratio);
            let change = after.judged.ratio.map_or(0.0, |ratio| ratio.ln() * sign(&options.metric));
            let is_far = change >= options.threshold.as_fraction().ln_1p() - 1e-6;
            prop_assert!(after.change_type != ChangeType::Regression || is_far, "{after:?}");
        }
    }

    #[test]
    fn the_order_of_operations_does_not_matter((baseline, current) in sides(), options in options()) {
        let mut turned = current.clone();
        turned.operations.reverse();
        let found = compared(&baseline, &current, &options);
        prop_assert_eq!(found.operations, compared(&baseline, &turned, &options).operations);
    }

    #[test]
    fn every_figure_is_finite((baseline, current) in sides(), options in options()) {
        let found = compared(&baseline, &current, &options);
        for row in &found.operations {
            let figures = [
                row.baseline_time_ms, row.current_time_ms, row.change_ms, row.change_percent,
                row.judged.ratio, row.judged.p_value, row.judged.adjusted_p_value, row.judged.noise, row.judged.effect,
            ];
            let ends = row.judged.interval.into_iter().flatten();
            prop_assert!(figures.into_iter().flatten().chain(ends).all(f64::is_finite), "{row:?}");
        }
        let mut text = Vec::new();
        found.page().markdown(&mut text).unwrap();
        found.print_summary(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        prop_assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}
