//! Against NumPy, SciPy and scikit-image: expected outputs that
//! `bench/peers/kernel_vectors.py` wrote.

use std::sync::LazyLock;

use breakeven::kernels::Connectivity;
use serde::Deserialize;

use super::agree::{check, check_equal};
use super::float64;
use super::problem::{
    conv2d, dot_product, image_segmentation, matrix_multiply, pixel_entropy, vector_add,
};

static VECTORS: LazyLock<Vectors> =
    LazyLock::new(|| serde_json::from_str(include_str!("../data/kernels.json")).unwrap());

/// One list of cases per kernel; inputs are whole numbers times the case's unit.
#[derive(Deserialize)]
struct Vectors {
    vector_add: Vec<VectorAddCase>,
    matrix_multiply: Vec<MatrixMultiplyCase>,
    conv2d: Vec<Conv2dCase>,
    pixel_entropy: Vec<PixelEntropyCase>,
    image_segmentation: Vec<ImageSegmentationCase>,
    dot_product: Vec<DotProductCase>,
}

#[derive(Deserialize)]
struct VectorAddCase {
    batch: usize,
    a_unit: f32,
    a: Vec<i32>,
    b_unit: f32,
    b: Vec<i32>,
    expected: Vec<f32>,
}

#[derive(Deserialize)]
struct MatrixMultiplyCase {
    dims: [usize; 4],
    unit: f32,
    a: Vec<i32>,
    b: Vec<i32>,
    expected: Vec<f64>,
}

#[derive(Deserialize)]
struct Conv2dCase {
    dims: [usize; 3],
    filter_dims: [usize; 2],
    stride: usize,
    padding: usize,
    unit: f32,
    images: Vec<i32>,
    filter: Vec<i32>,
    expected: Vec<f64>,
}

#[derive(Deserialize)]
struct PixelEntropyCase {
    dims: [usize; 3],
    window: usize,
    /// scikit-image's `shift_x` and `shift_y`; 0 is where our window lies.
    shift: i32,
    unit: f32,
    images: Vec<i32>,
    expected: Vec<f64>,
}

#[derive(Deserialize)]
struct ImageSegmentationCase {
    dims: [usize; 3],
    threshold: i32,
    neighbours: u32,
    unit: f32,
    images: Vec<i32>,
    expected: Vec<u32>,
}

#[derive(Deserialize)]
struct DotProductCase {
    batch: usize,
    unit: f32,
    a: Vec<i32>,
    b: Vec<i32>,
    expected: Vec<f64>,
}

/// Exact: the numbers are at most 24 bits, the unit a power of two.
fn values(numbers: &[i32], unit: f32) -> Vec<f32> {
    numbers.iter().map(|number| *number as f32 * unit).collect()
}

#[test]
fn vector_add_is_that_of_numpy() {
    assert!(!VECTORS.vector_add.is_empty());
    for case in &VECTORS.vector_add {
        let (a, b) = (values(&case.a, case.a_unit), values(&case.b, case.b_unit));
        let expected: Vec<f64> = case.expected.iter().copied().map(f64::from).collect();
        let problem = vector_add(&a[..], &b[..], case.batch).unwrap();
        check(&problem, &expected, None, 0.0);
    }
}

#[test]
fn matrix_multiply_is_that_of_numpy() {
    assert!(!VECTORS.matrix_multiply.is_empty());
    for case in &VECTORS.matrix_multiply {
        let (a, b) = (values(&case.a, case.unit), values(&case.b, case.unit));
        let (_, scale) = float64::matrix_multiply(&a, &b, case.dims);
        let problem = matrix_multiply(&a[..], &b[..], case.dims).unwrap();
        check(&problem, &case.expected, Some(&scale), 1e-4);
    }
}

#[test]
fn conv2d_is_that_of_scipy() {
    assert!(!VECTORS.conv2d.is_empty());
    for case in &VECTORS.conv2d {
        let images = values(&case.images, case.unit);
        let filter = values(&case.filter, case.unit);
        let problem = conv2d(
            &images[..],
            case.dims,
            &filter,
            case.filter_dims,
            case.stride,
            case.padding,
        )
        .unwrap();
        check(&problem, &case.expected, None, 1e-4);
    }
}

#[test]
fn pixel_entropy_is_that_of_scikit_image() {
    let same = |case: &&PixelEntropyCase| case.shift == 0;
    assert!(VECTORS.pixel_entropy.iter().any(|case| same(&case)));
    for case in VECTORS.pixel_entropy.iter().filter(same) {
        let images = values(&case.images, case.unit);
        let problem = pixel_entropy(&images[..], case.dims, case.window).unwrap();
        check(&problem, &case.expected, None, 1e-3);
    }
}

/// An even window one pixel further ahead is another result, and is ours on the
/// image turned by half a turn.
#[test]
fn pixel_entropy_centres_an_even_window_as_scikit_image_unshifted() {
    let case = VECTORS.pixel_entropy.iter().find(|case| case.shift == -1);
    let case = case.expect("a case with the centre shifted");
    assert_eq!((case.dims[0], case.window % 2), (1, 0));
    let mut images = values(&case.images, case.unit);
    let ours = pixel_entropy(images.clone(), case.dims, case.window)
        .unwrap()
        .cpu();
    let mut pairs = ours.iter().zip(&case.expected);
    assert!(pairs.any(|(ours, shifted)| (f64::from(*ours) - shifted).abs() > 0.1));

    images.reverse();
    let mut expected = case.expected.clone();
    expected.reverse();
    let turned = pixel_entropy(&images[..], case.dims, case.window).unwrap();
    check(&turned, &expected, None, 1e-3);
}

#[test]
fn image_segmentation_is_that_of_scipy() {
    assert!(!VECTORS.image_segmentation.is_empty());
    for case in &VECTORS.image_segmentation {
        let images = values(&case.images, case.unit);
        let threshold = case.threshold as f32 * case.unit;
        let connectivity = match case.neighbours {
            4 => Connectivity::Four,
            _ => Connectivity::Eight,
        };
        let problem = image_segmentation(&images[..], case.dims, threshold, connectivity).unwrap();
        check_equal(&problem, &case.expected);
    }
}

#[test]
fn dot_product_is_that_of_numpy() {
    assert!(!VECTORS.dot_product.is_empty());
    for case in &VECTORS.dot_product {
        let (a, b) = (values(&case.a, case.unit), values(&case.b, case.unit));
        let (_, scale) = float64::dot_product(&a, &b, case.batch);
        let problem = dot_product(&a[..], &b[..], case.batch).unwrap();
        check(&problem, &case.expected, Some(&scale), 4e-6);
    }
}
