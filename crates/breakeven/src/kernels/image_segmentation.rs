//! `image_segmentation`: the connected components of the pixels above a threshold.
//!
//! A pixel is foreground where it is strictly above the threshold. Foreground
//! pixels that touch (at a side, or at a side or a corner) are of one component.
//! Background is 0; components are numbered from 1 in the raster order of their
//! first pixels, in every image anew. That is SciPy's `ndimage.label` of
//! `image > threshold`, number by number, with its default structure for
//! [`Connectivity::Four`] and with `ones((3, 3))` for [`Connectivity::Eight`].
//!
//! NaN is above nothing, so it is background; +∞ is foreground under every finite
//! threshold. A device may see NaN otherwise.
//!
//! The CPU form finds the runs of each row and joins them with those of the row
//! above in the same pass, by union-find (Wu, Otoo and Suzuki, 2009: arrays, the
//! least index as root; runs as in He, Chao and Suzuki, 2008). Bands of rows are
//! done side by side and joined at their seams. The GPU form is a union-find of
//! pixels by atomic minima, its roots then numbered by a prefix sum.

use std::borrow::Cow;

use rayon::prelude::*;

use super::{GreyImage, Kernel, Work, batch, check_len, check_output, parallel, shape};
use crate::error::Error;

mod runs;

use runs::Band;

/// Pixels per piece of CPU work.
const CHUNK: usize = 64 * 1024;

/// Which pixels touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Connectivity {
    /// Pixels that share a side.
    Four,
    /// Pixels that share a side or a corner.
    Eight,
}

/// A batch of grey images, a threshold, and which pixels touch.
#[derive(Debug, Clone)]
pub struct ImageSegmentation<'a> {
    images: Cow<'a, [f32]>,
    batch: usize,
    height: usize,
    width: usize,
    threshold: f32,
    connectivity: Connectivity,
}

impl<'a> ImageSegmentation<'a> {
    /// `images` is batch × height × width. The output has a label a pixel.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Shape`](crate::ErrorKind::Shape) for a length that is not its
    /// shape's, [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for a threshold
    /// that is no number, [`ErrorKind::TooLarge`](crate::ErrorKind::TooLarge) for
    /// sizes past memory and for an image of more pixels than 32 bits can number.
    pub fn new(
        images: impl Into<Cow<'a, [f32]>>,
        [batch, height, width]: [usize; 3],
        threshold: f32,
        connectivity: Connectivity,
    ) -> Result<Self, Error> {
        let images = images.into();
        let dims = [batch, height, width];
        let what = "image_segmentation: the batch of images";
        let pixels = shape::product(what, &dims)?;
        check_len(what, images.len(), pixels, &shape::text(&dims))?;
        if threshold.is_nan() {
            return Err(Error::invalid(
                "image_segmentation: the threshold is NaN, and nothing is above that; give a number",
            ));
        }
        let one = shape::product("image_segmentation: an image", &[height, width])?;
        // A column past the last one is numbered too.
        if one >= u32::MAX as usize {
            return Err(Error::too_large(format!(
                "image_segmentation: an image of {height}×{width} has more pixels than there are \
                 labels of 32 bits; cut it up"
            )));
        }
        Ok(Self {
            images,
            batch,
            height,
            width,
            threshold,
            connectivity,
        })
    }

    /// The same for images that stand alone, all of one shape.
    ///
    /// # Errors
    ///
    /// As [`new`](ImageSegmentation::new), and
    /// [`ErrorKind::Shape`](crate::ErrorKind::Shape) for images that differ in shape.
    pub fn of(
        images: &'a [GreyImage],
        threshold: f32,
        connectivity: Connectivity,
    ) -> Result<Self, Error> {
        let parts = images.iter().map(GreyImage::part);
        let (pixels, [height, width]) = batch::joined("image_segmentation: image", parts)?;
        let dims = [images.len(), height, width];
        Self::new(pixels, dims, threshold, connectivity)
    }

    /// The labels of one image.
    fn label(&self, pixels: &[f32], out: &mut [u32]) {
        let band = (CHUNK / self.width).max(1) * self.width;
        let scan = |pixels: &[f32]| {
            Band::scan(
                pixels,
                self.width,
                self.threshold,
                self.connectivity.reach(),
            )
        };
        if pixels.len() <= band {
            let mut band = scan(pixels);
            runs::number(&mut band.parents);
            return band.write(&band.parents, self.width, out);
        }
        let bands: Vec<Band> = pixels.par_chunks(band).map(scan).collect();
        let (labels, first) = runs::join(&bands, self.connectivity.reach());
        (out.par_chunks_mut(band).zip(&bands).zip(&first))
            .for_each(|((out, band), first)| band.write(&labels[*first..], self.width, out));
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

impl Kernel for ImageSegmentation<'_> {
    type Element = u32;

    fn output_len(&self) -> usize {
        self.images.len()
    }

    fn work(&self) -> Work {
        let elements = self.images.len() as u64;
        Work {
            items: self.batch as u64,
            elements,
            // Comparisons and integer work.
            flops: 0,
            bytes: 8 * elements,
        }
    }

    fn memory_bytes(&self) -> u64 {
        8 * self.images.len() as u64
    }

    fn cpu_into(&self, out: &mut [u32]) {
        check_output(out, self.output_len());
        let each = self.height * self.width;
        if out.is_empty() {
            return;
        }
        // Small images in lots, large ones alone; those in bands of their own.
        let lot = (CHUNK / each).max(1) * each;
        parallel::for_pieces(out, lot, |start, out| {
            let pixels = &self.images[start..start + out.len()];
            for (pixels, out) in pixels.chunks(each).zip(out.chunks_mut(each)) {
                self.label(pixels, out);
            }
        });
    }

    #[cfg(feature = "gpu")]
    fn device_inputs(&self) -> Vec<&[u8]> {
        vec![bytemuck::cast_slice(&self.images)]
    }

    #[cfg(feature = "gpu")]
    fn launch(
        &self,
        gpu: &crate::gpu::Gpu,
        inputs: &[crate::gpu::Buffer],
        output: &crate::gpu::Buffer,
    ) -> Result<(), crate::error::DeviceError> {
        device::launch(self, gpu, &inputs[0], output)
    }
}

#[cfg(feature = "gpu")]
mod device;
