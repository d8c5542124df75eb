//! `fused_conv_entropy_segment`: [`Conv2d`], [`PixelEntropy`] and [`ImageSegmentation`]
//! one after the other, as one operator with the same result on each device.
//!
//! It saves memory traffic. Between the convolution and the entropy a pixel is its bin,
//! a byte instead of four, and between the entropy and the segmentation it is a bit:
//! whether it is above the threshold.

use std::sync::Arc;

use pulp::Arch;

use super::image_segmentation::{Foreground, set_foreground, words};
use super::parallel::{self, Cut};
use super::sharing::Sharing;
use super::{Conv2d, ImageSegmentation, PixelEntropy, dims, pixel_entropy};
use crate::error::Error;
use crate::operator::{Operator, Parameter, Stage, Stages, View};
use crate::tensor::shape;

/// Pixels of the convolution per piece of CPU work, and those that are kept as numbers
/// until they are sorted into bins.
const CHUNK: usize = 64 * 1024;
const KEPT: usize = 8 * 1024;

static CONV: Sharing = Sharing::new();
static ENTROPY: Sharing = Sharing::new();

/// A convolution, the entropy of its result, and the components of the pixels whose
/// entropy is above a threshold: batch × height × width in, and a label for each pixel
/// of the convolution's result out.
///
/// ```
/// use breakeven_kernels::{
///     Connectivity, Conv2d, FusedConvEntropySegment, ImageSegmentation, PixelEntropy, SOBEL_X,
/// };
/// use breakeven_gpu::{Operator, Tensor};
///
/// let fused = FusedConvEntropySegment::new(
///     Conv2d::new(Tensor::new(SOBEL_X.to_vec(), &[3, 3])?, 1, 1)?,
///     PixelEntropy::new(5)?,
///     ImageSegmentation::new(0.5, Connectivity::Four)?,
/// );
/// let images = Tensor::new(vec![0.5; 64], &[1, 8, 8])?;
/// assert_eq!(fused.on_cpu(&images)?.shape(), [1, 8, 8]);
/// # Ok::<(), breakeven_types::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct FusedConvEntropySegment {
    conv: Conv2d,
    entropy: PixelEntropy,
    segment: ImageSegmentation,
}

impl FusedConvEntropySegment {
    /// The three as one.
    pub fn new(conv: Conv2d, entropy: PixelEntropy, segment: ImageSegmentation) -> Self {
        Self {
            conv,
            entropy,
            segment,
        }
    }

    /// The shape of the convolution's result, which the other two keep.
    fn shape(&self, shapes: &[&[usize]]) -> Result<[usize; 3], Error> {
        let output = self.output_shape(shapes)?;
        dims(self.name(), &output, "batch × height × width")
    }
}

impl FusedConvEntropySegment {
    /// A convolution with the stages after it, if those are the other two.
    pub(super) fn of(conv: &Conv2d, next: &[&Stage]) -> Option<(Stages, usize)> {
        let [entropy, segment, ..] = next else {
            return None;
        };
        let entropy: &PixelEntropy = entropy.as_any()?.downcast_ref()?;
        let segment: &ImageSegmentation = segment.as_any()?.downcast_ref()?;
        let fused = Self::new(conv.clone(), entropy.clone(), *segment);
        Some((Stages::one(Arc::new(fused)), 2))
    }
}

impl Operator for FusedConvEntropySegment {
    type In = f32;
    type Out = u32;

    fn name(&self) -> &str {
        "fused_conv_entropy_segment"
    }

    fn output_shape(&self, shapes: &[&[usize]]) -> Result<Vec<usize>, Error> {
        let edges = self.conv.output_shape(shapes)?;
        let entropies = self.entropy.output_shape(&[&edges])?;
        self.segment.output_shape(&[&entropies])
    }

    /// Those of the convolution.
    fn flops(&self, shapes: &[&[usize]]) -> u64 {
        self.conv.flops(shapes)
    }

    fn parameters(&self) -> Vec<&dyn Parameter> {
        let mut parameters = self.conv.parameters();
        parameters.extend(self.entropy.parameters());
        parameters
    }

    /// What the stages take, and the foreground's bits.
    fn scratch_bytes(&self, shapes: &[&[usize]]) -> u64 {
        let output = self.output_shape(shapes).unwrap_or_default();
        let stages = [
            self.entropy.scratch_bytes(&[&output]),
            self.segment.scratch_bytes(&[&output]),
            shape::elements(&output).div_ceil(8),
        ];
        stages.into_iter().fold(0, u64::saturating_add)
    }

    fn cpu(&self, views: &[View<'_, f32>], out: &mut [u32]) -> Result<(), Error> {
        let correlation = self.conv.correlation(views)?;
        let shapes: Vec<_> = views.iter().map(|view| view.shape).collect();
        let [batch, height, width] = self.shape(&shapes)?;
        let growth = self.entropy.growth()?;

        let mut bins = vec![0_u8; out.len()];
        let rows = |pixels: usize| (pixels / width).max(1);
        parallel::for_pieces(
            &CONV,
            &mut bins,
            Cut::into(rows(CHUNK) * width),
            |start, bins| {
                let kept = rows(KEPT) * width;
                let mut values = vec![0.0; kept.min(bins.len())];
                for (index, bins) in bins.chunks_mut(kept).enumerate() {
                    let values = &mut values[..bins.len()];
                    correlation.rows((start + index * kept) / width, values);
                    Arch::new().dispatch(|| pixel_entropy::sort(values, bins));
                }
            },
        );

        let each = words(width);
        let mut foreground = vec![0_u64; batch * height * each];
        let chunk = rows(pixel_entropy::CHUNK.at(out.len())) * each;
        parallel::for_chunks(
            &ENTROPY,
            &mut foreground,
            Cut::into(chunk),
            |start, foreground| {
                let mut values = vec![0.0; width];
                for (index, words) in foreground.chunks_mut(each).enumerate() {
                    let row = start / each + index;
                    self.entropy.row(growth, &bins, height, row, &mut values);
                    set_foreground(&values, self.segment.threshold, words);
                }
            },
        );

        let foreground = Foreground::Words(&foreground);
        self.segment.label_all(foreground, [height, width], out);
        Ok(())
    }

    #[cfg(feature = "gpu")]
    fn device(&self) -> Option<&dyn crate::gpu::DeviceForm> {
        Some(self)
    }
}

#[cfg(feature = "gpu")]
mod fused_form;
