//! `matrix_multiply`: C = A·B over a batch of row-major matrices, in f32.
//!
//! The CPU form is ours, the GPU form `cubek`'s product on plain (not tensor)
//! cores, which keeps f32 accuracy.

use std::borrow::Cow;

use super::{Kernel, Matrix, Work, batch, check_len, check_output, parallel, shape};
use crate::error::Error;

mod host;
mod thin;

/// The products of a batch of matrix pairs.
#[derive(Debug, Clone)]
pub struct MatrixMultiply<'a> {
    a: Cow<'a, [f32]>,
    b: Cow<'a, [f32]>,
    batch: usize,
    m: usize,
    k: usize,
    n: usize,
    #[cfg_attr(
        not(feature = "gpu"),
        expect(dead_code, reason = "only the GPU form is cut up")
    )]
    tiling: Tiling,
}

/// How the GPU form cuts a product into pieces for cubes and units. All of them
/// compute in f32 on plain cores; which one is fastest depends on the device and the
/// shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tiling {
    /// One piece of the inputs is in shared memory at a time; tiles of units are as
    /// high as they are wide.
    #[default]
    Single,
    /// One piece at a time; tiles of one row.
    SingleNarrow,
    /// The next piece is loaded while one is worked on; square tiles.
    Double,
    /// The next piece is loaded while one is worked on; tiles of one row.
    DoubleNarrow,
}

impl Tiling {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Single,
        Self::SingleNarrow,
        Self::Double,
        Self::DoubleNarrow,
    ];
}

impl<'a> MatrixMultiply<'a> {
    /// `a` is batch × m × k, `b` is batch × k × n, both row-major; `dims` is `[batch, m, k, n]`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Shape`](crate::ErrorKind::Shape) where a slice's length is not
    /// its shape's, [`ErrorKind::TooLarge`](crate::ErrorKind::TooLarge) where a shape
    /// has more elements than memory has addresses.
    pub fn new(
        a: impl Into<Cow<'a, [f32]>>,
        b: impl Into<Cow<'a, [f32]>>,
        [batch, m, k, n]: [usize; 4],
    ) -> Result<Self, Error> {
        let (a, b) = (a.into(), b.into());
        let checked = |what: &str, found: Option<usize>, dims: [usize; 3]| {
            let expected = shape::product(what, &dims)?;
            check_len(
                what,
                found.unwrap_or(expected),
                expected,
                &shape::text(&dims),
            )
        };
        checked("matrix_multiply: a", Some(a.len()), [batch, m, k])?;
        checked("matrix_multiply: b", Some(b.len()), [batch, k, n])?;
        checked("matrix_multiply: the output", None, [batch, m, n])?;
        if k == 0 {
            return Err(Error::shape(
                "matrix_multiply: the inner dimension k is zero, so there is nothing to sum",
            ));
        }
        Ok(Self {
            a,
            b,
            batch,
            m,
            k,
            n,
            tiling: Tiling::default(),
        })
    }

    /// The same with another way to cut it up on a GPU.
    #[must_use]
    pub fn with_tiling(self, tiling: Tiling) -> Self {
        Self { tiling, ..self }
    }

    /// The same for pairs of matrices that stand alone, all pairs of one shape.
    ///
    /// # Errors
    ///
    /// As [`new`](MatrixMultiply::new), and
    /// [`ErrorKind::Shape`](crate::ErrorKind::Shape) for pairs that differ in shape
    /// or whose inner dimensions do.
    pub fn of(pairs: &'a [(Matrix, Matrix)]) -> Result<Self, Error> {
        let firsts = pairs.iter().map(|(a, _)| a.part());
        let seconds = pairs.iter().map(|(_, b)| b.part());
        let (a, [m, k]) = batch::joined("matrix_multiply: a", firsts)?;
        let (b, [rows, n]) = batch::joined("matrix_multiply: b", seconds)?;
        if pairs.is_empty() {
            return Self::new(a, b, [0, 1, 1, 1]);
        }
        if rows != k {
            return Err(Error::shape(format!(
                "matrix_multiply: a has {k} columns and b {rows} rows; they must be as many"
            )));
        }
        Self::new(a, b, [pairs.len(), m, k, n])
    }

    fn one(&self, item: usize, out: &mut [f32], on_pool: bool) {
        let (m, k, n) = (self.m, self.k, self.n);
        let a = &self.a[item * m * k..][..m * k];
        let b = &self.b[item * k * n..][..k * n];
        host::multiply(host::Product { a, b, k, n }, out, on_pool);
    }
}

impl Kernel for MatrixMultiply<'_> {
    type Element = f32;

    fn output_len(&self) -> usize {
        self.batch * self.m * self.n
    }

    fn work(&self) -> Work {
        let products = (self.batch * self.m * self.n) as u64;
        Work {
            items: self.batch as u64,
            elements: products,
            flops: products.saturating_mul(2 * self.k as u64),
            bytes: self.memory_bytes(),
        }
    }

    fn memory_bytes(&self) -> u64 {
        4 * (self.a.len() + self.b.len() + self.output_len()) as u64
    }

    fn cpu_into(&self, out: &mut [f32]) {
        check_output(out, self.output_len());
        let each = self.m * self.n;
        if each == 0 {
            return;
        }
        // All workers on one product after the other where each is worth it and there
        // are fewer than workers; otherwise whole products side by side, of small
        // ones several to a piece.
        let multiply_adds = each.saturating_mul(self.k);
        if host::is_worth_waking(multiply_adds) && self.batch < rayon::current_num_threads() {
            for (item, out) in out.chunks_mut(each).enumerate() {
                self.one(item, out, true);
            }
        } else {
            let piece = each.saturating_mul(host::products_per_piece(multiply_adds));
            parallel::for_pieces(out, piece, |start, out| {
                for (item, out) in (start / each..).zip(out.chunks_mut(each)) {
                    self.one(item, out, false);
                }
            });
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
        let dims = [self.batch, self.m, self.k, self.n];
        device::launch(gpu, &inputs[0], &inputs[1], output, dims, self.tiling)
    }
}

#[cfg(feature = "gpu")]
mod device;
