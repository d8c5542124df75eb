//! Products in which a matrix has so few rows or columns that each value of the
//! other is used only about once: nothing is packed.

use pulp::{Arch, Simd, WithSimd};

use super::product::{Product, with_room};
use crate::dot_product;
use crate::parallel::{Cut, pieces_on};

/// Rows of A so few that packing B takes longer than using it.
pub(super) const FEW_ROWS: usize = 2;

/// Multiply-adds of a piece of CPU work, about.
const PIECE: usize = 512 * 1024;

/// Rows of B that are added at once: the sums are fetched and stored once for all.
const TOGETHER: usize = 4;

/// Columns in a piece are a multiple of this, so that they fill vectors on any CPU.
const COLUMNS: usize = 64;

/// For an A with few rows: adds up the rows of B, each times a value of A.
pub(super) fn few_rows(product: Product<'_>, out: &mut [f32], on_pool: bool) {
    let Product { a, b, k, n } = product;
    let columns = match on_pool {
        true => (PIECE / k).next_multiple_of(COLUMNS).max(COLUMNS),
        // Longer runs of each row are fetched faster.
        false => n,
    };
    for (a, out) in a.chunks(k).zip(out.chunks_mut(n)) {
        pieces_on(on_pool, out, Cut::into(columns), |column, out| {
            Arch::new().dispatch(Sum {
                a,
                b: &b[column..],
                n,
                out,
            });
        });
    }
}

/// For a B with few columns: multiplies each row of A with each of them.
pub(super) fn few_columns(product: Product<'_>, out: &mut [f32], on_pool: bool) {
    let Product { a, b, k, n } = product;
    with_room(k * n, |columns| {
        let values = (0..n).flat_map(|column| b[column..].iter().step_by(n));
        for (to, from) in columns.iter_mut().zip(values) {
            *to = *from;
        }
        let columns = &*columns;
        let rows = (PIECE / (k * n)).max(1);
        pieces_on(on_pool, out, Cut::into(rows * n), |start, out| {
            let rows = a[start / n * k..].chunks(k);
            for (row, out) in rows.zip(out.chunks_mut(n)) {
                for (column, out) in columns.chunks(k).zip(out) {
                    *out = dot_product::sum((row, column)) as f32;
                }
            }
        });
    });
}

/// Some columns of one row of the output.
struct Sum<'p, 'o> {
    a: &'p [f32],
    /// From the first row's first of these columns on.
    b: &'p [f32],
    n: usize,
    out: &'o mut [f32],
}

impl WithSimd for Sum<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.out.fill(0.0);
        let (blocks, rest) = self.a.as_chunks::<TOGETHER>();
        let in_blocks = (blocks.len() * TOGETHER * self.n).min(self.b.len());
        let (b, rest_of_b) = self.b.split_at(in_blocks);
        for (a, b) in blocks.iter().zip(b.chunks(TOGETHER * self.n)) {
            add(simd, self.out, a, b, self.n);
        }
        for (a, b) in rest.iter().zip(rest_of_b.chunks(self.n)) {
            add(simd, self.out, &[*a], b, self.n);
        }
    }
}

/// Adds some rows of B, each times a value of A.
#[inline(always)]
fn add<S: Simd, const ROWS: usize>(simd: S, out: &mut [f32], a: &[f32; ROWS], b: &[f32], n: usize) {
    let columns = out.len();
    let (out, rest_of_out) = S::as_mut_simd_f32s(out);
    let mut vectors: [&[S::f32s]; ROWS] = [&[]; ROWS];
    let mut rests: [&[f32]; ROWS] = [&[]; ROWS];
    for row in 0..ROWS {
        let (of_row, rest) = S::as_simd_f32s(&b[row * n..][..columns]);
        vectors[row] = &of_row[..out.len()];
        rests[row] = &rest[..rest_of_out.len()];
    }
    for index in 0..out.len() {
        let mut sum = out[index];
        for (a, b) in a.iter().zip(&vectors) {
            sum = simd.mul_add_e_f32s(simd.splat_f32s(*a), b[index], sum);
        }
        out[index] = sum;
    }
    for (index, out) in rest_of_out.iter_mut().enumerate() {
        for (a, b) in a.iter().zip(&rests) {
            *out += a * b[index];
        }
    }
}
