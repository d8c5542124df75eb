//! Sizes from which GPU forms go another way, against the CPU forms, which other tests hold
//! against float64.

use breakeven::Operator;
use breakeven::kernels::SOBEL_X;

use super::agree::{check_form, forms};
use super::problem::{Problem, conv2d, pixel_entropy};

fn numbers(len: usize, step: usize) -> Vec<f32> {
    (0..len)
        .map(|i| ((i * step + i / 97) % 401) as f32 / 401.0)
        .collect()
}

/// All forms within `tolerance` of the first.
fn agree<O: Operator<Out = f32>>(problem: &Problem<'_, O>, tolerance: f64) {
    let forms = forms(problem);
    let expected: Vec<f64> = forms[0].1.iter().copied().map(f64::from).collect();
    for (form, output) in &forms[1..] {
        check_form(form, output, &expected, None, tolerance);
    }
}

#[test]
fn several_rows_of_edges_to_a_unit() {
    // No dimension is a multiple of a unit's rows.
    let dims = [3, 601, 603];
    let images = numbers(dims.iter().product(), 7);
    let conv = conv2d(&images[..], dims, &SOBEL_X, [3, 3], 1, 1).unwrap();
    assert!(conv.output_len() >= 1 << 20);
    agree(&conv, 1e-4);
}

#[test]
fn long_segments_of_entropy() {
    let dims = [1, 2_049, 2_050];
    let images = numbers(dims.iter().product(), 7);
    let entropy = pixel_entropy(&images[..], dims, 3).unwrap();
    assert!(entropy.output_len() >= 1 << 22);
    agree(&entropy, 1e-3);
}

#[test]
fn entropy_of_an_image_of_more_short_segments_than_a_grid_takes() {
    // 65 537 segments of 16 rows, where a grid takes 65 535 along a dimension.
    let dims = [1, 65_536 * 16 + 1, 2];
    let images = numbers(dims.iter().product(), 7);
    let entropy = pixel_entropy(&images[..], dims, 3).unwrap();
    assert!(entropy.output_len() < 1 << 22);
    agree(&entropy, 1e-3);
}
