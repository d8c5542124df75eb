//! `dot_product`: Σ a·b over a batch of pairs of vectors.
//!
//! Products and short sums of them are in f32, in many accumulators; what those
//! come to is added in f64 on the CPU, in trees on a GPU. The error stays under
//! 1e-6 · Σ|a·b|, whatever cancels: it is relative to what was added, not to what
//! is left. A product or a sum that f32 cannot hold is infinite, and a NaN or an
//! infinity among the products reaches the sum; which of the two arrives is not
//! promised across devices.

use std::borrow::Cow;

use pulp::Arch;
use rayon::prelude::*;

use super::{Kernel, Work, batch, check_len, check_output, shape};
use crate::error::Error;

/// Products that an accumulator sums in f32.
const BLOCK: usize = 32;

/// Accumulators: four registers of AVX-512, eight of AVX2, so that additions
/// need not wait for each other.
const ACCUMULATORS: usize = 64;

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
        check_len("dot_product: b", b.len(), a.len(), "that of a,")?;
        if a.len().checked_rem(batch).unwrap_or(a.len()) != 0 {
            return Err(Error::shape(format!(
                "dot_product: {} elements do not make {batch} vectors of one length",
                a.len()
            )));
        }
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
        let firsts = pairs.iter().map(|(a, _)| (&a[..], [1, a.len()]));
        let seconds = pairs.iter().map(|(_, b)| (&b[..], [1, b.len()]));
        let (a, _) = batch::joined("dot_product: a", firsts)?;
        let (b, _) = batch::joined("dot_product: b", seconds)?;
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

/// The sum of one piece, compiled for the widest SIMD that this CPU has.
fn sum(a: &[f32], b: &[f32]) -> f64 {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let (whole_a, rest_a) = a.as_chunks::<ACCUMULATORS>();
            let (whole_b, rest_b) = b.as_chunks::<ACCUMULATORS>();
            let mut totals = [0.0_f64; ACCUMULATORS];
            for (a, b) in whole_a.chunks(BLOCK).zip(whole_b.chunks(BLOCK)) {
                let mut sums = [0.0_f32; ACCUMULATORS];
                for (a, b) in a.iter().zip(b) {
                    for at in 0..ACCUMULATORS {
                        sums[at] += a[at] * b[at];
                    }
                }
                for (total, sum) in totals.iter_mut().zip(sums) {
                    *total += f64::from(sum);
                }
            }
            let rest = rest_a.iter().zip(rest_b);
            let rest = rest.fold(0.0, |sum, (a, b)| sum + f64::from(a * b));
            totals.iter().fold(rest, |sum, total| sum + total)
        },
    )
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
        if len > CHUNK {
            for (item, out) in out.iter_mut().enumerate() {
                let (a, b) = self.pair(item);
                // Pieces are added in their order: the sum does not depend on who
                // was done first.
                let pieces: Vec<f64> = (a.par_chunks(CHUNK).zip(b.par_chunks(CHUNK)))
                    .map(|(a, b)| sum(a, b))
                    .collect();
                *out = pieces.iter().fold(0.0, |all, piece| all + piece) as f32;
            }
            return;
        }
        let items = CHUNK / len.max(1);
        let solve = |first: usize, out: &mut [f32]| {
            for (item, out) in out.iter_mut().enumerate() {
                let (a, b) = self.pair(first + item);
                *out = sum(a, b) as f32;
            }
        };
        if self.batch <= items {
            return solve(0, out);
        }
        out.par_chunks_mut(items)
            .enumerate()
            .for_each(|(piece, out)| solve(piece * items, out));
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
