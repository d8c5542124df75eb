//! Sizes from which GPU forms go another way, and the ways of a product, against the
//! CPU forms, which other tests hold against float64.

use breakeven::Operator;
use breakeven::kernels::{LstmCell, MatrixMultiply, SOBEL_X, Tiling};

use super::agree::{check, forms};
use super::float64;
use super::problem::{Problem, conv2d, dot_product, lstm_cell, matrix_multiply, pixel_entropy};

fn numbers(len: usize, step: usize) -> Vec<f32> {
    (0..len)
        .map(|i| ((i * step + i / 97) % 401) as f32 / 401.0)
        .collect()
}

/// All forms within `tolerance` of the first.
fn agree<O: Operator<Out = f32>>(problem: &Problem<'_, O>, tolerance: f32) {
    let forms = forms(problem);
    let (_, expected) = &forms[0];
    for (form, output) in &forms[1..] {
        assert_eq!(output.len(), expected.len(), "{form}: length");
        for (index, (found, expected)) in output.iter().zip(expected).enumerate() {
            let off = (found - expected).abs();
            assert!(
                off <= tolerance,
                "{form}[{index}]: {found} instead of {expected}"
            );
        }
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

#[test]
fn several_cells_to_a_unit_in_vectors_of_four() {
    let [batch, inputs, hidden] = [2_003, 8, 132];
    let weight = |columns: usize| -> Vec<f32> {
        let values = numbers(4 * hidden * columns, 17);
        values.iter().map(|value| value - 0.5).collect()
    };
    let weights = LstmCell::new(
        &weight(inputs),
        &weight(hidden),
        &weight(1),
        &weight(1),
        [inputs, hidden],
    );
    let (input, state) = (numbers(batch * inputs, 7), numbers(batch * hidden, 11));
    let cell = numbers(batch * hidden, 13);
    let step = lstm_cell(
        input,
        state,
        cell,
        [batch, inputs, hidden],
        weights.unwrap(),
    )
    .unwrap();
    assert!(batch * hidden >= 256 * 1024);
    agree(&step, 1e-4);
}

#[test]
fn dot_products_in_vectors_of_four_and_in_single_elements() {
    for len in [4_096, 4_100, 4_101, 12_292] {
        let (a, b) = (numbers(3 * len, 7), numbers(3 * len, 11));
        agree(&dot_product(&a[..], &b[..], 3).unwrap(), 1e-2);
    }
}

#[test]
fn every_tiling_is_right() {
    // In single elements and in vectors of four, no multiple of a tile; in parts of the terms,
    // the last of them smaller.
    for dims in [[2, 33, 70, 19], [2, 130, 72, 132], [3, 33, 2051, 68]] {
        let [batch, m, k, n] = dims;
        let (a, b) = (numbers(batch * m * k, 7), numbers(batch * k * n, 11));
        let (expected, scale) = float64::matrix_multiply(&a, &b, dims);
        for tiling in Tiling::ALL {
            let mut product = matrix_multiply(&a[..], &b[..], dims).unwrap();
            product.operator = MatrixMultiply::with_tiling(tiling);
            check(&product, &expected, Some(&scale), 1e-5);
        }
    }
}
