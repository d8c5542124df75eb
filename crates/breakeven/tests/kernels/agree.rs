//! Property: the CPU form, the GPU form and the float64 form agree on random
//! finite input of random shapes, odd sizes, one element and an empty batch included.

use breakeven::Operator;
use breakeven::kernels::Connectivity;
use proptest::prelude::*;

use super::float64;
use super::problem::{
    Problem, conv2d, dot_product, image_segmentation, matrix_multiply, pixel_entropy, vector_add,
};

/// The forms that this build and machine have, by name.
pub(super) fn forms<O: Operator>(problem: &Problem<'_, O>) -> Vec<(&'static str, Vec<O::Out>)> {
    #[allow(unused_mut, reason = "without the GPU feature there is one form")]
    let mut forms = vec![("cpu", problem.cpu())];
    #[cfg(feature = "gpu")]
    GPU.with(|gpu| {
        if let Some(gpu) = gpu {
            let output = gpu.run(&problem.operator, &problem.inputs);
            let output = output.unwrap_or_else(|error| panic!("{error}"));
            forms.push(("gpu", output.into_vec().unwrap()));
        }
    });
    forms
}

#[cfg(feature = "gpu")]
thread_local! {
    static GPU: Option<breakeven::gpu::Gpu> = crate::device::first_gpu();
}

/// Every form within `tolerance` × scale of the expected values (scale 1 where none is given).
pub(super) fn check<O: Operator<Out = f32>>(
    problem: &Problem<'_, O>,
    expected: &[f64],
    scale: Option<&[f64]>,
    tolerance: f64,
) {
    for (form, output) in forms(problem) {
        check_form(form, &output, expected, scale, tolerance);
    }
}

/// [`check`] of one form's output.
pub(super) fn check_form(
    form: &str,
    output: &[f32],
    expected: &[f64],
    scale: Option<&[f64]>,
    tolerance: f64,
) {
    assert_eq!(output.len(), expected.len(), "{form}: length");
    for (index, (found, expected)) in output.iter().zip(expected).enumerate() {
        let scale = scale.map_or(1.0, |scale| scale[index].max(f64::from(f32::MIN_POSITIVE)));
        let error = (f64::from(*found) - expected).abs();
        assert!(
            error <= tolerance * scale,
            "{form}[{index}]: {found} instead of {expected}, off by {error:e} (scale {scale:e})"
        );
    }
}

/// Every form exactly as expected.
pub(super) fn check_equal<O: Operator<Out = u32>>(problem: &Problem<'_, O>, expected: &[u32]) {
    for (form, output) in forms(problem) {
        assert_eq!(output.len(), expected.len(), "{form}: length");
        let differs = output.iter().zip(expected).position(|(a, b)| a != b);
        if let Some(at) = differs {
            panic!("{form}[{at}]: {} instead of {}", output[at], expected[at]);
        }
    }
}

pub(super) fn values(len: usize, limit: f32) -> impl Strategy<Value = Vec<f32>> {
    // Cases at the ends of the range beside ordinary values.
    let value = prop_oneof![
        8 => -limit..limit,
        1 => Just(0.0),
        1 => Just(-limit),
    ];
    prop::collection::vec(value, len)
}

pub(super) fn cases(count: u32) -> ProptestConfig {
    ProptestConfig {
        cases: count,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    // Fewer: a GPU compiles the product anew for every shape.
    #![proptest_config(cases(14))]

    #[test]
    fn matrix_multiply_agrees(
        (dims, a, b) in (0_usize..4, 1_usize..40, 1_usize..70, 1_usize..40)
            .prop_flat_map(|(batch, m, k, n)| (
                Just([batch, m, k, n]),
                values(batch * m * k, 100.0),
                values(batch * k * n, 100.0),
            ))
    ) {
        let problem = matrix_multiply(&a[..], &b[..], dims).unwrap();
        let (expected, scale) = float64::matrix_multiply(&a, &b, dims);
        check(&problem, &expected, Some(&scale), 1e-5);
    }
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn vector_add_is_exact(
        (batch, a, b) in (0_usize..5, prop_oneof![1_usize..70, 16_000..17_000_usize])
            .prop_flat_map(|(batch, len)| (
                Just(batch),
                values(batch * len, 1e30),
                values(batch * len, 1e30),
            ))
    ) {
        let problem = vector_add(&a[..], &b[..], batch).unwrap();
        check(&problem, &float64::vector_add(&a, &b), None, 0.0);
    }

    #[test]
    fn conv2d_agrees(
        (conv, images, filter) in (
            (0_usize..3, 1_usize..40, 1_usize..40),
            (1_usize..6, 1_usize..6),
            1_usize..4,
            0_usize..4,
        )
            .prop_filter("filter inside", |((_, h, w), (fh, fw), _, p)| {
                h + 2 * p >= *fh && w + 2 * p >= *fw
            })
            .prop_flat_map(|((batch, h, w), (fh, fw), stride, padding)| (
                Just(float64::Conv { dims: [batch, h, w], filter_dims: [fh, fw], stride, padding }),
                values(batch * h * w, 10.0),
                values(fh * fw, 10.0),
            ))
    ) {
        let problem = conv2d(
            &images[..], conv.dims, &filter, conv.filter_dims, conv.stride, conv.padding,
        ).unwrap();
        let (expected, scale) = float64::conv2d(&images, &filter, &conv);
        check(&problem, &expected, Some(&scale), 1e-5);
    }

    #[test]
    fn pixel_entropy_agrees(
        (dims, window, images) in ((0_usize..3, 1_usize..90, 1_usize..80), 1_usize..24)
            .prop_flat_map(|((batch, h, w), window)| (
                Just([batch, h, w]),
                Just(window),
                // Few grey values and many, values outside [0, 1) too.
                prop_oneof![
                    prop::collection::vec(-0.2_f32..1.2, batch * h * w),
                    prop::collection::vec((0_u8..4).prop_map(|v| f32::from(v) / 256.0), batch * h * w),
                ],
            ))
    ) {
        let problem = pixel_entropy(&images[..], dims, window).unwrap();
        check(&problem, &float64::pixel_entropy(&images, dims, window), None, 1e-4);
    }
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn dot_product_agrees(
        (batch, a, b) in (0_usize..5, prop_oneof![0_usize..70, 1_000..9_000_usize])
            .prop_flat_map(|(batch, len)| (
                Just(batch),
                values(batch * len, 100.0),
                values(batch * len, 100.0),
            ))
    ) {
        let problem = dot_product(&a[..], &b[..], batch).unwrap();
        let (expected, scale) = float64::dot_product(&a, &b, batch);
        check(&problem, &expected, Some(&scale), 4e-6);
    }

    #[test]
    fn image_segmentation_is_a_flood_fill(
        (dims, images, threshold, corners) in (
            (0_usize..3, 1_usize..60, prop_oneof![1_usize..140, 60_usize..70]),
            0_u8..10,
            any::<bool>(),
        )
            .prop_flat_map(|((batch, h, w), threshold, corners)| (
                Just([batch, h, w]),
                prop::collection::vec((0_u8..10).prop_map(f32::from), batch * h * w),
                Just(f32::from(threshold)),
                Just(corners),
            ))
    ) {
        let connectivity = if corners { Connectivity::Eight } else { Connectivity::Four };
        let problem = image_segmentation(&images[..], dims, threshold, connectivity).unwrap();
        check_equal(&problem, &float64::image_segmentation(&images, dims, threshold, corners));
    }
}

/// Images of more pixels than a piece of CPU work and than a tile of a GPU: what crosses
/// the seams, in every way that it can.
#[test]
fn components_join_over_seams() {
    let (height, width) = (700, 331);
    let noise = |y: usize, x: usize| (y * 7919 + x * 104_729 + (y * x) % 613) % 101;
    type Pattern<'p> = &'p dyn Fn(usize, usize) -> bool;
    let patterns: [(&str, Pattern<'_>); 10] = [
        ("all", &|_, _| true),
        ("columns", &|_, x| x % 2 == 0),
        ("comb that joins in the last row", &|y, x| {
            x % 2 == 0 || y == 699
        }),
        ("comb that joins in the first row", &|y, x| {
            x % 2 == 0 || y == 0
        }),
        ("serpentine", &|y, x| match y % 4 {
            0 | 2 => true,
            1 => x == 330,
            _ => x == 0,
        }),
        ("noise", &|y, x| noise(y, x) < 58),
        ("checkerboard", &|y, x| (y + x) % 2 == 0),
        ("diagonals", &|y, x| (y + x) % 3 == 0),
        ("diagonals the other way", &|y, x| (y + 2 * x) % 3 == 0),
        ("spiral", &|y, x| {
            let ring = y.min(x).min(height - 1 - y).min(width - 1 - x);
            let is_cut_or_bridge = y == ring + 1 && x == ring;
            (ring % 2 == 0) != is_cut_or_bridge
        }),
    ];
    for (name, pattern) in patterns {
        let pixel = |at: usize| f32::from(u8::from(pattern(at / width, at % width)));
        let images: Vec<f32> = (0..height * width).map(pixel).collect();
        for (corners, connectivity) in [(false, Connectivity::Four), (true, Connectivity::Eight)] {
            let dims = [1, height, width];
            let expected = float64::image_segmentation(&images, dims, 0.5, corners);
            let problem = image_segmentation(&images[..], dims, 0.5, connectivity).unwrap();
            for (form, labels) in forms(&problem) {
                assert!(
                    labels == expected,
                    "{name}, {connectivity:?}: {form} differs"
                );
            }
        }
    }
}

#[test]
fn nan_is_background_and_infinity_is_not() {
    let images = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.0];
    let label = |threshold| {
        let dims = [1, 1, 4];
        image_segmentation(&images[..], dims, threshold, Connectivity::Four)
            .unwrap()
            .cpu()
    };
    assert_eq!(label(0.5), [0, 1, 0, 2]);
    assert_eq!(label(f32::INFINITY), [0; 4]);
    assert_eq!(label(f32::NEG_INFINITY), [0, 1, 0, 2]);
}

#[test]
fn long_dot_products_and_many() {
    // Ten million products that cancel to a few units; and more pairs than pieces.
    for (batch, len) in [(1, 10_000_003), (40_000, 7), (3, 200_000)] {
        let value = |at: usize| ((at * 37 + at / 97) % 1009) as f32 - 504.0;
        let a: Vec<f32> = (0..batch * len).map(value).collect();
        let b: Vec<f32> = (0..batch * len).map(|at| value(at * 31 + 5)).collect();
        let (expected, scale) = float64::dot_product(&a, &b, batch);
        let problem = dot_product(&a[..], &b[..], batch).unwrap();
        check(&problem, &expected, Some(&scale), 4e-6);
    }
}

#[test]
fn a_large_window_and_a_large_batch() {
    let images: Vec<f32> = (0..300 * 3)
        .map(|i| ((i * 37) % 256) as f32 / 256.0)
        .collect();
    let problem = pixel_entropy(&images[..], [1, 300, 3], 255).unwrap();
    check(
        &problem,
        &float64::pixel_entropy(&images, [1, 300, 3], 255),
        None,
        1e-3,
    );
    let a: Vec<f32> = (0..400 * 6).map(|i| (i % 17) as f32 - 8.0).collect();
    let problem = matrix_multiply(&a[..], &a[..], [400, 2, 3, 2]).unwrap();
    let (expected, scale) = float64::matrix_multiply(&a, &a, [400, 2, 3, 2]);
    check(&problem, &expected, Some(&scale), 1e-5);
}
