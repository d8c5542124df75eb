//! The user's image, as the pixel kernels take it.

use std::path::Path;

use anyhow::{Context, Result};
use breakeven::suite::GreyImage;

/// Reads a PNG or JPEG as grey values v / 256.
pub(crate) fn read(path: &Path) -> Result<GreyImage> {
    let reading = || format!("cannot read the image {}", path.display());
    let decoded = image::ImageReader::open(path)
        .with_context(reading)?
        .with_guessed_format()
        .with_context(reading)?
        .decode()
        .with_context(|| format!("{}: give a PNG or a JPEG", reading()))?;
    let grey = decoded.to_luma8();
    Ok(GreyImage {
        height: grey.height() as usize,
        width: grey.width() as usize,
        pixels: grey
            .as_raw()
            .iter()
            .map(|v| f32::from(*v) / 256.0)
            .collect(),
    })
}
