//! The inner loop of the blocked product: rows of A times packed panels of B.

use pulp::{Simd, WithSimd};

#[cfg(target_arch = "x86_64")]
use super::avx2;

/// Vectors in a row of a panel, by the values in one. A tile has twelve sums, which with its
/// values of A and B fill AVX2's sixteen registers.
pub(super) const fn vectors(lanes: usize) -> usize {
    if lanes == 8 { 3 } else { IN_PLACE }
}

/// Vectors in a row of a panel of a B that is read in place: with three of eight, whose rows begin
/// anywhere in a line, a product of order 120 takes a tenth longer.
pub(super) const IN_PLACE: usize = 2;

/// Columns of B, as many in each panel as in its [`vectors`]: packed panel by panel, or all of B in
/// place.
#[derive(Clone, Copy)]
pub(super) struct Panels<'p> {
    pub(super) values: &'p [f32],
    /// Values from one row to the next: a panel's columns if they are packed, else B's, which
    /// are more.
    pub(super) to_next_row: usize,
    /// Rows.
    pub(super) depth: usize,
    pub(super) columns: usize,
}

impl Panels<'_> {
    #[inline(always)]
    fn are_packed(&self, lanes: usize) -> bool {
        self.to_next_row == vectors(lanes) * lanes
    }
}

/// Rows of the output that are multiplied with all panels.
pub(super) struct Strip<'p, 'o> {
    /// From the first row's first value for these panels on.
    pub(super) a: &'p [f32],
    pub(super) k: usize,
    pub(super) panels: Panels<'p>,
    /// From the first row's first column for these panels on.
    pub(super) out: &'o mut [f32],
    pub(super) n: usize,
    /// Whether to overwrite the output instead of adding to it.
    pub(super) is_first: bool,
}

impl WithSimd for Strip<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let columns = self.panels.columns;
        let wide = match self.panels.are_packed(S::F32_LANES) {
            true => vectors(S::F32_LANES),
            false => IN_PLACE,
        };
        for column in (0..columns).step_by(wide * S::F32_LANES) {
            match (columns - column).div_ceil(S::F32_LANES) {
                1 => self.panel::<S, 1, 6>(simd, column),
                left if left == 2 || wide == 2 => self.panel::<S, 2, 6>(simd, column),
                _ => self.panel::<S, 3, 4>(simd, column),
            }
        }
    }
}

impl Strip<'_, '_> {
    /// All rows times as many of a panel's vectors.
    #[inline(always)]
    fn panel<S: Simd, const WIDE: usize, const HIGH: usize>(&mut self, simd: S, column: usize) {
        let Panels {
            values,
            depth,
            columns,
            ..
        } = self.panels;
        let rows = (self.out.len() - columns) / self.n + 1;
        let (column, panel) = if self.panels.are_packed(S::F32_LANES) {
            (column, &values[column * depth..])
        } else {
            // Nothing is past the last column: some are multiplied again.
            let column = column.min(columns - WIDE * S::F32_LANES);
            (column, &values[column..])
        };
        let mut row = 0;
        while row + HIGH <= rows {
            row += self.tile::<S, HIGH, WIDE>(simd, row, column, panel);
        }
        while row < rows {
            row += match rows - row {
                1 => self.tile::<S, 1, WIDE>(simd, row, column, panel),
                2 => self.tile::<S, 2, WIDE>(simd, row, column, panel),
                3 => self.tile::<S, 3, WIDE>(simd, row, column, panel),
                _ => self.tile::<S, 4, WIDE>(simd, row, column, panel),
            }
        }
    }

    /// So many rows times as many of a panel's vectors; the number of the rows.
    #[inline(always)]
    fn tile<S: Simd, const HIGH: usize, const WIDE: usize>(
        &mut self,
        simd: S,
        row: usize,
        column: usize,
        panel: &[f32],
    ) -> usize {
        let Panels {
            to_next_row,
            depth,
            columns,
            ..
        } = self.panels;
        let mut rows: [&[f32]; HIGH] = [&[]; HIGH];
        for (index, a) in rows.iter_mut().enumerate() {
            *a = &self.a[(row + index) * self.k..][..depth];
        }
        let width = WIDE * S::F32_LANES;
        let columns = width.min(columns - column);
        for index in 0..HIGH {
            fetch_ahead(&self.out[(row + index) * self.n + column..][..columns]);
        }
        let sums = sums::<S, HIGH, WIDE>(simd, rows, panel, to_next_row);
        for (index, sums) in sums.iter().enumerate() {
            let out = &mut self.out[(row + index) * self.n + column..][..columns];
            if columns == width {
                let (out, _) = S::as_mut_simd_f32s(out);
                for (out, sum) in out.iter_mut().zip(sums) {
                    *out = if self.is_first {
                        *sum
                    } else {
                        simd.add_f32s(*out, *sum)
                    };
                }
            } else {
                let sums = *sums;
                let sums: &[f32] = bytemuck::cast_slice(&sums);
                for (out, sum) in out.iter_mut().zip(sums) {
                    *out = if self.is_first { *sum } else { *out + *sum };
                }
            }
        }
        HIGH
    }
}

/// The products of the rows with as many vectors of each row of B.
#[inline(always)]
fn sums<S: Simd, const HIGH: usize, const WIDE: usize>(
    simd: S,
    rows: [&[f32]; HIGH],
    b: &[f32],
    to_next_row: usize,
) -> [[S::f32s; WIDE]; HIGH] {
    let mut sums = [[simd.splat_f32s(0.0); WIDE]; HIGH];
    #[cfg(target_arch = "x86_64")]
    if WIDE * S::F32_LANES == avx2::COLUMNS
        && let Ok(rows) = rows[..].try_into()
        && let Some(found) = avx2::product::<S>(rows, b, to_next_row)
    {
        for (sums, found) in sums.iter_mut().zip(&found) {
            bytemuck::cast_slice_mut::<_, f32>(sums).copy_from_slice(found);
        }
        return sums;
    }
    let depth = rows[0].len();
    assert!((depth - 1) * to_next_row + WIDE * S::F32_LANES <= b.len());
    // Neither checks nor calls in this loop, closures' among them: with them the sums are in
    // memory.
    for step in 0..depth {
        // SAFETY: the last of `depth` rows is within B.
        let b = unsafe {
            let b = b.as_ptr().add(step * to_next_row);
            b.cast::<[S::f32s; WIDE]>().read_unaligned()
        };
        for index in 0..HIGH {
            // SAFETY: each row of A has `depth` values.
            let a = simd.splat_f32s(unsafe { *rows[index].get_unchecked(step) });
            for vector in 0..WIDE {
                let sum = &mut sums[index][vector];
                *sum = simd.mul_add_e_f32s(a, b[vector], *sum);
            }
        }
    }
    sums
}

/// Has the first and the last of these values fetched, for later: the rows of an output
/// are far apart, and nothing in the machine guesses which one is next.
#[inline(always)]
fn fetch_ahead(values: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    if let [first, .., last] = values {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint about memory that is borrowed here; it changes nothing.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(first).cast());
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(last).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}
