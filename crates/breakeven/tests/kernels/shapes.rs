//! Wrong shapes are typed errors that say what and where, never a panic.

use breakeven::kernels::{
    Connectivity, Conv2d, DotProduct, ImageSegmentation, Kernel, MatrixMultiply, PixelEntropy,
    SOBEL_X, VectorAdd,
};
use breakeven::{Error, ErrorKind};

pub(super) fn refused<T>(outcome: Result<T, Error>, kind: ErrorKind, message: &str) {
    let error = outcome.err().expect("the shape is wrong");
    assert_eq!(error.kind(), kind);
    assert_eq!(error.to_string(), message);
}

#[test]
fn wrong_shapes_are_typed_errors() {
    refused(
        VectorAdd::new(&[1.0][..], &[][..], 1),
        ErrorKind::Shape,
        "vector_add: b has 0 elements, but its shape that of a, holds 1",
    );
    refused(
        VectorAdd::new(&[1.0, 2.0, 3.0][..], &[1.0, 2.0, 3.0][..], 2),
        ErrorKind::Shape,
        "vector_add: 3 elements do not make 2 vectors of one length",
    );
    refused(
        MatrixMultiply::new(&[1.0][..], &[1.0][..], [1, 1, 2, 1]),
        ErrorKind::Shape,
        "matrix_multiply: a has 1 elements, but its shape 1×1×2 holds 2",
    );
    refused(
        MatrixMultiply::new(&[][..], &[][..], [1, 2, 0, 2]),
        ErrorKind::Shape,
        "matrix_multiply: the inner dimension k is zero, so there is nothing to sum",
    );
    refused(
        Conv2d::new(&[0.0; 4][..], [1, 2, 2], &SOBEL_X[..], [3, 3], 1, 0),
        ErrorKind::Shape,
        "conv2d: the filter's height 3 is larger than the padded image's 2",
    );
    refused(
        Conv2d::new(&[0.0; 4][..], [1, 2, 2], &SOBEL_X[..], [3, 3], 0, 1),
        ErrorKind::Shape,
        "conv2d: the stride is zero; give 1 or more",
    );
    refused(
        Conv2d::new(&[0.0; 4][..], [1, 2, 2], &[][..], [0, 3], 1, 1),
        ErrorKind::Shape,
        "conv2d: the filter is empty; give at least 1×1",
    );
    refused(
        PixelEntropy::new(&[0.0; 4][..], [1, 2, 2], 0),
        ErrorKind::Shape,
        "pixel_entropy: a window of 0 is out of range; give 1 to 255",
    );
    refused(
        PixelEntropy::new(&[0.0; 4][..], [1, 2, 3], 3),
        ErrorKind::Shape,
        "pixel_entropy: the batch of images has 4 elements, but its shape 1×2×3 holds 6",
    );
    refused(
        ImageSegmentation::new(&[0.0; 4][..], [1, 2, 3], 0.5, Connectivity::Four),
        ErrorKind::Shape,
        "image_segmentation: the batch of images has 4 elements, but its shape 1×2×3 holds 6",
    );
    refused(
        ImageSegmentation::of(&[], f32::NAN, Connectivity::Eight),
        ErrorKind::Invalid,
        "image_segmentation: the threshold is NaN, and nothing is above that; give a number",
    );
    refused(
        DotProduct::new(&[1.0][..], &[][..], 1),
        ErrorKind::Shape,
        "dot_product: b has 0 elements, but its shape that of a, holds 1",
    );
    refused(
        DotProduct::new(&[1.0, 2.0, 3.0][..], &[1.0, 2.0, 3.0][..], 2),
        ErrorKind::Shape,
        "dot_product: 3 elements do not make 2 vectors of one length",
    );
}

#[test]
fn sizes_past_memory_are_typed_errors() {
    let huge = usize::MAX / 2;
    refused(
        MatrixMultiply::new(&[][..], &[][..], [huge, 3, 4, 5]),
        ErrorKind::TooLarge,
        &format!(
            "matrix_multiply: a of shape {huge}×3×4 has more elements than memory has addresses"
        ),
    );
    // No image, and yet labels of one could not be counted.
    refused(
        ImageSegmentation::new(&[][..], [0, 65_536, 65_536], 0.5, Connectivity::Four),
        ErrorKind::TooLarge,
        "image_segmentation: an image of 65536×65536 has more pixels than there are labels of \
         32 bits; cut it up",
    );
    let padded = Conv2d::new(&[0.0][..], [1, 1, 1], &[1.0][..], [1, 1], 1, usize::MAX);
    assert_eq!(
        padded.err().map(|error| error.kind()),
        Some(ErrorKind::TooLarge)
    );
    let padded = Conv2d::new(&[0.0][..], [1, 1, 1], &[1.0][..], [1, 1], 1, usize::MAX / 4);
    assert_eq!(
        padded.err().map(|error| error.kind()),
        Some(ErrorKind::TooLarge)
    );
}

#[test]
fn an_empty_batch_gives_an_empty_output() {
    assert!(
        VectorAdd::new(&[][..], &[][..], 0)
            .unwrap()
            .cpu()
            .is_empty()
    );
    assert!(
        MatrixMultiply::new(&[][..], &[][..], [0, 3, 4, 5])
            .unwrap()
            .cpu()
            .is_empty()
    );
    assert!(
        PixelEntropy::new(&[][..], [0, 5, 5], 3)
            .unwrap()
            .cpu()
            .is_empty()
    );
    let segmentation = ImageSegmentation::new(&[][..], [0, 5, 5], 0.5, Connectivity::Four);
    assert!(segmentation.unwrap().cpu().is_empty());
    let empty = ImageSegmentation::new(&[][..], [3, 0, 5], 0.5, Connectivity::Four);
    assert!(empty.unwrap().cpu().is_empty());
    assert!(
        DotProduct::new(&[][..], &[][..], 0)
            .unwrap()
            .cpu()
            .is_empty()
    );
    // Of two pairs of vectors without elements.
    assert_eq!(
        DotProduct::new(&[][..], &[][..], 2).unwrap().cpu(),
        [0.0; 2]
    );
    let conv = Conv2d::new(&[][..], [0, 5, 5], &SOBEL_X[..], [3, 3], 1, 1).unwrap();
    assert!(conv.cpu().is_empty());
}

#[test]
#[should_panic(expected = "the output slice has the wrong length")]
fn a_wrong_output_slice_is_the_callers_bug() {
    VectorAdd::new(&[1.0][..], &[1.0][..], 1)
        .unwrap()
        .cpu_into(&mut []);
}
