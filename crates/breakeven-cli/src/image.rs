//! The user's image, as the pixel kernels take it.

use std::path::Path;

use anyhow::{Error, Result, anyhow};
use breakeven::Tensor;

/// Reads a PNG or JPEG as grey values v / 256, a batch of one image.
pub(crate) fn read(path: &Path) -> Result<Tensor<'static>> {
    let decoded = image::ImageReader::open(path)
        .and_then(image::ImageReader::with_guessed_format)
        .map_err(|error| unreadable(path, &error.to_string()))?
        .decode()
        // The error's own text holds its source's already.
        .map_err(|error| unreadable(path, &format!("give a PNG or a JPEG: {error}")))?;
    let grey = decoded.to_luma8();
    let shape = [1, grey.height() as usize, grey.width() as usize];
    let pixels = grey.into_raw().into_iter().map(|v| f32::from(v) / 256.0);
    Ok(Tensor::new(pixels.collect::<Vec<f32>>(), &shape)?)
}

fn unreadable(path: &Path, why: &str) -> Error {
    let why: Vec<&str> = why.lines().map(str::trim).collect();
    anyhow!(
        "cannot read the image {}: {}",
        path.display(),
        why.join(" ")
    )
}
