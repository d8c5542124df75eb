//! The GPU form: the kernels of the three operators, in variants that store bins and masks. The
//! passes of the segmentation begin with the masks.
//!
//! Bytes of a pixel, with images as large as the convolution's result and few components; the
//! roots of runs are up to 2 more in both:
//!
//! | stage | alone | here |
//! |---|---|---|
//! | convolution | 4 + 4 | 4 + 1 |
//! | entropy | 4 + 4 | 1 + 1/8 |
//! | segmentation | 9.6 | 5.5, without its first launch |
//! | all | 25.6 | 11.6 |

use super::super::conv2d::conv2d_kernels::{To, UNITS};
use super::super::image_segmentation::segmentation_kernels::Passes;
use super::super::pixel_entropy::entropy_kernels::{self, BIN_ROWS, Data};
use super::FusedConvEntropySegment;
use crate::cube_sizes;
use crate::error::DeviceError;
use crate::gpu::{DeviceForm, Gpu, Launch};
use crate::tensor::shape;
use crate::tune::{Space, Tunable, source_number};

/// What is here, and how masks are turned.
const SOURCE: u64 = source_number(include_bytes!("fused_form.rs"))
    ^ source_number(include_bytes!(
        "../image_segmentation/segmentation_kernels/tiles.rs"
    ));

impl DeviceForm for FusedConvEntropySegment {
    fn scratch(&self, inputs: &[&[usize]]) -> Vec<u64> {
        // Asked after the shapes were found to be right.
        let [batch, height, width] = self.shape(inputs).unwrap_or_default();
        let bins = shape::bytes(&[batch, height.div_ceil(BIN_ROWS as usize), width]);
        [vec![bins], Passes::scratch([batch, height, width])].concat()
    }

    /// Of the entropy, and units of the convolution.
    fn space(&self, gpu: &Gpu, inputs: &[&[usize]]) -> Space {
        let shape = self.shape(inputs).unwrap_or_default();
        let conv = self.conv.space(gpu, inputs);
        let mut tunables = self.entropy.tunables(gpu, shape, true);
        if !tunables.is_empty() {
            tunables.push(Tunable::new("conv_units", UNITS, cube_sizes(gpu, 32)));
        }
        Space {
            source: conv.source ^ entropy_kernels::SOURCE ^ SOURCE,
            variant: format!("{}, window {}", conv.variant, self.entropy.window),
            tunables,
        }
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let shape = self.shape(launch.shapes)?;
        let (bins, passes) = (&launch.scratch[0], Passes::of(&launch.scratch[1..]));
        let [filter, growth] = [&launch.parameters[0], &launch.parameters[1]];
        let units = launch.tuned("conv_units")?;
        self.conv
            .correlate(launch, filter, To::Bins(bins), units, BIN_ROWS)?;
        let masks = Data::Bins(bins, passes.masks, self.segment.threshold);
        self.entropy.slide(launch, shape, growth, masks)?;
        passes.label(launch.gpu, shape, self.segment.connectivity, launch.output)
    }
}
