//! Runs of foreground in rows, and the union-find over them.
//!
//! Until the last pass a run has an index into `parents`. Runs that touch none
//! above them get new ones, so that indices grow in raster order and the least of
//! a component, its root, is that of its first pixel.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

/// Columns from a run's begin to its end, exclusive.
type Run = [u32; 2];

/// The foreground of rows of pixels.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Foreground<'f> {
    /// Pixels that are foreground above a threshold.
    Pixels(&'f [f32], f32),
    /// A bit for each pixel, in [`words`] for each row.
    Words(&'f [u64]),
}

/// Returns the words of a row of `width` pixels.
pub(crate) fn words(width: usize) -> usize {
    width.div_ceil(64)
}

/// Sets the bits of the pixels of a row that are above the threshold.
#[inline(always)]
pub(crate) fn set_foreground(pixels: &[f32], threshold: f32, words: &mut [u64]) {
    let (whole, rest) = pixels.as_chunks::<64>();
    for (word, pixels) in words.iter_mut().zip(whole) {
        *word = foreground(pixels, threshold);
    }
    if let Some(last) = words.get_mut(whole.len()) {
        *last = foreground(&last_word(rest, threshold), threshold);
    }
}

impl Foreground<'_> {
    /// Returns a view of these rows, each of `width` pixels.
    pub(super) fn rows(&self, rows: Range<usize>, width: usize) -> Self {
        let elements = |each: usize| rows.start * each..rows.end * each;
        match self {
            Self::Pixels(pixels, threshold) => Self::Pixels(&pixels[elements(width)], *threshold),
            Self::Words(all) => Self::Words(&all[elements(words(width))]),
        }
    }
}

#[derive(Debug)]
pub(super) struct Band {
    runs: Vec<Run>,
    /// Each run's index into `parents`.
    indices: Vec<u32>,
    /// How many runs there are up to the end of each row.
    row_ends: Vec<usize>,
    /// Each index's way to its root: a lesser index of the same component.
    pub(super) parents: Vec<u32>,
}

impl Band {
    /// The runs of `rows` of foreground, joined with those of the row above that come
    /// within `reach` columns.
    pub(super) fn scan(foreground: Foreground<'_>, rows: usize, width: usize, reach: u32) -> Self {
        Arch::new().dispatch(Scan {
            foreground,
            rows,
            width,
            reach,
        })
    }

    #[inline(always)]
    fn add_row(&mut self, words: impl Iterator<Item = u64>, reach: u32) {
        let above = self.row_ends.len().checked_sub(1).map(|row| self.row(row));
        let above = above.unwrap_or(0..0);
        let first = self.runs.len();
        find(words, &mut self.runs);
        let (older, below) = self.runs.split_at(first);
        let (parents, indices) = (&mut self.parents, &mut self.indices);
        meet(&older[above.clone()], below, reach, |_, touching| {
            let mut touching = touching.map(|run| indices[above.start + run]);
            let index = match touching.next() {
                None => {
                    let new = as_index(parents.len());
                    parents.push(new);
                    new
                }
                Some(one) => {
                    let one = root(parents, one);
                    touching.fold(one, |one, other| unite(parents, one, other))
                }
            };
            indices.push(index);
        });
        self.row_ends.push(self.runs.len());
    }

    /// The runs of a row, as positions in `runs`.
    fn row(&self, row: usize) -> Range<usize> {
        let first = row.checked_sub(1).map_or(0, |before| self.row_ends[before]);
        first..self.row_ends[row]
    }

    /// Writes the label of each run's index over its pixels, and 0 between them.
    pub(super) fn write(&self, labels: &[u32], width: usize, out: &mut [u32]) {
        for (row, out) in out.chunks_exact_mut(width).enumerate() {
            out.fill(0);
            let row = self.row(row);
            for ([start, end], index) in self.runs[row.clone()].iter().zip(&self.indices[row]) {
                out[*start as usize..*end as usize].fill(labels[*index as usize]);
            }
        }
    }
}

/// What a band is made of, for the widest SIMD that this CPU has.
struct Scan<'f> {
    foreground: Foreground<'f>,
    rows: usize,
    width: usize,
    reach: u32,
}

impl WithSimd for Scan<'_> {
    type Output = Band;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Band {
        let mut band = Band {
            runs: Vec::with_capacity(self.rows * self.width / 16),
            indices: Vec::with_capacity(self.rows * self.width / 16),
            row_ends: Vec::with_capacity(self.rows),
            parents: Vec::new(),
        };
        // A word without foreground ends the last run of a row.
        match self.foreground {
            Foreground::Pixels(pixels, threshold) => {
                for row in pixels.chunks_exact(self.width) {
                    let (whole, rest) = row.as_chunks::<64>();
                    let last = last_word(rest, threshold);
                    let words = whole.iter().chain([&last]);
                    band.add_row(words.map(|word| foreground(word, threshold)), self.reach);
                }
            }
            Foreground::Words(all) => {
                for row in all.chunks_exact(words(self.width)) {
                    band.add_row(row.iter().copied().chain([0]), self.reach);
                }
            }
        }
        band
    }
}

/// The last pixels of a row. Those as large as the threshold are background: what fills
/// the word.
#[inline(always)]
fn last_word(rest: &[f32], threshold: f32) -> [f32; 64] {
    let mut last = [threshold; 64];
    last[..rest.len()].copy_from_slice(rest);
    last
}

#[inline(always)]
fn find(words: impl Iterator<Item = u64>, runs: &mut Vec<Run>) {
    let mut before = 0;
    let mut start = 0;
    for (at, bits) in (0_u32..).step_by(64).zip(words) {
        // A bit wherever a run begins or has ended, in turns.
        let mut edges = bits ^ (bits << 1 | before);
        let mut inside = before == 1;
        while edges != 0 {
            let edge = at + edges.trailing_zeros();
            edges &= edges - 1;
            if inside {
                runs.push([start, edge]);
            }
            start = edge;
            inside = !inside;
        }
        before = bits >> 63;
    }
}

/// A bit for each pixel above the threshold.
#[inline(always)]
fn foreground(pixels: &[f32; 64], threshold: f32) -> u64 {
    // Bytes first: comparing and packing are vector instructions.
    let mut bytes = [0_u8; 64];
    for (byte, pixel) in bytes.iter_mut().zip(pixels) {
        *byte = u8::from(*pixel > threshold);
    }
    let (eights, _) = bytes.as_chunks::<8>();
    eights.iter().rev().fold(0, |bits, eight| {
        // The product's top byte collects the low bit of each byte, in order.
        let gathered = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        bits << 8 | gathered
    })
}

/// Calls `visit(run, touching)` for each run of a row and the runs above it that
/// come within `reach` columns of it, from left to right.
#[inline(always)]
fn meet(above: &[Run], below: &[Run], reach: u32, mut visit: impl FnMut(usize, Range<usize>)) {
    let mut first = 0;
    for (run, [start, end]) in below.iter().enumerate() {
        while first < above.len() && above[first][1] + reach <= *start {
            first += 1;
        }
        let mut last = first;
        while last < above.len() && above[last][0] < end + reach {
            last += 1;
        }
        visit(run, first..last);
        // The last of them may reach the next run too.
        first = first.max(last.saturating_sub(1));
    }
}

/// The root of an index. Every second step is left out for those who come after.
#[inline(always)]
fn root(parents: &mut [u32], mut index: u32) -> u32 {
    loop {
        let parent = parents[index as usize];
        if parent == index {
            return index;
        }
        let grandparent = parents[parent as usize];
        parents[index as usize] = grandparent;
        index = grandparent;
    }
}

/// The root of two components that are one.
#[inline(always)]
fn unite(parents: &mut [u32], one: u32, other: u32) -> u32 {
    let (one, other) = (root(parents, one), root(parents, other));
    let least = one.min(other);
    parents[one.max(other) as usize] = least;
    least
}

/// The labels of several vertically consecutive bands of one image, and the beginning of each
/// band's labels.
pub(super) fn join(bands: &[Band], reach: u32) -> (Vec<u32>, Vec<usize>) {
    let mut parents = Vec::with_capacity(bands.iter().map(|band| band.parents.len()).sum());
    let mut firsts = Vec::with_capacity(bands.len());
    for band in bands {
        let first = parents.len();
        firsts.push(first);
        let first = as_index(first);
        parents.extend(band.parents.iter().map(|parent| first + parent));
    }
    for (pair, first) in bands.windows(2).zip(firsts.windows(2)) {
        let (upper, lower) = (&pair[0], &pair[1]);
        let [above, below] = [upper.row(upper.row_ends.len() - 1), lower.row(0)];
        let index = |band: &Band, first: usize, run: usize| as_index(first) + band.indices[run];
        let rows = (&upper.runs[above.clone()], &lower.runs[below.clone()]);
        meet(rows.0, rows.1, reach, |run, touching| {
            let one = index(lower, first[1], below.start + run);
            for run in touching {
                unite(&mut parents, one, index(upper, first[0], above.start + run));
            }
        });
    }
    number(&mut parents);
    (parents, firsts)
}

/// Puts labels in the place of indices: roots count from 1 in their order.
pub(super) fn number(parents: &mut [u32]) {
    let mut labels = 0;
    for index in 0..parents.len() {
        let parent = parents[index] as usize;
        // A parent is its own, or it comes before and has its label.
        parents[index] = if parent == index {
            labels += 1;
            labels
        } else {
            parents[parent]
        };
    }
}

/// Indices are fewer than the pixels of an image, which 32 bits can number.
fn as_index(index: usize) -> u32 {
    u32::try_from(index).expect("the output's shape was asked first, which counts the pixels")
}
