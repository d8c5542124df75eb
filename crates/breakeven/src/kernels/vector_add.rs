//! `vector_add` and `vector_add_batch`: c = a + b over a batch of vectors.
//!
//! One rounding per element, so every device gives the exact same result.

use std::borrow::Cow;

use super::{Kernel, Work, batch, check_output, parallel, shape};
use crate::error::Error;

/// Elements per piece of CPU work.
const CHUNK: usize = 128 * 1024;

/// The sum of two batches of vectors.
#[derive(Debug, Clone)]
pub struct VectorAdd<'a> {
    a: Cow<'a, [f32]>,
    b: Cow<'a, [f32]>,
    batch: usize,
}

impl<'a> VectorAdd<'a> {
    /// `a` and `b`, each `batch` vectors of the same length one after the other.
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
        batch::check_pairs("vector_add", &a, &b, batch)?;
        shape::product("vector_add: the output", &[a.len()])?;
        Ok(Self { a, b, batch })
    }

    /// The same for pairs of vectors that stand alone, all of one length.
    ///
    /// # Errors
    ///
    /// As [`new`](VectorAdd::new), and
    /// [`ErrorKind::Shape`](crate::ErrorKind::Shape) for pairs that differ in length.
    pub fn of(pairs: &'a [(Vec<f32>, Vec<f32>)]) -> Result<Self, Error> {
        let [a, b] = batch::joined_pairs("vector_add", pairs)?;
        Self::new(a, b, pairs.len())
    }
}

impl Kernel for VectorAdd<'_> {
    type Element = f32;

    fn output_len(&self) -> usize {
        self.a.len()
    }

    fn work(&self) -> Work {
        let elements = self.a.len() as u64;
        Work {
            items: self.batch as u64,
            elements,
            flops: elements,
            bytes: 12 * elements,
        }
    }

    fn memory_bytes(&self) -> u64 {
        12 * self.a.len() as u64
    }

    fn cpu_into(&self, out: &mut [f32]) {
        check_output(out, self.a.len());
        parallel::for_chunks(out, CHUNK, |start, out| {
            let a = &self.a[start..start + out.len()];
            let b = &self.b[start..start + out.len()];
            for ((c, a), b) in out.iter_mut().zip(a).zip(b) {
                *c = a + b;
            }
        });
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
        device::launch(gpu, &inputs[0], &inputs[1], output, self.a.len())
    }
}

#[cfg(feature = "gpu")]
mod device {
    use cubecl::prelude::*;

    use crate::error::DeviceError;
    use crate::gpu::{Buffer, Gpu, grid, with_client};

    /// Units per cube.
    const UNITS: u32 = 256;

    #[cube(launch_unchecked)]
    fn add<N: Size>(
        a: &Array<Vector<f32, N>>,
        b: &Array<Vector<f32, N>>,
        out: &mut Array<Vector<f32, N>>,
    ) {
        if ABSOLUTE_POS < out.len() {
            out[ABSOLUTE_POS] = a[ABSOLUTE_POS] + b[ABSOLUTE_POS];
        }
    }

    pub(super) fn launch(
        gpu: &Gpu,
        a: &Buffer,
        b: &Buffer,
        out: &Buffer,
        len: usize,
    ) -> Result<(), DeviceError> {
        // 128-bit loads where the length allows.
        let lanes = if len.is_multiple_of(4) { 4 } else { 1 };
        let count = grid(len / lanes, UNITS);
        with_client!(gpu, client => {
            // SAFETY: each buffer holds `len` elements (the kernel's constructor
            // checked the inputs, `Gpu` sized the output), and the kernel looks at
            // no position past its output's length.
            unsafe {
                add::launch_unchecked(
                    client,
                    count,
                    CubeDim::new_1d(UNITS),
                    lanes,
                    a.array(len),
                    b.array(len),
                    out.array(len),
                );
            }
        });
        Ok(())
    }
}
