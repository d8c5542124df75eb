//! The CPU form. At stride 1, runs of output columns whose windows lie wholly
//! inside the image are summed in registers over all taps and written once;
//! what is left, the borders and other strides, is summed pixel by pixel.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::{Conv2d, Geometry};

/// Vectors that are summed at once: each tap is fetched once for all of them.
const VECTORS: usize = 8;

/// Consecutive output rows, counted over all images, and their part of the output.
pub(super) struct Rows<'c, 'o> {
    pub(super) conv: &'c Conv2d<'c>,
    pub(super) first: usize,
    pub(super) out: &'o mut [f32],
}

impl WithSimd for Rows<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let g = &self.conv.geometry;
        let inside = inside(g);
        for (index, out) in self.out.chunks_mut(g.out_width).enumerate() {
            let row = Row::new(self.conv, self.first + index);
            row.pixels(out, 0..inside.start);
            let rest = row.runs(simd, out, inside.clone());
            row.pixels(out, rest..g.out_width);
        }
    }
}

/// The output columns whose windows lie inside the image from left to right, if
/// they are to be summed as runs.
fn inside(g: &Geometry) -> Range<usize> {
    let start = g.padding.min(g.out_width);
    let end = (g.width + g.padding + 1).saturating_sub(g.filter_width);
    match g.stride {
        1 => start..end.clamp(start, g.out_width),
        _ => 0..0,
    }
}

/// One output row: the part of the filter that is over the image.
struct Row<'c> {
    g: &'c Geometry,
    /// Rows of the filter that are over the image.
    count: usize,
    /// From the first image row under the filter on.
    source: &'c [f32],
    /// From the first of the filter's rows that are over the image on.
    taps: &'c [f32],
}

impl<'c> Row<'c> {
    #[inline(always)]
    fn new(conv: &'c Conv2d<'c>, index: usize) -> Self {
        let g = &conv.geometry;
        let (image, y) = (index / g.out_height, index % g.out_height);
        let image = &conv.images[image * g.height * g.width..][..g.height * g.width];
        let top = y * g.stride;
        let above = g.padding.saturating_sub(top).min(g.filter_height);
        let below = (g.height + g.padding).saturating_sub(top);
        let below = below.clamp(above, g.filter_height);
        let from = (top + above).saturating_sub(g.padding) * g.width;
        Self {
            g,
            count: below - above,
            source: image.get(from..).unwrap_or(&[]),
            taps: &conv.filter[above * g.filter_width..],
        }
    }

    /// Each image row under the filter with its taps.
    #[inline(always)]
    fn lines(&self) -> impl Iterator<Item = (&'c [f32], &'c [f32])> {
        let (g, source, taps) = (self.g, self.source, self.taps);
        (0..self.count).map(move |row| {
            let line = &source[row * g.width..][..g.width];
            (line, &taps[row * g.filter_width..][..g.filter_width])
        })
    }

    /// Sums the columns of `inside` as whole runs, and says how far they reach.
    #[inline(always)]
    fn runs<S: Simd>(&self, simd: S, out: &mut [f32], inside: Range<usize>) -> usize {
        let run = VECTORS * S::F32_LANES;
        if inside.len() < run {
            return inside.start;
        }
        let mut x = inside.start;
        loop {
            let mut sums = [simd.splat_f32s(0.0); VECTORS];
            for (line, taps) in self.lines() {
                let windows = line[x - self.g.padding..].windows(run);
                for (tap, values) in taps.iter().zip(windows) {
                    let tap = simd.splat_f32s(*tap);
                    let (values, _) = S::as_simd_f32s(values);
                    for (sum, value) in sums.iter_mut().zip(values) {
                        *sum = simd.mul_add_e_f32s(tap, *value, *sum);
                    }
                }
            }
            let (to, _) = S::as_mut_simd_f32s(&mut out[x..x + run]);
            to.copy_from_slice(&sums);
            if x + run == inside.end {
                return inside.end;
            }
            // The last run ends with the columns, over some that are done.
            x = (x + run).min(inside.end - run);
        }
    }

    #[inline(always)]
    fn pixels(&self, out: &mut [f32], columns: Range<usize>) {
        for x in columns {
            let left = x * self.g.stride;
            let before = self.g.padding.saturating_sub(left).min(self.g.filter_width);
            let from = (left + before).saturating_sub(self.g.padding);
            let mut sum = 0.0;
            for (line, taps) in self.lines() {
                let values = line.get(from..).unwrap_or(&[]);
                for (tap, value) in taps[before..].iter().zip(values) {
                    sum += tap * value;
                }
            }
            out[x] = sum;
        }
    }
}
