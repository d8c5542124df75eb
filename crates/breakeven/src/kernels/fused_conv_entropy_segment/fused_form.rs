//! The GPU form: the kernels of the three, told to store bins and masks. The passes of
//! the segmentation begin with the masks.
//!
//! Bytes of a pixel, with images as large as the convolution's result and few components:
//!
//! | stage | alone | here |
//! |---|---|---|
//! | convolution | 4 + 4 | 4 + 1 |
//! | entropy | 4 + 4 | 1 + 1/8 |
//! | segmentation | 9.3 | 5.2, without its first launch |
//! | all | 25.3 | 11.3 |

use super::super::conv2d::conv2d_kernels::To;
use super::super::image_segmentation::segmentation_kernels::Passes;
use super::super::pixel_entropy::entropy_kernels::{BIN_ROWS, Data};
use super::FusedConvEntropySegment;
use crate::error::DeviceError;
use crate::gpu::{DeviceForm, Launch};
use crate::tensor::shape;

impl DeviceForm for FusedConvEntropySegment {
    fn scratch(&self, inputs: &[&[usize]]) -> Vec<u64> {
        // Asked after the shapes were found to be right.
        let [batch, height, width] = self.shape(inputs).unwrap_or_default();
        let bins = shape::bytes(&[batch, height.div_ceil(BIN_ROWS as usize), width]);
        [vec![bins], Passes::scratch([batch, height, width])].concat()
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let shape = self.shape(launch.shapes)?;
        let (bins, passes) = (&launch.scratch[0], Passes::of(&launch.scratch[1..]));
        let [filter, table] = [&launch.parameters[0], &launch.parameters[1]];
        self.conv.correlate(launch, filter, To::Bins(bins))?;
        let masks = Data::Bins(bins, passes.masks, self.segment.threshold);
        self.entropy.slide(launch.gpu, shape, table, masks)?;
        passes.label(launch.gpu, shape, self.segment.connectivity, launch.output)
    }
}
