//! The user's image, as the pixel kernels take it.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;

use anyhow::{Error, Result, anyhow, bail};
use breakeven::Tensor;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;

/// Bytes of a decoded image at the most: a small file may say that it is a large one.
const MOST_BYTES: usize = 512 << 20;

/// An image's channels of 8 bits, pixel by pixel.
struct Decoded {
    width: usize,
    height: usize,
    channels: usize,
    bytes: Vec<u8>,
}

/// Reads a PNG or JPEG as grey values v / 256, a batch of one image.
pub(crate) fn read(path: &Path) -> Result<Tensor<'static>> {
    let mut file = Vec::new();
    File::open(path)
        .and_then(|opened| opened.take(MOST_BYTES as u64).read_to_end(&mut file))
        .map_err(|error| unreadable(path, &error.to_string()))?;
    let decode = match file.starts_with(&[0xff, 0xd8]) {
        true => jpeg,
        false => png,
    };
    let refused = |error| unreadable(path, &format!("give a PNG or a JPEG: {error}"));
    let decoded = decode(&file).map_err(refused)?;
    let shape = [1, decoded.height, decoded.width];
    let pixels = decoded.bytes.chunks_exact(decoded.channels).map(grey);
    Ok(Tensor::new(pixels.collect::<Vec<f32>>(), &shape)?)
}

/// The luminance of a pixel (ITU-R BT.709), v / 256; how much it covers does not count.
fn grey(pixel: &[u8]) -> f32 {
    let value = match *pixel {
        [red, green, blue, ..] => {
            let [red, green, blue] = [red, green, blue].map(u32::from);
            ((2_126 * red + 7_152 * green + 722 * blue) / 10_000) as f32
        }
        [grey, ..] => f32::from(grey),
        [] => 0.0,
    };
    value / 256.0
}

fn png(file: &[u8]) -> Result<Decoded> {
    let mut decoder = png::Decoder::new(Cursor::new(file));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info()?;
    let size = reader
        .output_buffer_size()
        .filter(|size| *size <= MOST_BYTES);
    let Some(size) = size else {
        bail!("it is larger than {} MiB decoded", MOST_BYTES >> 20);
    };
    let mut bytes = vec![0; size];
    let info = reader.next_frame(&mut bytes)?;
    bytes.truncate(info.buffer_size());
    Ok(Decoded {
        width: info.width as usize,
        height: info.height as usize,
        channels: info.color_type.samples(),
        bytes,
    })
}

fn jpeg(file: &[u8]) -> Result<Decoded> {
    let mut decoder = JpegDecoder::new(ZCursor::new(file));
    decoder.decode_headers()?;
    let size = decoder.output_buffer_size();
    if size.is_none_or(|size| size > MOST_BYTES) {
        bail!("it is larger than {} MiB decoded", MOST_BYTES >> 20);
    }
    let bytes = decoder.decode()?;
    let (info, space) = (decoder.info(), decoder.output_colorspace());
    let Some((info, space)) = info.zip(space) else {
        bail!("it has no header");
    };
    Ok(Decoded {
        width: info.width.into(),
        height: info.height.into(),
        channels: space.num_components(),
        bytes,
    })
}

fn unreadable(path: &Path, why: &str) -> Error {
    let why: Vec<&str> = why.lines().map(str::trim).collect();
    let (path, why) = (path.display(), why.join(" "));
    anyhow!("cannot read the image {path}: {why}")
}
