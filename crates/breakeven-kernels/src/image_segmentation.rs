//! `image_segmentation`: the connected components of the pixels above a threshold.
//!
//! A pixel is foreground if it is strictly above the threshold. Foreground pixels that touch (at a
//! side, or at a side or a corner) belong to one component. Background is 0; components are
//! numbered from 1 in the raster order of their first pixels, separately in every image. The result
//! equals SciPy's `ndimage.label` of `image > threshold`, number by number, with its default
//! structure for [`Connectivity::Four`] and with `ones((3, 3))` for [`Connectivity::Eight`].
//!
//! NaN is above nothing, so it is background; +∞ is foreground under every finite
//! threshold. A device may see NaN otherwise.
//!
//! The CPU form finds the runs of each row and joins them with those of the row
//! above in the same pass, by union-find (Wu, Otoo and Suzuki, 2009: arrays, the
//! least index as root; runs as in He, Chao and Suzuki, 2008). Bands of rows are
//! done side by side and joined at their seams. The GPU form does so with tiles, by
//! atomic operations, and numbers the components by a prefix sum.

use super::parallel::{self, Cut};
use super::sharing::Sharing;
use super::{images, inputs};
use crate::error::Error;
use crate::operator::{Operator, View};
use crate::tensor::shape;

mod runs;

use runs::Band;
pub(super) use runs::{Foreground, set_foreground, words};

/// Pixels per piece of CPU work: some hundred microseconds.
const CHUNK: usize = 64 * 1024;

static SHARING: Sharing = Sharing::new();
static BANDS: Sharing = Sharing::new();
static LABELS: Sharing = Sharing::new();

/// Which pixels touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Connectivity {
    /// Pixels that share a side.
    Four,
    /// Pixels that share a side or a corner.
    Eight,
}

/// A threshold, and which pixels touch: batch × height × width in, a label a pixel out.
#[derive(Debug, Clone, Copy)]
pub struct ImageSegmentation {
    pub(super) threshold: f32,
    pub(super) connectivity: Connectivity,
}

impl ImageSegmentation {
    /// Components of the pixels above that threshold.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](breakeven_types::ErrorKind::Invalid) for a threshold that is no
    /// number. An image of more pixels than 32 bits can number is refused when it comes.
    pub fn new(threshold: f32, connectivity: Connectivity) -> Result<Self, Error> {
        if threshold.is_nan() {
            return Err(Error::invalid(
                "image_segmentation: the threshold is NaN, and nothing is above that; give a number",
            ));
        }
        Ok(Self {
            threshold,
            connectivity,
        })
    }

    /// Labels images of height × width.
    pub(super) fn label_all(
        &self,
        foreground: Foreground<'_>,
        [height, width]: [usize; 2],
        out: &mut [u32],
    ) {
        let each = height * width;
        // Small images in lots, large ones alone; those in bands of their own.
        let lot = (CHUNK / each).max(1) * each;
        parallel::for_pieces(&SHARING, out, Cut::into(lot), |start, out| {
            for (index, out) in out.chunks_mut(each).enumerate() {
                let first = start / width + index * height;
                let image = foreground.rows(first..first + height, width);
                self.label(image, [height, width], out);
            }
        });
    }

    fn label(&self, image: Foreground<'_>, [height, width]: [usize; 2], out: &mut [u32]) {
        let band = (CHUNK / width).max(1);
        let reach = self.connectivity.reach();
        if height <= band {
            let mut band = Band::scan(image, height, width, reach);
            runs::number(&mut band.parents);
            return band.write(&band.parents, width, out);
        }
        let mut bands: Vec<Option<Band>> = Vec::new();
        bands.resize_with(height.div_ceil(band), || None);
        parallel::for_pieces(&BANDS, &mut bands, Cut::into(1), |index, found| {
            let rows = index * band..height.min((index + 1) * band);
            let part = image.rows(rows.clone(), width);
            found[0] = Some(Band::scan(part, rows.len(), width, reach));
        });
        let bands: Vec<Band> = bands.into_iter().flatten().collect();
        let (labels, firsts) = runs::join(&bands, reach);
        parallel::for_pieces(&LABELS, out, Cut::into(band * width), |start, out| {
            let index = start / (band * width);
            bands[index].write(&labels[firsts[index]..], width, out);
        });
    }
}

impl Connectivity {
    /// How many columns beyond a run its neighbours in the next row may be.
    fn reach(self) -> u32 {
        match self {
            Self::Four => 0,
            Self::Eight => 1,
        }
    }
}

impl Operator for ImageSegmentation {
    type In = f32;
    type Out = u32;

    fn name(&self) -> &str {
        "image_segmentation"
    }

    fn output_shape(&self, shapes: &[&[usize]]) -> Result<Vec<usize>, Error> {
        let [batch, height, width] = images(self.name(), shapes)?;
        let one = shape::product("image_segmentation: an image", &[height, width])?;
        // A column past the last one is numbered too.
        if one >= u32::MAX as usize {
            return Err(Error::too_large(format!(
                "image_segmentation: an image of {height}×{width} has more pixels than there are \
                 labels of 32 bits; cut it up"
            )));
        }
        Ok(vec![batch, height, width])
    }

    /// At worst every second pixel is a run of its own: its position, its index, and that of its
    /// root in its band and in its image.
    fn scratch_bytes(&self, shapes: &[&[usize]]) -> u64 {
        shapes
            .first()
            .map_or(0, |image| shape::elements(image).saturating_mul(10))
    }

    fn cpu(&self, views: &[View<'_, f32>], out: &mut [u32]) -> Result<(), Error> {
        let [view] = inputs(self.name(), views)?;
        let [_, height, width] = images(self.name(), &[view.shape])?;
        let pixels = Foreground::Pixels(view.values, self.threshold);
        self.label_all(pixels, [height, width], out);
        Ok(())
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    #[cfg(feature = "gpu")]
    fn device(&self) -> Option<&dyn crate::gpu::DeviceForm> {
        Some(self)
    }
}

#[cfg(feature = "gpu")]
pub(super) mod segmentation_kernels;
