//! `dot_product`: Σ a·b over a batch of pairs of vectors.
//!
//! Products and short sums of them are in f32, in many accumulators; what those
//! come to is added in f64 on the CPU, in trees on a GPU. The error stays under
//! 4e-6 · Σ|a·b|, whatever cancels: it is relative to what was added, not to what
//! is left. A product or a sum that f32 cannot hold is infinite, and a NaN or an
//! infinity among the products reaches the sum; which of the two arrives is not
//! promised across devices.

use std::borrow::Cow;

use pulp::{Arch, Simd, WithSimd};

use super::{Kernel, Work, batch, check_output, parallel, shape};
use crate::error::Error;

/// Vectors of SIMD that are summed in f32: 32 for each accumulator.
const BLOCK: usize = 32 * ACCUMULATORS;

/// Sums that need not wait for each other.
const ACCUMULATORS: usize = 8;

/// Elements of a vector per piece of CPU work: waking a worker costs more than a
/// smaller piece takes.
const CHUNK: usize = 128 * 1024;

/// The dot products of two batches of vectors.
#[derive(Debug, Clone)]
pub struct DotProduct<'a> {
    a: Cow<'a, [f32]>,
    b: Cow<'a, [f32]>,
    batch: usize,
}

impl<'a> DotProduct<'a> {
    /// `a` and `b`, each `batch` vectors of the same length one after the other.
    /// The output has one element a pair; that of vectors without elements is 0.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Shape`](crate::ErrorKind::Shape) where `a` and `b` differ in
    /// length or the batch does not divide it.
    pub fn new(
        a: impl Into<Cow<'a, [f32]>>,
        b: impl Into<Cow<'a, [f32]>>,
        batch: usize,
    ) -> Result<Self, Error> {
        let (a, b) = (a.into(), b.into());
        batch::check_pairs("dot_product", &a, &b, batch)?;
        shape::product("dot_product: the output", &[batch])?;
        Ok(Self { a, b, batch })
    }

    /// The same for pairs of vectors that stand alone, all of one length.
    ///
    /// # Errors
    ///
    /// As [`new`](DotProduct::new), and
    /// [`ErrorKind::Shape`](crate::ErrorKind::Shape) for pairs that differ in length.
    pub fn of(pairs: &'a [(Vec<f32>, Vec<f32>)]) -> Result<Self, Error> {
        let [a, b] = batch::joined_pairs("dot_product", pairs)?;
        Self::new(a, b, pairs.len())
    }

    /// Elements of one vector.
    fn len(&self) -> usize {
        self.a.len().checked_div(self.batch).unwrap_or(0)
    }

    fn pair(&self, item: usize) -> (&[f32], &[f32]) {
        let at = item * self.len()..(item + 1) * self.len();
        (&self.a[at.clone()], &self.b[at])
    }
}

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

impl Kernel for DotProduct<'_> {
    type Element = f32;

    fn output_len(&self) -> usize {
        self.batch
    }

    fn work(&self) -> Work {
        Work {
            items: self.batch as u64,
            elements: self.batch as u64,
            flops: 2 * self.a.len() as u64,
            bytes: self.memory_bytes(),
        }
    }

    fn memory_bytes(&self) -> u64 {
        4 * (2 * self.a.len() + self.batch) as u64
    }

    fn cpu_into(&self, out: &mut [f32]) {
        check_output(out, self.batch);
        let len = self.len();
        if len <= CHUNK {
            parallel::for_pieces(out, CHUNK / len.max(1), |first, out| {
                for (item, out) in (first..).zip(out) {
                    *out = sum(self.pair(item)) as f32;
                }
            });
            return;
        }
        let mut pieces = vec![0.0; len.div_ceil(CHUNK)];
        for (item, out) in out.iter_mut().enumerate() {
            let (a, b) = self.pair(item);
            parallel::for_pieces(&mut pieces, 1, |index, sums| {
                let piece = index * CHUNK..len.min((index + 1) * CHUNK);
                sums[0] = sum((&a[piece.clone()], &b[piece]));
            });
            // In their order: the sum does not depend on who was done first.
            *out = pieces.iter().fold(0.0, |all, piece| all + piece) as f32;
        }
    }

    #[cfg(feature = "gpu")]
    fn device_inputs(&self) -> Vec<&[u8]> {
        vec![bytemuck::cast_slice(&self.a), bytemuck::cast_slice(&self.b)]
    }

    #[cfg(feature = "gpu")]
    fn launch(
        &self,
        gpu: &crate::gpu::Gpu,
        inputs: &[crate::gpu::Buffer],
        output: &crate::gpu::Buffer,
    ) -> Result<(), crate::error::DeviceError> {
        device::launch(
            gpu,
            &inputs[0],
            &inputs[1],
            output,
            [self.batch, self.len()],
        )
    }
}

#[cfg(feature = "gpu")]
mod device;
