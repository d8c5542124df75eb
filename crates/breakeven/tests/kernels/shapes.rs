//! Wrong shapes are typed errors that say what and where, never a panic.

use breakeven::kernels::{
    ArForecast, Connectivity, DotProduct, ImageSegmentation, MatrixMultiply, PixelEntropy, SOBEL_X,
    VectorAdd,
};
use breakeven::{Error, ErrorKind, Operator, Tensor, Work};

use super::problem::{
    conv2d, dot_product, image_segmentation, matrix_multiply, pixel_entropy, vector_add,
};

pub(crate) fn refused<T>(outcome: Result<T, Error>, kind: ErrorKind, message: &str) {
    let error = outcome.err().expect("the shape is wrong");
    assert_eq!(error.kind(), kind);
    assert_eq!(error.to_string(), message);
}

#[test]
fn wrong_shapes_are_typed_errors() {
    refused(
        vector_add(&[1.0][..], &[][..], 1),
        ErrorKind::Shape,
        "vector_add: a is 1×1 and b 1×0; give both one shape",
    );
    refused(
        matrix_multiply(&[][..], &[][..], [1, 2, 0, 2]),
        ErrorKind::Shape,
        "matrix_multiply: the inner dimension k is zero, so there is nothing to sum",
    );
    refused(
        conv2d(&[0.0; 4][..], [1, 2, 2], &SOBEL_X, [3, 3], 1, 0),
        ErrorKind::Shape,
        "conv2d: the filter's height 3 is larger than the padded image's 2",
    );
    refused(
        conv2d(&[0.0; 4][..], [1, 2, 2], &SOBEL_X, [3, 3], 0, 1),
        ErrorKind::Shape,
        "conv2d: the stride is zero; give 1 or more",
    );
    refused(
        conv2d(&[0.0; 4][..], [1, 2, 2], &[][..], [0, 3], 1, 1),
        ErrorKind::Shape,
        "conv2d: the filter is empty; give at least 1×1",
    );
    refused(
        pixel_entropy(&[0.0; 4][..], [1, 2, 2], 0),
        ErrorKind::Shape,
        "pixel_entropy: a window of 0 is out of range; give 1 to 255",
    );
    refused(
        ImageSegmentation::new(f32::NAN, Connectivity::Eight),
        ErrorKind::Invalid,
        "image_segmentation: the threshold is NaN, and nothing is above that; give a number",
    );
    refused(
        dot_product(&[1.0][..], &[][..], 1),
        ErrorKind::Shape,
        "dot_product: a is 1×1 and b 1×0; give both one shape",
    );
}

#[test]
fn sizes_past_memory_are_typed_errors() {
    let huge = usize::MAX / 2;
    refused(
        matrix_multiply(&[][..], &[][..], [huge, 3, 4, 5]),
        ErrorKind::TooLarge,
        &format!("the tensor of shape {huge}×3×4 has more elements than memory has addresses"),
    );
    // No image, and yet labels of one could not be counted.
    refused(
        image_segmentation(&[][..], [0, 65_536, 65_536], 0.5, Connectivity::Four),
        ErrorKind::TooLarge,
        "image_segmentation: an image of 65536×65536 has more pixels than there are labels of \
         32 bits; cut it up",
    );
    let padded = conv2d(&[0.0][..], [1, 1, 1], &[1.0][..], [1, 1], 1, usize::MAX);
    assert_eq!(
        padded.err().map(|error| error.kind()),
        Some(ErrorKind::TooLarge)
    );
    let padded = conv2d(&[0.0][..], [1, 1, 1], &[1.0][..], [1, 1], 1, usize::MAX / 4);
    let padded = padded.and_then(|padded| padded.operator.on_cpu(&padded.inputs));
    assert_eq!(
        padded.err().map(|error| error.kind()),
        Some(ErrorKind::TooLarge)
    );
}

#[test]
fn an_empty_batch_gives_an_empty_output() {
    assert!(vector_add(&[][..], &[][..], 0).unwrap().cpu().is_empty());
    assert!(
        matrix_multiply(&[][..], &[][..], [0, 3, 4, 5])
            .unwrap()
            .cpu()
            .is_empty()
    );
    assert!(
        pixel_entropy(&[][..], [0, 5, 5], 3)
            .unwrap()
            .cpu()
            .is_empty()
    );
    let segmentation = image_segmentation(&[][..], [0, 5, 5], 0.5, Connectivity::Four);
    assert!(segmentation.unwrap().cpu().is_empty());
    let empty = image_segmentation(&[][..], [3, 0, 5], 0.5, Connectivity::Four);
    assert!(empty.unwrap().cpu().is_empty());
    assert!(dot_product(&[][..], &[][..], 0).unwrap().cpu().is_empty());
    // Of two pairs of vectors without elements.
    assert_eq!(dot_product(&[][..], &[][..], 2).unwrap().cpu(), [0.0; 2]);
    let conv = conv2d(&[][..], [0, 5, 5], &SOBEL_X, [3, 3], 1, 1).unwrap();
    assert!(conv.cpu().is_empty());
}

#[test]
fn wrong_inputs_are_typed_errors() {
    let tensor = |shape: &[usize]| {
        let len = shape.iter().product();
        Tensor::new(vec![0.0; len], shape).unwrap()
    };
    let (two, three) = (tensor(&[2, 4]), tensor(&[3, 4]));
    refused(
        VectorAdd.on_cpu(&two),
        ErrorKind::Shape,
        "vector_add: 1 inputs; it takes 2",
    );
    refused(
        VectorAdd.on_cpu(&[&two, &three]),
        ErrorKind::Shape,
        "vector_add: inputs of 2 and of 3 items; give as many of each",
    );
    refused(
        MatrixMultiply.on_cpu(&[&two, &two]),
        ErrorKind::Shape,
        "matrix_multiply: a: a shape of 2×4; give batch × m × k",
    );
    refused(
        MatrixMultiply.on_cpu(&[tensor(&[1, 2, 3]), tensor(&[1, 2, 3])]),
        ErrorKind::Shape,
        "matrix_multiply: a has 3 columns and b 2 rows; they must be as many",
    );
    let tall = Tensor::new(Vec::new(), &[0, usize::MAX / 8, 1]).unwrap();
    let wide = Tensor::new(Vec::new(), &[0, 1, usize::MAX / 8]).unwrap();
    let none = MatrixMultiply.on_cpu(&[&tall, &wide]).unwrap();
    assert_eq!((none.batch(), none.is_empty()), (0, true));
}

#[test]
fn shapes_that_are_refused_are_no_work() {
    let entropy = || PixelEntropy::new(3).unwrap();
    let segments = || ImageSegmentation::new(0.5, Connectivity::Four).unwrap();
    let forecast = ArForecast::new(20, 5).unwrap();
    let none = Work::default();
    for shapes in [&[][..], &[&[2][..]], &[&[][..]], &[&[2][..], &[][..]]] {
        assert_eq!(VectorAdd.work(shapes), none, "{shapes:?}");
        assert_eq!(DotProduct.work(shapes), none, "{shapes:?}");
        assert_eq!(entropy().work(shapes), none, "{shapes:?}");
        assert_eq!(segments().work(shapes), none, "{shapes:?}");
        assert_eq!(forecast.work(shapes), none, "{shapes:?}");
        assert_eq!(entropy().then(segments()).work(shapes), none, "{shapes:?}");
    }
    assert_eq!(DotProduct.output_shape(&[&[], &[]]).unwrap(), [0; 0]);
    // More operations than can be counted.
    let most = forecast.work(&[&[1 << 58, 1 << 58]]);
    assert_eq!(most.flops, u64::MAX);
}

#[test]
fn a_chain_refuses_an_input_without_a_batch() {
    let chain = PixelEntropy::new(3)
        .unwrap()
        .then(ImageSegmentation::new(0.5, Connectivity::Four).unwrap());
    let stages = chain.stages().unwrap();
    refused(
        stages.output_shapes(&[&[]]),
        ErrorKind::Shape,
        "pixel_entropy: an input of no dimension; give the batch first, [1] for a single item",
    );
}
