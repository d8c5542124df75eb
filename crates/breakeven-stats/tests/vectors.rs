//! Against SciPy, statsmodels and NumPy: expected outputs that
//! `bench/peers/stats_vectors.py` wrote.

use std::sync::LazyLock;

use breakeven_profile::stats::{Summary, median, quantile};
use breakeven_stats::{
    Bootstrap, LogRatioMethod, Pair, benjamini_hochberg, bootstrap, bootstrap_median_ratio,
    log_ratio_test, log_ratio_tests, power_law, runs_needed, theil_sen,
};
use serde_json::Value;

static VECTORS: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("data/stats_vectors.json")).unwrap());

/// Runs `check` on each case of a section, of which there is at least one.
fn each(section: &str, check: impl Fn(&Value)) {
    let cases = VECTORS[section].as_array().unwrap();
    assert!(!cases.is_empty());
    cases.iter().for_each(check);
}

fn number(case: &Value, field: &str) -> f64 {
    case[field].as_f64().unwrap()
}

fn numbers(case: &Value, field: &str) -> Vec<f64> {
    let list = case[field].as_array().unwrap();
    list.iter().map(|value| value.as_f64().unwrap()).collect()
}

#[track_caller]
fn close(found: f64, expected: f64, relative: f64, case: &Value) {
    let slack = relative * expected.abs() + 1e-300;
    assert!(
        (found - expected).abs() <= slack,
        "{found} where {expected} is expected, in {case}"
    );
}

#[track_caller]
fn all_close(found: &[f64], expected: &[f64], relative: f64, case: &Value) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        close(*found, *expected, relative, case);
    }
}

#[test]
fn quantiles_are_those_of_numpy() {
    each("quantiles", |case| {
        let mut sorted = numbers(case, "values");
        sorted.sort_by(f64::total_cmp);
        let qs = numbers(case, "q");
        let found: Vec<f64> = qs.iter().map(|q| quantile(&sorted, *q).unwrap()).collect();
        all_close(&found, &numbers(case, "expected"), 1e-14, case);
    });
}

#[test]
fn summaries_are_those_of_numpy() {
    each("summaries", |case| {
        let values = numbers(case, "values");
        let found = Summary::of(&values).unwrap();
        close(found.total, number(case, "total"), 1e-13, case);
        close(found.mean, number(case, "mean"), 1e-13, case);
        close(
            found.deviation.unwrap(),
            number(case, "deviation"),
            1e-7,
            case,
        );
        close(found.cv.unwrap(), number(case, "cv"), 1e-7, case);
        close(found.median, number(case, "median"), 1e-14, case);
        close(
            median(&values).unwrap(),
            number(case, "median"),
            1e-14,
            case,
        );
    });
}

#[test]
fn log_ratio_is_welchs_test_of_scipy() {
    each("log_ratios", |case| {
        let (baseline, current) = (numbers(case, "baseline"), numbers(case, "current"));
        let found = log_ratio_test(&baseline, &current, number(case, "level")).unwrap();
        let LogRatioMethod::Welch { degrees_of_freedom } = found.method else {
            panic!("{:?}: {case}", found.method);
        };
        close(degrees_of_freedom, number(case, "freedom"), 1e-10, case);
        close(found.p_value, number(case, "p"), 1e-9, case);
        close(found.ratio, number(case, "ratio"), 1e-12, case);
        close(found.lower, number(case, "lower"), 1e-10, case);
        close(found.upper, number(case, "upper"), 1e-10, case);
    });
}

#[test]
fn shared_variances_are_those_of_limma() {
    let text = include_str!("data/shared_variance_vectors.json");
    let vectors: Value = serde_json::from_str(text).unwrap();
    let cases = vectors["cases"].as_array().unwrap();
    assert!(!cases.is_empty());
    let mut shared = 0;
    for case in cases {
        let side =
            |field: &str| -> Vec<Vec<f64>> { serde_json::from_value(case[field].clone()).unwrap() };
        let (baseline, current) = (side("baseline"), side("current"));
        let pairs: Vec<Pair<'_>> = baseline
            .iter()
            .zip(&current)
            .map(|(baseline, current)| Pair {
                baseline,
                current,
                noise: None,
            })
            .collect();
        let (freedom, error, p) = (
            numbers(case, "freedom"),
            numbers(case, "standard_error"),
            numbers(case, "p"),
        );
        for (index, found) in log_ratio_tests(&pairs, 0.95).into_iter().enumerate() {
            let found = found.unwrap();
            let degrees_of_freedom = match found.method {
                LogRatioMethod::Shared {
                    degrees_of_freedom, ..
                } => degrees_of_freedom,
                // Far quieter than the rest: limma lets it borrow all the same.
                _ => continue,
            };
            shared += 1;
            close(degrees_of_freedom, freedom[index], 1e-6, case);
            close(found.standard_error, error[index], 1e-6, case);
            close(found.p_value, p[index], 1e-5, case);
        }
    }
    assert!(shared > 20, "{shared} tests are compared");
}

const RESAMPLES: Bootstrap = Bootstrap {
    level: 0.95,
    resamples: 10_000,
    seed: 42,
};

/// The resamples differ, so the ends do, by a few percent of the width.
#[track_caller]
fn about(found: (f64, f64), case: &Value) {
    let expected = (number(case, "lower"), number(case, "upper"));
    let slack = 0.06 * (expected.1 - expected.0);
    assert!((found.0 - expected.0).abs() <= slack, "{found:?}: {case}");
    assert!((found.1 - expected.1).abs() <= slack, "{found:?}: {case}");
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

#[test]
fn bootstrap_is_about_that_of_scipy() {
    each("bootstraps", |case| {
        let statistic = match case["statistic"].as_str().unwrap() {
            "mean" => mean,
            _ => deviation,
        };
        let found = bootstrap(&numbers(case, "values"), statistic, &RESAMPLES).unwrap();
        about((found.lower, found.upper), case);
    });
    each("median_ratios", |case| {
        let (baseline, current) = (numbers(case, "baseline"), numbers(case, "current"));
        let found = bootstrap_median_ratio(&baseline, &current, &RESAMPLES).unwrap();
        about((found.lower, found.upper), case);
    });
}

#[test]
fn corrections_are_those_of_statsmodels() {
    each("corrections", |case| {
        let p = numbers(case, "p");
        all_close(
            &benjamini_hochberg(&p).unwrap(),
            &numbers(case, "bh"),
            1e-14,
            case,
        );
    });
}

#[test]
fn lines_are_those_of_scipy() {
    each("lines", |case| {
        let level = number(case, "level");
        let found = theil_sen(&numbers(case, "x"), &numbers(case, "y"), level).unwrap();
        close(found.slope, number(case, "slope"), 1e-12, case);
        close(found.intercept, number(case, "intercept"), 1e-12, case);
        close(found.slope_lower, number(case, "lower"), 1e-12, case);
        close(found.slope_upper, number(case, "upper"), 1e-12, case);
    });
    each("power_laws", |case| {
        let found = power_law(&numbers(case, "x"), &numbers(case, "y"), 0.95).unwrap();
        close(found.slope, number(case, "exponent"), 1e-12, case);
        close(found.intercept.exp(), number(case, "factor"), 1e-11, case);
        close(found.slope_lower, number(case, "lower"), 1e-12, case);
        close(found.slope_upper, number(case, "upper"), 1e-12, case);
    });
}

#[test]
fn runs_needed_are_within_one_of_statsmodels() {
    each("sample_sizes", |case| {
        let [cv, ratio, alpha, power] = ["cv", "ratio", "alpha", "power"].map(|f| number(case, f));
        let found = runs_needed(cv, ratio, alpha, power).unwrap() as f64;
        assert!(
            (found - number(case, "n").ceil()).abs() <= 1.0,
            "{found}: {case}"
        );
    });
}
