//! The CPU form. At stride 1 the output is made in tiles: what a tile's windows see
//! is copied, with zeros for what is outside the image, so that no sum has a border
//! to look out for, and pairs of output rows are summed in registers over all taps.
//! Other strides, and images narrower than a vector, are summed pixel by pixel.

use pulp::{Simd, WithSimd};

use super::Geometry;

/// Output rows and columns of a tile: with a small filter, what it sees stays in
/// the first cache.
const TILE: [usize; 2] = [8, 512];

/// Vectors that are summed at once in each of two rows.
const VECTORS: usize = 4;

/// Consecutive output rows, counted over all images, and their slice of the output.
pub(super) struct Rows<'c, 'o> {
    pub(super) images: &'c [f32],
    pub(super) filter: &'c [f32],
    pub(super) geometry: &'c Geometry,
    pub(super) first: usize,
    pub(super) out: &'o mut [f32],
}

impl WithSimd for Rows<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let g = self.geometry;
        if g.stride != 1 || g.out_width < S::F32_LANES {
            return self.by_pixel();
        }
        // The usual filters get code of their own, in which the taps are no loop.
        match [g.filter_height, g.filter_width] {
            [3, 3] => self.by_tile(simd, [3, 3]),
            [5, 5] => self.by_tile(simd, [5, 5]),
            filter => self.by_tile(simd, filter),
        }
    }
}

impl Rows<'_, '_> {
    fn by_pixel(self) {
        let (g, filter) = (self.geometry, self.filter);
        for (row, out) in (self.first..).zip(self.out.chunks_mut(g.out_width)) {
            let image = image(g, self.images, row);
            let top = row % g.out_height * g.stride;
            for (x, out) in out.iter_mut().enumerate() {
                *out = pixel(g, image, filter, [top, x * g.stride]);
            }
        }
    }

    #[inline(always)]
    fn by_tile<S: Simd>(self, simd: S, [filter_height, filter_width]: [usize; 2]) {
        let g = self.geometry;
        let taps = &self.filter[..filter_height * filter_width];
        let columns = TILE[1].min(g.out_width);
        let width = columns + filter_width - 1;
        let mut seen = vec![0.0; (TILE[0] + filter_height - 1) * width];
        let (mut first, mut out) = (self.first, self.out);
        while !out.is_empty() {
            let (image, y) = (image(g, self.images, first), first % g.out_height);
            let rows = TILE[0].min(g.out_height - y).min(out.len() / g.out_width);
            let (here, after) = out.split_at_mut(rows * g.out_width);
            for index in 0..g.out_width.div_ceil(columns) {
                let x = start(index, columns, g.out_width);
                let seen = &mut seen[..(rows + filter_height - 1) * width];
                see(g, image, [y, x], seen, width);
                let tile = Tile {
                    taps,
                    filter_width,
                    seen,
                    width,
                };
                for (row, pair) in here.chunks_mut(2 * g.out_width).enumerate() {
                    let (first, second) = pair.split_at_mut(g.out_width);
                    let first = &mut first[x..x + columns];
                    match second.get_mut(x..x + columns) {
                        Some(second) => tile.sum_pair(simd, 2 * row, [first, second]),
                        None => tile.sum_row(simd, 2 * row, first),
                    }
                }
            }
            (first, out) = (first + rows, after);
        }
    }
}

/// The image that an output row, counted over all images, belongs to.
fn image<'c>(g: &Geometry, images: &'c [f32], row: usize) -> &'c [f32] {
    let pixels = g.height * g.width;
    &images[row / g.out_height * pixels..][..pixels]
}

/// Sums one pixel, with the taps that are over the image. `corner` is the window's,
/// in the padded image.
fn pixel(g: &Geometry, image: &[f32], filter: &[f32], [top, left]: [usize; 2]) -> f32 {
    let mut sum = 0.0;
    for (y, taps) in (top..).zip(filter.chunks(g.filter_width)) {
        // Before the image wraps to far behind it.
        let y = y.wrapping_sub(g.padding);
        if y >= g.height {
            continue;
        }
        let line = &image[y * g.width..][..g.width];
        for (x, tap) in (left..).zip(taps) {
            if let Some(value) = line.get(x.wrapping_sub(g.padding)) {
                sum += tap * value;
            }
        }
    }
    sum
}

/// Copies lines of the padded image, from a corner on.
fn see(g: &Geometry, image: &[f32], [top, left]: [usize; 2], seen: &mut [f32], width: usize) {
    let before = g.padding.saturating_sub(left).min(width);
    let x = left.saturating_sub(g.padding);
    let inside = g.width.saturating_sub(x).min(width - before);
    for (y, seen) in (top..).zip(seen.chunks_mut(width)) {
        let y = y.wrapping_sub(g.padding);
        if y >= g.height || inside == 0 {
            seen.fill(0.0);
            continue;
        }
        seen[..before].fill(0.0);
        seen[before..before + inside].copy_from_slice(&image[y * g.width + x..][..inside]);
        seen[before + inside..].fill(0.0);
    }
}

/// Returns the start of a piece. The last one ends with the row, and may overlap the previous one.
#[inline(always)]
fn start(index: usize, part: usize, whole: usize) -> usize {
    (index * part).min(whole - part)
}

/// What the windows of some output rows see, and the filter over it.
struct Tile<'t> {
    taps: &'t [f32],
    filter_width: usize,
    seen: &'t [f32],
    /// Columns seen.
    width: usize,
}

impl Tile<'_> {
    #[inline(always)]
    fn line(&self, line: usize, x: usize) -> &[f32] {
        &self.seen[line * self.width + x..(line + 1) * self.width]
    }

    #[inline(always)]
    fn filter_rows(&self) -> std::slice::ChunksExact<'_, f32> {
        self.taps.chunks_exact(self.filter_width)
    }

    /// Sums the output row `row` of the tile.
    #[inline(always)]
    fn sum_row<S: Simd>(&self, simd: S, row: usize, out: &mut [f32]) {
        for index in 0..out.len().div_ceil(S::F32_LANES) {
            let x = start(index, S::F32_LANES, out.len());
            let mut sums = [simd.splat_f32s(0.0)];
            for (line, taps) in (row..).zip(self.filter_rows()) {
                add(simd, [&mut sums], [taps], self.line(line, x));
            }
            store::<S>(&sums, &mut out[x..]);
        }
    }

    /// Sums the output rows `row` and `row + 1`, which see all but one line of each
    /// other's: what is fetched for both is fetched once.
    #[inline(always)]
    fn sum_pair<S: Simd>(&self, simd: S, row: usize, [out, out_of_next]: [&mut [f32]; 2]) {
        let run = VECTORS * S::F32_LANES;
        if out.len() < run {
            self.sum_row(simd, row, out);
            self.sum_row(simd, row + 1, out_of_next);
            return;
        }
        for index in 0..out.len().div_ceil(run) {
            let x = start(index, run, out.len());
            let mut sums = [simd.splat_f32s(0.0); VECTORS];
            let mut sums_of_next = sums;
            let mut before: Option<&[f32]> = None;
            let mut line = row;
            for taps in self.filter_rows() {
                let seen = self.line(line, x);
                match before {
                    None => add(simd, [&mut sums], [taps], seen),
                    Some(before) => add(simd, [&mut sums, &mut sums_of_next], [taps, before], seen),
                }
                before = Some(taps);
                line += 1;
            }
            if let Some(last) = before {
                add(simd, [&mut sums_of_next], [last], self.line(line, x));
            }
            store::<S>(&sums, &mut out[x..]);
            store::<S>(&sums_of_next, &mut out_of_next[x..]);
        }
    }
}

/// Adds rows of taps, each to sums of its own, over the values from a run's first
/// column on.
#[inline(always)]
fn add<S: Simd, const ROWS: usize, const VECTORS: usize>(
    simd: S,
    mut sums: [&mut [S::f32s; VECTORS]; ROWS],
    taps: [&[f32]; ROWS],
    values: &[f32],
) {
    let run = VECTORS * S::F32_LANES;
    let count = taps[0].len();
    let values = &values[..run + count - 1];
    for index in 0..count {
        let taps = taps.map(|taps| simd.splat_f32s(taps[index]));
        let (values, _) = S::as_simd_f32s(&values[index..][..run]);
        for (vector, value) in values.iter().enumerate() {
            for (sums, tap) in sums.iter_mut().zip(taps) {
                sums[vector] = simd.mul_add_e_f32s(tap, *value, sums[vector]);
            }
        }
    }
}

#[inline(always)]
fn store<S: Simd>(sums: &[S::f32s], out: &mut [f32]) {
    let (out, _) = S::as_mut_simd_f32s(&mut out[..sums.len() * S::F32_LANES]);
    out.copy_from_slice(sums);
}
