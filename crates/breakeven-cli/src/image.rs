//! The user's image, as the pixel kernels take it.

use std::path::Path;

use anyhow::{Error, Result, anyhow};
use breakeven::kernels::GreyImage;

/// Reads a PNG or JPEG as grey values v / 256.
pub(crate) fn read(path: &Path) -> Result<GreyImage> {
    let decoded = image::ImageReader::open(path)
        .and_then(image::ImageReader::with_guessed_format)
        .map_err(|error| unreadable(path, &error.to_string()))?
        .decode()
        // The error's own text holds its source's already.
        .map_err(|error| unreadable(path, &format!("give a PNG or a JPEG: {error}")))?;
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

fn unreadable(path: &Path, why: &str) -> Error {
    let why: Vec<&str> = why.lines().map(str::trim).collect();
    anyhow!(
        "cannot read the image {}: {}",
        path.display(),
        why.join(" ")
    )
}
