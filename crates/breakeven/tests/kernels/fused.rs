//! The three operators as one: the same labels as one after the other, on each device.

use breakeven::kernels::{
    Connectivity, Conv2d, FusedConvEntropySegment, ImageSegmentation, PixelEntropy, SOBEL_X,
};
use breakeven::{ErrorKind, Operator, Tensor};
use proptest::prelude::*;

use super::agree::{cases, forms};
use super::problem::Problem;
use super::shapes::refused;

/// What a case is made of: images of bytes, a filter of whole numbers.
#[derive(Debug, Clone)]
struct Case {
    dims: [usize; 3],
    pixels: Vec<u8>,
    filter: Vec<i8>,
    filter_dims: [usize; 2],
    stride: usize,
    padding: usize,
    window: usize,
    threshold: f32,
    connectivity: Connectivity,
}

impl Case {
    fn stages(&self) -> (Conv2d, PixelEntropy, ImageSegmentation) {
        let filter: Vec<f32> = self.filter.iter().map(|tap| f32::from(*tap)).collect();
        let filter = Tensor::new(filter, &self.filter_dims).unwrap();
        (
            Conv2d::new(filter, self.stride, self.padding).unwrap(),
            PixelEntropy::new(self.window).unwrap(),
            ImageSegmentation::new(self.threshold, self.connectivity).unwrap(),
        )
    }

    /// Each form of the fused operator beside the same form of the three.
    fn check(&self) {
        let pixels = self.pixels.iter().map(|pixel| f32::from(*pixel) / 256.0);
        let images = Tensor::new(pixels.collect::<Vec<_>>(), &self.dims).unwrap();
        let (conv, entropy, segment) = self.stages();
        let shape = conv.output_shape(&[&self.dims]).unwrap();
        let tensor = |values| Tensor::new(values, &shape).unwrap();
        let fused = FusedConvEntropySegment::new(conv.clone(), entropy.clone(), segment);
        let fused = forms(&Problem::new(fused, vec![images.clone()]).unwrap());
        let edges = forms(&Problem::new(conv, vec![images]).unwrap());
        for (at, ((form, found), (_, edges))) in fused.into_iter().zip(edges).enumerate() {
            let entropies = Problem::new(entropy.clone(), vec![tensor(edges)]).unwrap();
            let (_, entropies) = forms(&entropies).swap_remove(at);
            let labels = Problem::new(segment, vec![tensor(entropies)]).unwrap();
            let (_, expected) = forms(&labels).swap_remove(at);
            assert_eq!(found.len(), expected.len(), "{form}: length");
            let differs = found.iter().zip(&expected).position(|(a, b)| a != b);
            assert!(differs.is_none(), "{form} differs at {differs:?}");
        }
    }
}

fn any_case() -> impl Strategy<Value = Case> {
    let dims = (0_usize..4, 1_usize..150, 1_usize..90);
    let filter_dims = (1_usize..5, 1_usize..5);
    (dims, filter_dims, 1_usize..3, 0_usize..3, 1_usize..9)
        .prop_filter("filter inside", |((_, h, w), (fh, fw), _, padding, _)| {
            h + 2 * padding >= *fh && w + 2 * padding >= *fw
        })
        .prop_flat_map(|((batch, h, w), (fh, fw), stride, padding, window)| {
            (
                prop::collection::vec(any::<u8>(), batch * h * w),
                prop::collection::vec(-2_i8..3, fh * fw),
                0.0_f32..5.0,
                any::<bool>(),
            )
                .prop_map(move |(pixels, filter, threshold, corners)| Case {
                    dims: [batch, h, w],
                    pixels,
                    filter,
                    filter_dims: [fh, fw],
                    stride,
                    padding,
                    window,
                    threshold,
                    connectivity: if corners {
                        Connectivity::Eight
                    } else {
                        Connectivity::Four
                    },
                })
        })
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn fused_is_the_three_one_after_the_other(case in any_case()) {
        case.check();
    }
}

/// Sizes from which forms go other ways: several pieces of CPU work; several rows of a
/// convolution and long segments of the entropy's columns on a GPU.
#[test]
fn fused_is_the_three_for_large_images_too() {
    for dims in [[2, 331, 700], [1, 2_049, 2_050]] {
        let pixel = |at: usize| ((at * at / 251 + at / 4_099) % 256) as u8;
        let case = Case {
            dims,
            pixels: (0..dims.iter().product()).map(pixel).collect(),
            filter: SOBEL_X.iter().map(|tap| *tap as i8).collect(),
            filter_dims: [3, 3],
            stride: 1,
            padding: 1,
            window: 4,
            threshold: 1.5,
            connectivity: Connectivity::Four,
        };
        case.check();
    }
}

#[test]
fn fused_refuses_what_the_three_refuse_and_counts_what_they_count() {
    let filter = Tensor::new(SOBEL_X.to_vec(), &[3, 3]).unwrap();
    let fused = FusedConvEntropySegment::new(
        Conv2d::new(filter, 1, 0).unwrap(),
        PixelEntropy::new(3).unwrap(),
        ImageSegmentation::new(0.5, Connectivity::Four).unwrap(),
    );
    let image = Tensor::new(vec![0.0; 4], &[1, 2, 2]).unwrap();
    refused(
        fused.on_cpu(&image),
        ErrorKind::Shape,
        "conv2d: the filter's height 3 is larger than the padded image's 2",
    );
    refused(
        fused.output_shape(&[&[1, 65_538, 65_538]]),
        ErrorKind::TooLarge,
        "image_segmentation: an image of 65536×65536 has more pixels than there are labels of \
         32 bits; cut it up",
    );
    refused(
        fused.output_shape(&[]),
        ErrorKind::Shape,
        "conv2d: 0 inputs; it takes 1",
    );
    let shapes: [&[usize]; 1] = [&[2, 10, 10]];
    assert_eq!(fused.flops(&shapes), 2 * 8 * 8 * 18);
    // A byte and a bit of each pixel beside what the segmentation takes.
    assert_eq!(fused.scratch_bytes(&shapes), 2 * 8 * 8 * 11 + 2 * 8);
}
