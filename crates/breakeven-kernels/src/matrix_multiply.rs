//! `matrix_multiply`: C = A·B over a batch of row-major matrices, in f32.
//!
//! On plain (not tensor) cores, which keeps f32 accuracy.

use super::parallel::{self, Cut};
use super::sharing::Sharing;
use super::{dims, inputs};
use crate::error::Error;
use crate::operator::{Operator, View};
use crate::tune::HostTunable;

#[cfg(target_arch = "x86_64")]
mod avx2;
mod host;
mod page;
mod product;
mod strip;
mod tensor_core;
mod thin;

pub use tensor_core::TensorCoreMatmul;

/// Pieces of a product from which on all threads do one after the other, however many there
/// are: as many of them side by side are bound by memory. Of order 1 024 they are not yet.
const LARGE: usize = 8 * 1024;

static SHARING: Sharing = Sharing::new();
static BATCHES: Sharing = Sharing::new();

/// The products of a batch of matrix pairs: batch × m × k and batch × k × n in,
/// batch × m × n out.
#[derive(Debug, Clone, Copy, Default)]
pub struct MatrixMultiply;

fn sizes(shapes: &[&[usize]]) -> Result<[usize; 4], Error> {
    sizes_of("matrix_multiply", shapes)
}

/// The sizes of products for which one configuration is the fastest: up to twice as large.
#[cfg(feature = "gpu")]
fn variant([_, m, k, n]: [usize; 4]) -> String {
    let [m, k, n] = [m, k, n].map(|dim| 1_u64 << dim.max(1).ilog2());
    format!("{m} × {k} × {n} and more")
}

/// batch, m, k and n of a product by an operator of that name.
fn sizes_of(name: &str, shapes: &[&[usize]]) -> Result<[usize; 4], Error> {
    let [a, b] = inputs(name, shapes)?;
    let [batch, m, k] = dims(format_args!("{name}: a"), a, "batch × m × k")?;
    let [_, rows, n] = dims(format_args!("{name}: b"), b, "batch × k × n")?;
    if rows != k {
        return Err(Error::shape(format!(
            "{name}: a has {k} columns and b {rows} rows; they must be as many"
        )));
    }
    if k == 0 {
        return Err(Error::shape(format!(
            "{name}: the inner dimension k is zero, so there is nothing to sum"
        )));
    }
    Ok([batch, m, k, n])
}

/// A·B of a batch of matrices of those sizes, on the current pool.
fn multiply([batch, m, k, n]: [usize; 4], a: &[f32], b: &[f32], out: &mut [f32]) {
    if out.is_empty() {
        return;
    }
    let blocking = host::Blocking::at(a.len() + b.len());
    let one = |item: usize, out: &mut [f32], on_pool: bool| {
        let a = &a[item * m * k..][..m * k];
        let b = &b[item * k * n..][..k * n];
        host::multiply(product::Product { a, b, k, n }, blocking, out, on_pool);
    };
    let each = m * n;
    let multiply_adds = each.saturating_mul(k);
    let pieces = host::pieces(multiply_adds);
    // Small products run concurrently, several to a piece; for large products all threads share one
    // after the other. Remaining products are divided one by one if they are few and each thread
    // has a piece: the more threads share one, the more of its time goes to waking and waiting.
    let threads = breakeven_machine::pool_threads();
    let left = batch % threads;
    let shared = match pieces {
        0..=1 => 0,
        LARGE.. => batch,
        _ if batch == 1 || left * left < threads && pieces >= threads => left,
        _ => 0,
    };
    let (side_by_side, rest) = out.split_at_mut((batch - shared) * each);
    let lot = each.saturating_mul(host::products_per_piece(multiply_adds));
    let work = side_by_side.len().div_ceil(lot) * pieces.max(1);
    BATCHES.run(work, |on_pool| {
        parallel::pieces_on(on_pool, side_by_side, Cut::into(lot), |start, out| {
            for (item, out) in (start / each..).zip(out.chunks_mut(each)) {
                one(item, out, false);
            }
        });
    });
    for (item, out) in (batch - shared..).zip(rest.chunks_mut(each)) {
        SHARING.run(pieces, |on_pool| one(item, out, on_pool));
    }
}

impl Operator for MatrixMultiply {
    type In = f32;
    type Out = f32;

    fn name(&self) -> &str {
        "matrix_multiply"
    }

    fn output_shape(&self, shapes: &[&[usize]]) -> Result<Vec<usize>, Error> {
        let [batch, m, _, n] = sizes(shapes)?;
        Ok(vec![batch, m, n])
    }

    fn flops(&self, shapes: &[&[usize]]) -> u64 {
        let dims = sizes(shapes).unwrap_or_default().into_iter();
        dims.fold(2, |all: u64, dim| all.saturating_mul(dim as u64))
    }

    fn cpu(&self, views: &[View<'_, f32>], out: &mut [f32]) -> Result<(), Error> {
        let [a, b] = inputs(self.name(), views)?;
        multiply(sizes(&[a.shape, b.shape])?, a.values, b.values, out);
        Ok(())
    }

    fn host_tunables(&self) -> Vec<&'static HostTunable> {
        vec![&host::STRIP, &host::DEPTH, &host::COLUMNS]
    }

    #[cfg(feature = "gpu")]
    fn device(&self) -> Option<&dyn crate::gpu::DeviceForm> {
        Some(self)
    }
}

#[cfg(feature = "gpu")]
mod product_kernels;
