//! The inner loop of a product with AVX2. Twelve sums, three vectors of B and a value of A take
//! all sixteen registers, and the compiler, which likes to fetch the next value early, then
//! keeps a sum in memory: half the speed. So the loop is written out.

use std::any::TypeId;
use std::arch::asm;
use std::arch::x86_64::_mm256_setzero_ps;

use pulp::Simd;
use pulp::x86::V3;

/// Rows of A.
const HIGH: usize = 4;

/// Columns of B.
pub(super) const COLUMNS: usize = 24;

/// Multiplies the rows with the first columns of B, whose rows begin `to_next_row` values after
/// each other; returns none if `S` is not AVX2.
#[inline(always)]
pub(super) fn product<S: Simd>(
    rows: [&[f32]; HIGH],
    b: &[f32],
    to_next_row: usize,
) -> Option<[[f32; COLUMNS]; HIGH]> {
    if TypeId::of::<S>() != TypeId::of::<V3>() {
        return None;
    }
    let depth = rows[0].len();
    assert!(depth > 0 && rows.iter().all(|row| row.len() == depth));
    assert!((depth - 1) * to_next_row + COLUMNS <= b.len());
    // SAFETY: code with that `S` runs where there is AVX2 and FMA. Each row of A has `depth`
    // values, and the last of as many rows of B ends within it.
    Some(unsafe { sums(depth, rows.map(<[f32]>::as_ptr), b.as_ptr(), to_next_row) })
}

/// # Safety
///
/// `depth`, which is not 0, values are at each row of A, and as many rows of [`COLUMNS`] values
/// at B.
#[target_feature(enable = "avx2,fma")]
unsafe fn sums(
    depth: usize,
    rows: [*const f32; HIGH],
    b: *const f32,
    to_next_row: usize,
) -> [[f32; COLUMNS]; HIGH] {
    let mut sums = [_mm256_setzero_ps(); 12];
    let [s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11] = &mut sums;
    // SAFETY: the caller's word. Counted from the rows' ends, the steps end at 0.
    unsafe {
        let [row0, row1, row2, row3] = rows.map(|row| row.add(depth));
        asm!(
            "2:",
            "vmovups {b0}, [{b}]",
            "vmovups {b1}, [{b} + 32]",
            "vmovups {b2}, [{b} + 64]",
            "vbroadcastss {a}, [{row0} + 4 * {step}]",
            "vfmadd231ps {s0}, {a}, {b0}",
            "vfmadd231ps {s1}, {a}, {b1}",
            "vfmadd231ps {s2}, {a}, {b2}",
            "vbroadcastss {a}, [{row1} + 4 * {step}]",
            "vfmadd231ps {s3}, {a}, {b0}",
            "vfmadd231ps {s4}, {a}, {b1}",
            "vfmadd231ps {s5}, {a}, {b2}",
            "vbroadcastss {a}, [{row2} + 4 * {step}]",
            "vfmadd231ps {s6}, {a}, {b0}",
            "vfmadd231ps {s7}, {a}, {b1}",
            "vfmadd231ps {s8}, {a}, {b2}",
            "vbroadcastss {a}, [{row3} + 4 * {step}]",
            "vfmadd231ps {s9}, {a}, {b0}",
            "vfmadd231ps {s10}, {a}, {b1}",
            "vfmadd231ps {s11}, {a}, {b2}",
            "add {b}, {to_next_row}",
            "inc {step}",
            "jnz 2b",
            step = inout(reg) -depth.cast_signed() => _,
            b = inout(reg) b => _,
            to_next_row = in(reg) to_next_row * size_of::<f32>(),
            row0 = in(reg) row0,
            row1 = in(reg) row1,
            row2 = in(reg) row2,
            row3 = in(reg) row3,
            a = out(ymm_reg) _,
            b0 = out(ymm_reg) _,
            b1 = out(ymm_reg) _,
            b2 = out(ymm_reg) _,
            s0 = inout(ymm_reg) *s0,
            s1 = inout(ymm_reg) *s1,
            s2 = inout(ymm_reg) *s2,
            s3 = inout(ymm_reg) *s3,
            s4 = inout(ymm_reg) *s4,
            s5 = inout(ymm_reg) *s5,
            s6 = inout(ymm_reg) *s6,
            s7 = inout(ymm_reg) *s7,
            s8 = inout(ymm_reg) *s8,
            s9 = inout(ymm_reg) *s9,
            s10 = inout(ymm_reg) *s10,
            s11 = inout(ymm_reg) *s11,
            options(readonly, nostack),
        );
    }
    bytemuck::cast(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_multiplied_with_each_column() {
        let Some(_) = V3::try_new() else {
            return;
        };
        for (depth, to_next_row) in [(1, 24), (2, 24), (7, 24), (64, 24), (5, 31)] {
            let a: Vec<f32> = (0..HIGH * depth).map(|at| (at % 7) as f32 - 3.0).collect();
            let b: Vec<f32> = (0..depth * to_next_row)
                .map(|at| (at % 11) as f32)
                .collect();
            let rows = [0, 1, 2, 3].map(|row| &a[row * depth..][..depth]);
            let sums = product::<V3>(rows, &b, to_next_row).expect("AVX2");
            for (sums, row) in sums.iter().zip(rows) {
                for (column, sum) in sums.iter().enumerate() {
                    let b = b[column..].iter().step_by(to_next_row);
                    let expected: f32 = row.iter().zip(b).map(|(a, b)| a * b).sum();
                    assert_eq!(*sum, expected, "depth {depth}, column {column}");
                }
            }
        }
        let row = &[1.0][..];
        assert!(product::<pulp::Scalar>([row; HIGH], &[1.0; 24], 24).is_none());
    }
}
