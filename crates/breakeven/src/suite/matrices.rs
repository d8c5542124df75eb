//! `matrix_multiply`.

#[cfg(feature = "gpu")]
use std::sync::Arc;

use super::batch::{TASKS, TaskKernel};
use super::inputs::{pairs, uniform};
use super::measure::Problem;
use super::table::{Input, Shape, SuiteKernel};
use crate::error::Error;
#[cfg(feature = "gpu")]
use crate::gpu::{Gpu, KernelExecutor};
use crate::kernels::{Kernel, Matrix, MatrixMultiply};

const ONE: Shape = Shape {
    batch: 1,
    rows: 256,
    columns: 256,
};

/// `matrix_multiply`: products of pairs of square matrices.
#[derive(Debug, Clone, Copy)]
pub(super) struct Products;

impl SuiteKernel for Products {
    type Tasks = Self;
    const NAME: &'static str = "matrix_multiply";
    const WORKLOAD: Shape = ONE;
    const TASKS: Shape = Shape {
        batch: TASKS,
        ..ONE
    };
    const BUDGET_US: Option<u64> = Some(3_000);

    fn item(shape: Shape) -> String {
        let n = shape.columns;
        format!("({n}×{n} · {n}×{n})")
    }

    fn values(shape: Shape) -> u64 {
        shape.elements().saturating_mul(3)
    }

    fn problem(shape: Shape, _: &Input) -> Result<Box<dyn Problem>, Error> {
        let [batch, size, _] = shape.dims();
        let all = batch * size * size;
        let dims = [batch, size, size, size];
        let product = MatrixMultiply::new(uniform(all, 3), uniform(all, 4), dims)?;
        Ok(Box::new(product))
    }

    fn tasks(shape: Shape) -> Vec<(Matrix, Matrix)> {
        pairs(shape, [3, 4], |values| Matrix {
            rows: shape.rows,
            columns: shape.columns,
            values,
        })
    }
}

impl TaskKernel for Products {
    type Task = (Matrix, Matrix);
    type Element = f32;

    fn on_cpu(task: &Self::Task) -> Result<Vec<f32>, Error> {
        Ok(MatrixMultiply::of(std::slice::from_ref(task))?.cpu())
    }

    #[cfg(feature = "gpu")]
    fn on_gpu(gpu: Arc<Gpu>) -> Result<KernelExecutor<Self::Task, Vec<f32>>, Error> {
        Ok(KernelExecutor::matrix_multiply(gpu))
    }
}
