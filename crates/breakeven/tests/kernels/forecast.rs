//! `ar_forecast` against statsmodels and against a fit by Householder reflections,
//! and what series without a unique fit give.

use std::sync::LazyLock;

use breakeven::kernels::ArForecast;
use breakeven::{ErrorKind, Tensor};
use proptest::prelude::*;
use serde::Deserialize;

use super::agree::{cases, check, forms};
use super::float64;
use super::problem::ar_forecast;
use super::shapes::refused;

#[derive(Deserialize)]
struct Vectors {
    ar_forecast: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    dims: [usize; 2],
    lags: usize,
    steps: usize,
    unit: f32,
    series: Vec<i32>,
    expected: Vec<f64>,
}

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let vectors: Vectors = serde_json::from_str(include_str!("../data/kernels.json")).unwrap();
    vectors.ar_forecast
});

#[test]
fn it_is_that_of_statsmodels() {
    assert!(!CASES.is_empty());
    for case in CASES.iter() {
        let series: Vec<f32> = case.series.iter().map(|v| *v as f32 * case.unit).collect();
        let problem = ar_forecast(&series[..], case.dims, case.lags, case.steps).unwrap();
        let scale: Vec<f64> = case.expected.iter().map(|value| value.abs()).collect();
        // Near zero, what is relative is the series' own spread.
        let spread = spread(&series);
        let scale: Vec<f64> = scale.iter().map(|value| value.max(spread)).collect();
        check(&problem, &case.expected, Some(&scale), 1e-3);
    }
}

fn spread(series: &[f32]) -> f64 {
    let mean = series.iter().fold(0.0, |sum, v| sum + f64::from(*v)) / series.len() as f64;
    let squares = series.iter().map(|v| (f64::from(*v) - mean).powi(2));
    (squares.fold(0.0, |sum, v| sum + v) / series.len() as f64).sqrt()
}

/// A series that remembers its last two points, with noise from proptest.
fn series(batch: usize, points: usize) -> impl Strategy<Value = Vec<f32>> {
    let noise = prop::collection::vec(-1.0_f32..1.0, batch * points);
    (noise, -0.6_f32..0.6, -0.3_f32..0.3, -100.0_f32..100.0).prop_map(
        move |(mut series, first, second, offset)| {
            for one in series.chunks_mut(points) {
                for t in 2..points {
                    one[t] += first * one[t - 1] + second * one[t - 2];
                }
                one.iter_mut().for_each(|value| *value += offset);
            }
            series
        },
    )
}

proptest! {
    // Fewer: a GPU compiles the kernel anew for every number of lags.
    #![proptest_config(cases(24))]

    #[test]
    fn it_agrees(
        (dims, lags, steps, series) in (0_usize..4, 1_usize..9, 1_usize..7, 8_usize..300)
            .prop_flat_map(|(batch, lags, steps, more)| {
                let points = 4 * lags + more;
                (Just([batch, points]), Just(lags), Just(steps), series(batch, points))
            })
    ) {
        let problem = ar_forecast(&series[..], dims, lags, steps).unwrap();
        let expected = float64::ar_forecast(&series, dims, lags, steps);
        check(&problem, &expected, Some(&scale_of(&expected)), 1e-3);
    }
}

/// For each forecast the largest of all.
fn scale_of(expected: &[f64]) -> Vec<f64> {
    let largest = expected
        .iter()
        .fold(1.0, |most: f64, value| most.max(value.abs()));
    vec![largest; expected.len()]
}

#[test]
fn a_long_series_and_a_large_batch() {
    let noise = |i: usize| ((i * 7919 + i * i % 4001) % 1013) as f32 / 1013.0 - 0.5;
    for dims in [[1, 70_001], [300, 40]] {
        let mut series: Vec<f32> = (0..dims[0] * dims[1]).map(noise).collect();
        for t in 1..series.len() {
            series[t] += 0.7 * series[t - 1];
        }
        let problem = ar_forecast(&series[..], dims, 3, 5).unwrap();
        let expected = float64::ar_forecast(&series, dims, 3, 5);
        check(&problem, &expected, Some(&scale_of(&expected)), 1e-3);
    }
}

fn reported(output: Vec<f32>) -> Tensor<'static> {
    let len = output.len();
    Tensor::new(output, &[len]).unwrap()
}

#[test]
fn series_without_a_unique_fit_are_named_and_spoil_no_other() {
    let sound = |t: usize| ((t * 37) % 23) as f32 + 3.0;
    let ramp = |t: usize| 1.5 * t as f32 - 20.0;
    let wave = |t: usize| (t as f32 * 0.7).sin();
    let tenth = |_: usize| 0.1_f32;
    for (kind, bad) in [
        ("constant", &tenth as &dyn Fn(usize) -> f32),
        ("zero", &|_| 0.0),
        ("ramp", &ramp),
        ("sine", &wave),
        ("one value repeated", &|t| if t == 39 { 5.0 } else { 2.0 }),
    ] {
        let series: Vec<f32> = (0..40).map(sound).chain((0..40).map(bad)).collect();
        let problem = ar_forecast(&series, [2, 40], 4, 3).unwrap();
        for (form, output) in forms(&problem) {
            assert!(output[..3].iter().all(|v| v.is_finite()), "{kind}, {form}");
            assert!(
                output[3..].iter().all(|v| v.is_nan()),
                "{kind}, {form}: {output:?}"
            );
            refused(
                problem.operator.checked(&reported(output)),
                ErrorKind::Singular,
                "ar_forecast: series 1 of the batch has no unique fit with 4 lags: it is constant, \
                 or its lags depend linearly on each other; give fewer lags or another series",
            );
        }
        let alone = ar_forecast(&series[..40], [1, 40], 4, 3).unwrap();
        assert!(alone.operator.checked(&reported(alone.cpu())).is_ok());
    }
}

#[test]
fn nan_and_infinity_make_a_series_singular_on_the_cpu() {
    for bad in [f32::NAN, f32::INFINITY] {
        let mut series: Vec<f32> = (0..40).map(|t| ((t * 37) % 23) as f32).collect();
        series[11] = bad;
        let problem = ar_forecast(&series[..], [1, 40], 2, 2).unwrap();
        assert!(problem.operator.checked(&reported(problem.cpu())).is_err());
    }
}

#[test]
fn a_forecast_past_f32_is_infinite_and_not_nan() {
    // Grows by 3 a step, from noise that keeps it fittable.
    let series: Vec<f32> = (0..30)
        .map(|t| -(3.0_f32.powi(t) + ((t * 7) % 5) as f32))
        .collect();
    let problem = ar_forecast(&series[..], [1, 30], 1, 80).unwrap();
    for (form, output) in forms(&problem) {
        assert!(problem.operator.checked(&reported(output.clone())).is_ok());
        assert!(output[0].is_finite(), "{form}");
        assert_eq!(output[79], f32::NEG_INFINITY, "{form}");
    }
}

#[test]
fn wrong_shapes_are_typed_errors() {
    refused(
        ar_forecast(&[1.0, 2.0][..], [1, 2], 1, 1),
        ErrorKind::Shape,
        "ar_forecast: 2 points do not determine 1 lags and an intercept; give 3 points or more, \
         or fewer lags",
    );
    refused(
        ar_forecast(&[1.0][..], [1, 1], 1, 1),
        ErrorKind::Shape,
        "ar_forecast: 1 points do not determine 1 lags and an intercept; give 3 points or more, \
         or fewer lags",
    );
    refused(
        ar_forecast(&[1.0; 9][..], [1, 9], 0, 1),
        ErrorKind::Shape,
        "ar_forecast: 0 lags and 1 steps; give at least one of each",
    );
    let huge = ArForecast::new(usize::MAX, 1);
    assert_eq!(
        huge.err().map(|error| error.kind()),
        Some(ErrorKind::TooLarge)
    );
    assert!(ar_forecast(&[][..], [0, 0], 3, 2).unwrap().cpu().is_empty());
}
