//! The CPU form: the blocked product of Goto and van de Geijn, "Anatomy of
//! High-Performance Matrix Multiplication" (2008). A block of B is packed into
//! panels as wide as two vectors; six rows of A at a time are multiplied with a
//! panel into sums that stay in registers. The rows of A are read where they are:
//! a value is fetched into all lanes at once, which needs no order of its own. So are
//! those of a small B.

use pulp::{Arch, Simd, WithSimd};

use super::product::{Product, with_room};
use super::thin;
use crate::kernels::parallel::{Cut, f32_lanes, pieces_by, pieces_on};
use crate::tune::HostTunable;

/// Rows of A whose sums are in registers at once: with two vectors each, a value
/// of A and two of B, they fill AVX2's sixteen.
const ROWS: usize = 6;

/// Vectors in a row of a panel.
const VECTORS: usize = 2;

/// Values of a B that is read where it is: 64 KiB. To pack it would take a tenth of the time of
/// a product of order 64 or 96.
const SMALL: usize = 16 * 1024;

/// Rows of the output per piece of CPU work, which share each panel while it is in
/// the first cache. One thread alone takes more at once: nobody waits for it.
pub(super) static STRIP: HostTunable =
    HostTunable::new("matrix_multiply", "strip", 4 * ROWS as u32, &[12, 48]);

/// Rows of B in a panel: with more of them the output is fetched and stored less often. With
/// vectors of eight, 512 have 32 KiB, a whole first cache; a large second cache is fast enough
/// for more.
pub(super) static DEPTH: HostTunable =
    HostTunable::new("matrix_multiply", "depth", 512, &[256, 384]).in_large_caches(1024);

/// Columns of B that are packed at once: with as many rows, half of a large second cache.
pub(super) static COLUMNS: HostTunable =
    HostTunable::new("matrix_multiply", "columns", 1024, &[512]).in_large_caches(256);

/// Values that each thread packs for itself, in some tens of microseconds at most: where others
/// read what one packed, their caches pass the lines to and fro, which takes longer.
const PACKED_BY_EACH: usize = 64 * 1024;

/// Multiply-adds that are some tens of microseconds.
const PIECE: usize = 512 * 1024;

/// Multiply-adds in whose time a product begins and ends, beside its own.
const PER_PRODUCT: usize = 4096;

/// Pieces of CPU work in a product of so many multiply-adds.
pub(super) fn pieces(multiply_adds: usize) -> usize {
    multiply_adds / PIECE
}

/// Products of so many multiply-adds each that are together a piece of CPU work.
pub(super) fn products_per_piece(multiply_adds: usize) -> usize {
    (PIECE / multiply_adds.saturating_add(PER_PRODUCT)).max(1)
}

/// How products are cut up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Blocking {
    depth: usize,
    columns: usize,
    strip: usize,
}

impl Blocking {
    /// For a call whose inputs have so many elements.
    pub(super) fn at(elements: usize) -> Self {
        Self {
            depth: DEPTH.at(elements),
            columns: COLUMNS.at(elements),
            strip: STRIP.at(elements),
        }
    }
}

/// Multiplies into `out`, on the pool if so asked.
pub(super) fn multiply(product: Product<'_>, blocking: Blocking, out: &mut [f32], on_pool: bool) {
    let Product { a, b, k, n } = product;
    let panel_width = VECTORS * f32_lanes();
    if n < panel_width / VECTORS {
        return thin::few_columns(product, out, on_pool);
    } else if out.len() <= thin::FEW_ROWS * n {
        return thin::few_rows(product, out, on_pool);
    }
    let arch = Arch::new();
    let strip = if on_pool { 1 } else { 4 } * blocking.strip;
    let cut = Cut {
        most: strip * n,
        unit: ROWS * n,
    };
    let strips = |panels: &Panels<'_>, row: usize, column: usize, start: usize, out: &mut [f32]| {
        arch.dispatch(Strip {
            a: &a[start / n * k + row..],
            k,
            panels: *panels,
            out: &mut out[column..],
            n,
            is_first: row == 0,
        });
    };
    if b.len() <= SMALL && n >= panel_width {
        let panels = Panels {
            values: b,
            to_next_row: n,
            depth: k,
            columns: n,
        };
        return pieces_on(on_pool, out, cut, |start, out| {
            strips(&panels, 0, 0, start, out);
        });
    }
    let depth = k.div_ceil(k.div_ceil(blocking.depth));
    let columns = n.min(blocking.columns);
    for column in (0..n).step_by(columns) {
        let columns = columns.min(n - column);
        for row in (0..k).step_by(depth) {
            let depth = depth.min(k - row);
            let len = depth * columns.next_multiple_of(panel_width);
            let panel = depth * panel_width;
            let pack = |on_pool, values: &mut [f32]| {
                pieces_on(on_pool, values, Cut::into(panel), |start, panels| {
                    let column = column + start / depth;
                    let columns = columns - start / depth;
                    arch.dispatch(Pack {
                        b: &b[row * n + column..],
                        n,
                        columns,
                        depth,
                        panels,
                    });
                });
            };
            let nowhere = Panels {
                values: &[],
                to_next_row: panel_width,
                depth,
                columns,
            };
            if len <= PACKED_BY_EACH {
                pieces_by(on_pool, out, cut, |next| {
                    let mut piece = next();
                    if piece.is_none() {
                        return;
                    }
                    with_room(len, |room| {
                        pack(false, room);
                        let panels = Panels {
                            values: room,
                            ..nowhere
                        };
                        while let Some((start, out)) = piece {
                            strips(&panels, row, column, start, out);
                            piece = next();
                        }
                    });
                });
            } else {
                with_room(len, |room| {
                    pack(on_pool, room);
                    let panels = Panels {
                        values: room,
                        ..nowhere
                    };
                    pieces_on(on_pool, out, cut, |start, out| {
                        strips(&panels, row, column, start, out);
                    });
                });
            }
        }
    }
}

/// Columns of B, as many in each panel as in [`VECTORS`] vectors: packed one panel after the
/// other, or all of B where it is.
#[derive(Clone, Copy)]
struct Panels<'p> {
    values: &'p [f32],
    /// Values from one row to the next: a panel's columns if they are packed, else B's, which
    /// are more.
    to_next_row: usize,
    /// Rows.
    depth: usize,
    columns: usize,
}

/// Panels of B, packed: `depth` rows of each panel's columns, with zeros past the last.
struct Pack<'p, 'o> {
    /// From the first row and column on.
    b: &'p [f32],
    n: usize,
    columns: usize,
    depth: usize,
    panels: &'o mut [f32],
}

impl WithSimd for Pack<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let width = VECTORS * S::F32_LANES;
        // Along the rows of B, which is how memory is fetched fastest.
        for row in 0..self.depth {
            let from = &self.b[row * self.n..];
            let panels = self.panels.chunks_exact_mut(self.depth * width);
            for (index, panel) in panels.enumerate() {
                let columns = width.min(self.columns - index * width);
                let from = &from[index * width..][..columns];
                let to = &mut panel[row * width..][..width];
                if columns == width {
                    to.copy_from_slice(from);
                } else {
                    to[..columns].copy_from_slice(from);
                    to[columns..].fill(0.0);
                }
            }
        }
    }
}

/// Rows of the output that are multiplied with all panels.
struct Strip<'p, 'o> {
    /// From the first row's first value for these panels on.
    a: &'p [f32],
    k: usize,
    panels: Panels<'p>,
    /// From the first row's first column for these panels on.
    out: &'o mut [f32],
    n: usize,
    /// Whether the output is to be written, not added to.
    is_first: bool,
}

impl WithSimd for Strip<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let columns = self.panels.columns;
        for column in (0..columns).step_by(VECTORS * S::F32_LANES) {
            if columns - column > S::F32_LANES {
                self.panel::<S, VECTORS>(simd, column);
            } else {
                self.panel::<S, 1>(simd, column);
            }
        }
    }
}

impl Strip<'_, '_> {
    /// The rows times as many of a panel's vectors.
    #[inline(always)]
    fn panel<S: Simd, const WIDE: usize>(&mut self, simd: S, column: usize) {
        let Panels {
            values,
            to_next_row,
            depth,
            columns,
        } = self.panels;
        let rows = (self.out.len() - columns) / self.n + 1;
        let (column, panel) = if to_next_row == VECTORS * S::F32_LANES {
            (column, &values[column * depth..])
        } else {
            // Nothing is past the last column: some are multiplied again.
            let column = column.min(columns - WIDE * S::F32_LANES);
            (column, &values[column..])
        };
        let mut row = 0;
        while row + ROWS <= rows {
            self.tile::<S, ROWS, WIDE>(simd, row, column, panel);
            row += ROWS;
        }
        match rows - row {
            5 => self.tile::<S, 5, WIDE>(simd, row, column, panel),
            4 => self.tile::<S, 4, WIDE>(simd, row, column, panel),
            3 => self.tile::<S, 3, WIDE>(simd, row, column, panel),
            2 => self.tile::<S, 2, WIDE>(simd, row, column, panel),
            1 => self.tile::<S, 1, WIDE>(simd, row, column, panel),
            _ => {}
        }
    }

    #[inline(always)]
    fn tile<S: Simd, const ROWS: usize, const WIDE: usize>(
        &mut self,
        simd: S,
        row: usize,
        column: usize,
        panel: &[f32],
    ) {
        let Panels {
            to_next_row,
            depth,
            columns,
            ..
        } = self.panels;
        let mut rows: [&[f32]; ROWS] = [&[]; ROWS];
        for (index, a) in rows.iter_mut().enumerate() {
            *a = &self.a[(row + index) * self.k..][..depth];
        }
        let width = WIDE * S::F32_LANES;
        let columns = width.min(columns - column);
        for index in 0..ROWS {
            fetch_ahead(&self.out[(row + index) * self.n + column..][..columns]);
        }
        let mut sums = [[simd.splat_f32s(0.0); WIDE]; ROWS];
        assert!((depth - 1) * to_next_row + width <= panel.len());
        // Neither checks nor calls in this loop, closures' among them: with them the sums are in
        // memory.
        for step in 0..depth {
            // SAFETY: the last of `depth` rows is within the panel.
            let b = unsafe {
                let b = panel.as_ptr().add(step * to_next_row);
                b.cast::<[S::f32s; WIDE]>().read_unaligned()
            };
            for index in 0..ROWS {
                // SAFETY: each row of A has `depth` values.
                let a = simd.splat_f32s(unsafe { *rows[index].get_unchecked(step) });
                for vector in 0..WIDE {
                    let sum = &mut sums[index][vector];
                    *sum = simd.mul_add_e_f32s(a, b[vector], *sum);
                }
            }
        }
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
    }
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
