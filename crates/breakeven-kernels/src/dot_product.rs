//! `dot_product`: Σ a·b over a batch of pairs of vectors.
//!
//! Products and short sums of them are in f32, in many accumulators, which are added in f64 on the
//! CPU, in trees on a GPU. The error stays under 4e-6 · Σ|a·b|, whatever cancels: it is relative to
//! the terms, not to the result. A product or a sum that f32 cannot represent is infinite, and a
//! NaN or an infinity among the products reaches the sum; which of the two arrives is not promised
//! across devices.

use pulp::{Arch, Simd, WithSimd};

use super::parallel::{self, Cut};
use super::sharing::Sharing;
use super::vector_add::same_shape;
use super::{KI, inputs};
use crate::error::Error;
use crate::operator::{Operator, View};
use crate::tensor::shape;
use crate::tune::HostTunable;

/// Vectors of SIMD that are summed in f32: 32 for each accumulator.
const BLOCK: usize = 32 * ACCUMULATORS;

/// Sums that need not wait for each other.
const ACCUMULATORS: usize = 8;

/// Elements of a vector per piece of CPU work: waking a worker costs more than a
/// smaller piece takes.
static CHUNK: HostTunable = HostTunable::new(
    "dot_product",
    "chunk",
    128 * KI,
    &[16 * KI, 32 * KI, 64 * KI, 256 * KI],
);

static SHARING: Sharing = Sharing::new();
static LONG: Sharing = Sharing::new();

/// The dot products of two batches of vectors: two inputs of one shape. The output has
/// one element a pair; that of vectors without elements is 0.
#[derive(Debug, Clone, Copy, Default)]
pub struct DotProduct;

/// The sum of one piece, for the widest SIMD that this CPU has.
struct Sum<'v> {
    a: &'v [f32],
    b: &'v [f32],
}

impl WithSimd for Sum<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let (a, rest_a) = S::as_simd_f32s(self.a);
        let (b, rest_b) = S::as_simd_f32s(self.b);
        let rest = rest_a.iter().zip(rest_b);
        let mut total = rest.fold(0.0, |sum, (a, b)| sum + f64::from(*a) * f64::from(*b));
        for (a, b) in a.chunks(BLOCK).zip(b.chunks(BLOCK)) {
            let mut sums = [simd.splat_f32s(0.0); ACCUMULATORS];
            let (a, rest_a) = a.as_chunks::<ACCUMULATORS>();
            let (b, rest_b) = b.as_chunks::<ACCUMULATORS>();
            for (a, b) in a.iter().zip(b) {
                for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
                    *sum = simd.mul_add_e_f32s(*a, *b, *sum);
                }
            }
            for ((sum, a), b) in sums.iter_mut().zip(rest_a).zip(rest_b) {
                *sum = simd.mul_add_e_f32s(*a, *b, *sum);
            }
            let [a, b, c, d, e, f, g, h] = sums;
            let add = |one, other| simd.add_f32s(one, other);
            let sum = add(add(add(a, b), add(c, d)), add(add(e, f), add(g, h)));
            total += f64::from(simd.reduce_sum_f32s(sum));
        }
        total
    }
}

/// The dot product of two vectors on the calling thread.
pub(super) fn sum((a, b): (&[f32], &[f32])) -> f64 {
    Arch::new().dispatch(Sum { a, b })
}

impl Operator for DotProduct {
    type In = f32;
    type Out = f32;

    fn name(&self) -> &str {
        "dot_product"
    }

    fn output_shape(&self, shapes: &[&[usize]]) -> Result<Vec<usize>, Error> {
        let [a, b] = inputs(self.name(), shapes)?;
        same_shape(self.name(), a, b)?;
        Ok(a.iter().take(1).copied().collect())
    }

    fn flops(&self, shapes: &[&[usize]]) -> u64 {
        shape::elements(shapes[0]).saturating_mul(2)
    }

    fn cpu(&self, views: &[View<'_, f32>], out: &mut [f32]) -> Result<(), Error> {
        let [a, b] = inputs(self.name(), views)?.map(|view| view.values);
        let len = a.len() / out.len().max(1);
        let chunk = CHUNK.at(a.len() + b.len());
        let pair = |item: usize| {
            let at = item * len..(item + 1) * len;
            (&a[at.clone()], &b[at])
        };
        if len <= chunk {
            parallel::for_pieces(
                &SHARING,
                out,
                Cut::into(chunk / len.max(1)),
                |first, out| {
                    for (item, out) in (first..).zip(out) {
                        *out = sum(pair(item)) as f32;
                    }
                },
            );
            return Ok(());
        }
        let mut pieces = vec![0.0; len.div_ceil(chunk)];
        for (item, out) in out.iter_mut().enumerate() {
            let (a, b) = pair(item);
            parallel::for_pieces(&LONG, &mut pieces, Cut::into(1), |index, sums| {
                let piece = index * chunk..len.min((index + 1) * chunk);
                sums[0] = sum((&a[piece.clone()], &b[piece]));
            });
            // In their order: the sum does not depend on who was done first.
            *out = pieces.iter().fold(0.0, |all, piece| all + piece) as f32;
        }
        Ok(())
    }

    fn host_tunables(&self) -> Vec<&'static HostTunable> {
        vec![&CHUNK]
    }

    #[cfg(feature = "gpu")]
    fn device(&self) -> Option<&dyn crate::gpu::DeviceForm> {
        Some(self)
    }
}

#[cfg(feature = "gpu")]
mod dot_kernels;
