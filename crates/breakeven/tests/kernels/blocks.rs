//! The CPU forms at the sizes where they change their ways: at the ends of
//! vectors, panels, strips, blocks and tiles.

use proptest::prelude::*;

use super::agree::{cases, check_form};
use super::float64;
use super::problem::{conv2d, matrix_multiply};

/// Values without a pattern that a block's size could share.
fn noise(len: usize, seed: u64) -> Vec<f32> {
    let mut state = seed | 1;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / 16_777_216.0 - 0.5
    };
    std::iter::repeat_with(next).take(len).collect()
}

fn check_product(dims: [usize; 4]) {
    let [batch, m, k, n] = dims;
    let (a, b) = (noise(batch * m * k, 3), noise(batch * k * n, 5));
    let problem = matrix_multiply(&a[..], &b[..], dims).unwrap();
    let (expected, scale) = float64::matrix_multiply(&a, &b, dims);
    let name = format!("{dims:?}");
    check_form(&name, &problem.cpu(), &expected, Some(&scale), 1e-5);
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn products_of_any_shape(
        batch in 1_usize..4,
        m in prop_oneof![1_usize..9, 22_usize..27, 47_usize..51],
        k in prop_oneof![1_usize..10, 120_usize..131],
        n in prop_oneof![1_usize..10, 14_usize..19, 60_usize..70],
    ) {
        check_product([batch, m, k, n]);
    }

    #[test]
    fn convolutions_of_any_shape(
        dims in (1_usize..3, 1_usize..20, prop_oneof![1_usize..70, 505_usize..520, 1020_usize..1030]),
        filter_dims in (1_usize..7, 1_usize..7),
        stride in prop_oneof![4 => Just(1_usize), 1 => 2_usize..4],
        padding in 0_usize..5,
    ) {
        let ((batch, h, w), (fh, fw)) = (dims, filter_dims);
        prop_assume!(h + 2 * padding >= fh && w + 2 * padding >= fw);
        let dims = [batch, h, w];
        let (images, filter) = (noise(batch * h * w, 7), noise(fh * fw, 9));
        let conv = float64::Conv { dims, filter_dims: [fh, fw], stride, padding };
        let problem =
            conv2d(&images[..], dims, &filter, [fh, fw], stride, padding).unwrap();
        let (expected, scale) = float64::conv2d(&images, &filter, &conv);
        check_form(&format!("{conv:?}"), &problem.cpu(), &expected, Some(&scale), 1e-5);
    }
}

#[test]
fn products_over_the_ends_of_blocks() {
    for dims in [
        [1, 7, 383, 20],
        [1, 7, 385, 20],
        [1, 7, 511, 40],
        [1, 7, 513, 40],
        [1, 50, 1000, 33],
        [1, 9, 5, 4095],
        [1, 9, 5, 4097],
        [1, 3, 400, 8200],
        [1, 1, 1030, 1030],
        [1, 2, 1030, 700],
        [1, 1030, 600, 3],
        [1, 1030, 3, 16],
        // B is read where it is, up to 16 384 values; the last panel has some columns twice.
        [1, 50, 96, 64],
        [1, 50, 97, 64],
        [3, 20, 64, 96],
        [1, 50, 256, 64],
        [1, 50, 257, 64],
        [3, 20, 90, 100],
        [3, 20, 90, 72],
        [1, 20, 90, 33],
        [1, 20, 90, 17],
    ] {
        check_product(dims);
    }
}

/// One product after the other, each on its own.
fn one_by_one(a: &[f32], b: &[f32], [_, m, k, n]: [usize; 4]) -> Vec<f32> {
    let pairs = a.chunks(m * k).zip(b.chunks(k * n));
    let products = pairs.map(|(a, b)| matrix_multiply(a, b, [1, m, k, n]).unwrap());
    products.flat_map(|product| product.cpu()).collect()
}

#[test]
fn a_batch_is_its_products_however_they_are_shared_out() {
    let pool = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap()
    };
    let (alone, four) = (pool(1), pool(4));
    let around_the_threads = [1, 3, 4, 5, 9];
    // Products that are and are not worth a pool of their own, of every CPU form.
    let shapes = [
        [50, 100, 230],
        [49, 100, 100],
        [2, 1030, 600],
        [700, 600, 3],
        [30, 40, 50],
        [20, 9, 2],
    ];
    let few = shapes.map(|[m, k, n]| around_the_threads.map(|batch| [batch, m, k, n]));
    let many = [
        [20_001, 4, 4, 4],
        [3_001, 2, 5, 20],
        [2_003, 16, 16, 16],
        [9_001, 1, 1, 1],
    ];
    for dims in few.concat().into_iter().chain(many) {
        let [batch, m, k, n] = dims;
        let (a, b) = (noise(batch * m * k, 17), noise(batch * k * n, 19));
        let expected = alone.install(|| one_by_one(&a, &b, dims));
        let problem = matrix_multiply(&a[..], &b[..], dims).unwrap();
        for pool in [&alone, &four] {
            let found = pool.install(|| problem.cpu());
            let threads = pool.current_num_threads();
            assert!(found == expected, "{dims:?} on {threads} threads");
        }
    }
}

#[test]
fn what_is_no_number_stays_in_its_row_and_column() {
    for (m, k, n) in [(1, 5, 40), (13, 9, 40), (13, 400, 3)] {
        let (mut a, mut b) = (noise(m * k, 11), noise(k * n, 13));
        a[0] = f32::NAN;
        b[n - 1] = f32::INFINITY;
        let output = matrix_multiply(&a[..], &b[..], [1, m, k, n]).unwrap().cpu();
        for (at, value) in output.iter().enumerate() {
            let (row, column) = (at / n, at % n);
            assert_eq!(value.is_nan(), row == 0, "{m}x{k}x{n}: {row}, {column}");
            let is_infinite = row > 0 && column == n - 1;
            assert_eq!(
                value.is_infinite(),
                is_infinite,
                "{m}x{k}x{n}: {row}, {column}"
            );
        }
    }
}
