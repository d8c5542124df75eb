//! The CPU form: the blocked product of Goto and van de Geijn, "Anatomy of High-Performance Matrix
//! Multiplication" (2008). A block of B is packed into panels of some vectors' width; some rows of
//! A at a time are multiplied with a panel into sums that stay in registers. The rows of A are read
//! in place: a value is fetched into all lanes at once, which needs no special order. So are those
//! of a small B.

use pulp::{Arch, Simd, WithSimd};

use super::product::{Product, with_room};
use super::strip::{IN_PLACE, Panels, Strip, vectors};
use super::thin;
use crate::parallel::{Cut, f32_lanes, pieces_by, pieces_on};
use crate::tune::HostTunable;

/// Rows that stay together when a product is cut up: tiles of four and of six fit in.
const ROWS: usize = 12;

/// Largest B that is read in place, values: 64 KiB. Packing it would take a tenth of the time of a
/// product of order 64 or 96.
const SMALL: usize = 16 * 1024;

/// Rows of the output per piece of CPU work, which share each panel while it is in the first cache.
/// One thread alone takes more at once: no other thread waits for it.
pub(super) static STRIP: HostTunable =
    HostTunable::new("matrix_multiply", "strip", 2 * ROWS as u32, &[12, 48]);

/// Rows of B in a panel: with more of them the output is fetched and stored less often. A panel
/// of 512 rows has 48 or 64 KiB, which the second cache is fast enough for; a large one is so for
/// more.
pub(super) static DEPTH: HostTunable =
    HostTunable::new("matrix_multiply", "depth", 512, &[256, 384]).in_large_caches(1024);

/// Columns of B that are packed at once: with as many rows, half of a large second cache.
pub(super) static COLUMNS: HostTunable =
    HostTunable::new("matrix_multiply", "columns", 1024, &[512]).in_large_caches(256);

/// Values that each thread packs for itself, in at most some tens of microseconds: if threads read
/// what another one packed, their caches exchange the lines, which takes longer.
const PACKED_BY_EACH: usize = 64 * 1024;

/// Multiply-adds that are some tens of microseconds.
const PIECE: usize = 512 * 1024;

/// Fixed cost of a product, in multiply-adds.
const PER_PRODUCT: usize = 4096;

/// Returns the pieces of CPU work in a product of that many multiply-adds.
pub(super) fn pieces(multiply_adds: usize) -> usize {
    multiply_adds / PIECE
}

/// Returns how many products of that many multiply-adds form a piece of CPU work.
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
    /// Returns the tuned values for a call whose inputs have that many elements.
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
    let lanes = f32_lanes();
    let panel_width = vectors(lanes) * lanes;
    if n < lanes {
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
    if b.len() <= SMALL && n >= IN_PLACE * lanes {
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
        let width = vectors(S::F32_LANES) * S::F32_LANES;
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
