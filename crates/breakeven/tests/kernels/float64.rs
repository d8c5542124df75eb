//! The kernels as their definitions read, in float64, with no cleverness.

/// c = a + b. A f32 sum rounded once from f64 equals the f32 sum, so this is exact.
pub(super) fn vector_add(a: &[f32], b: &[f32]) -> Vec<f64> {
    a.iter()
        .zip(b)
        .map(|(a, b)| f64::from((f64::from(*a) + f64::from(*b)) as f32))
        .collect()
}

/// The products, and per element Σ|a·b|: what rounding errors are relative to.
pub(super) fn matrix_multiply(
    a: &[f32],
    b: &[f32],
    [batch, m, k, n]: [usize; 4],
) -> (Vec<f64>, Vec<f64>) {
    let mut out = Vec::new();
    let mut scale = Vec::new();
    for item in 0..batch {
        for row in 0..m {
            for column in 0..n {
                let terms = (0..k).map(|i| {
                    f64::from(a[(item * m + row) * k + i])
                        * f64::from(b[(item * k + i) * n + column])
                });
                out.push(terms.clone().sum());
                scale.push(terms.map(f64::abs).sum());
            }
        }
    }
    (out, scale)
}

#[derive(Debug, Clone)]
pub(super) struct Conv {
    pub dims: [usize; 3],
    pub filter_dims: [usize; 2],
    pub stride: usize,
    pub padding: usize,
}

/// Cross-correlation over an image that is really padded with zeros.
pub(super) fn conv2d(images: &[f32], filter: &[f32], conv: &Conv) -> (Vec<f64>, Vec<f64>) {
    let [batch, height, width] = conv.dims;
    let [filter_height, filter_width] = conv.filter_dims;
    let (padding, stride) = (conv.padding, conv.stride);
    let (tall, wide) = (height + 2 * padding, width + 2 * padding);
    let mut out = Vec::new();
    let mut scale = Vec::new();
    for item in 0..batch {
        let mut padded = vec![0.0_f64; tall * wide];
        for y in 0..height {
            for x in 0..width {
                padded[(y + padding) * wide + x + padding] =
                    f64::from(images[(item * height + y) * width + x]);
            }
        }
        for top in (0..=tall - filter_height).step_by(stride) {
            for left in (0..=wide - filter_width).step_by(stride) {
                let terms = (0..filter_height * filter_width).map(|tap| {
                    let (i, j) = (tap / filter_width, tap % filter_width);
                    f64::from(filter[tap]) * padded[(top + i) * wide + left + j]
                });
                out.push(terms.clone().sum());
                scale.push(terms.map(f64::abs).sum());
            }
        }
    }
    (out, scale)
}

/// Entropy of a histogram that is counted anew for every pixel.
pub(super) fn pixel_entropy(
    images: &[f32],
    [batch, height, width]: [usize; 3],
    window: usize,
) -> Vec<f64> {
    let (back, ahead) = (window / 2, (window - 1) / 2);
    let mut out = Vec::new();
    for item in 0..batch {
        for y in 0..height {
            for x in 0..width {
                let mut counts = [0_u32; 256];
                let mut total = 0_u32;
                for v in y.saturating_sub(back)..(y + ahead + 1).min(height) {
                    for u in x.saturating_sub(back)..(x + ahead + 1).min(width) {
                        let value = images[(item * height + v) * width + u];
                        let bin = (f64::from(value) * 256.0).floor().clamp(0.0, 255.0);
                        #[expect(clippy::cast_sign_loss, reason = "clamped to 0..=255")]
                        {
                            counts[bin as usize] += 1;
                        }
                        total += 1;
                    }
                }
                let entropy: f64 = counts
                    .iter()
                    .filter(|count| **count > 0)
                    .map(|count| {
                        let p = f64::from(*count) / f64::from(total);
                        -p * p.log2()
                    })
                    .sum();
                out.push(entropy);
            }
        }
    }
    out
}

/// The sums of products, and per pair Σ|a·b|: what rounding errors are relative to.
pub(super) fn dot_product(a: &[f32], b: &[f32], batch: usize) -> (Vec<f64>, Vec<f64>) {
    let len = a.len().checked_div(batch).unwrap_or(0);
    let sum = |item: usize, of: fn(f64) -> f64| {
        let at = item * len..(item + 1) * len;
        let products = a[at.clone()].iter().zip(&b[at]);
        products.fold(0.0, |sum, (a, b)| sum + of(f64::from(*a) * f64::from(*b)))
    };
    let sums = |of: fn(f64) -> f64| (0..batch).map(|item| sum(item, of)).collect();
    (sums(|product| product), sums(f64::abs))
}

/// Labels by flooding each component from its first pixel, in raster order.
pub(super) fn image_segmentation(
    images: &[f32],
    [_, height, width]: [usize; 3],
    threshold: f32,
    corners: bool,
) -> Vec<u32> {
    let mut out = vec![0; images.len()];
    for (image, out) in (images.chunks(height * width)).zip(out.chunks_mut(height * width)) {
        let mut labels = 0;
        for first in 0..image.len() {
            if !(image[first] > threshold) || out[first] != 0 {
                continue;
            }
            labels += 1;
            out[first] = labels;
            let mut edge = vec![first];
            while let Some(pixel) = edge.pop() {
                let (y, x) = (pixel / width, pixel % width);
                for v in y.saturating_sub(1)..(y + 2).min(height) {
                    for u in x.saturating_sub(1)..(x + 2).min(width) {
                        let next = v * width + u;
                        let touches = corners || v == y || u == x;
                        if touches && image[next] > threshold && out[next] == 0 {
                            out[next] = labels;
                            edge.push(next);
                        }
                    }
                }
            }
        }
    }
    out
}
