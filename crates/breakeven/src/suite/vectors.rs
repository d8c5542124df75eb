//! `vector_add`, `vector_add_batch` and `dot_product`.

#[cfg(feature = "gpu")]
use std::sync::Arc;

use super::batch::TaskKernel;
use super::inputs::{pairs, uniform};
use super::measure::Problem;
use super::table::{Input, Scales, Shape, SuiteKernel};
use crate::error::Error;
#[cfg(feature = "gpu")]
use crate::gpu::{Gpu, KernelExecutor};
use crate::kernels::{DotProduct, Kernel, VectorAdd};

/// Elements of the default vector.
const VECTOR: usize = 100_000;

/// One vector.
const ONE: Shape = Shape {
    batch: 1,
    rows: 1,
    columns: VECTOR,
};

/// The same in a hundred pieces.
const PIECES: Shape = Shape {
    batch: 100,
    rows: 1,
    columns: VECTOR / 100,
};

const MANY: Shape = Shape { batch: 32, ..ONE };

/// `vector_add`: one long sum, or many short ones.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sums;

/// `vector_add_batch`: sums of long vectors.
#[derive(Debug, Clone, Copy)]
pub(super) struct LongSums;

/// `dot_product`: one long product, or many short ones.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dots;

type Pair = (Vec<f32>, Vec<f32>);

fn item(shape: Shape) -> String {
    format!("{} elements", shape.columns)
}

/// Of one vector, its length alone.
fn text(shape: Shape) -> String {
    match shape.batch {
        1 => item(shape),
        batch => format!("{batch} × {}", item(shape)),
    }
}

fn sum(shape: Shape) -> Result<Box<dyn Problem>, Error> {
    let all = shape.batch * shape.columns;
    let sum = VectorAdd::new(uniform(all, 1), uniform(all, 2), shape.batch)?;
    Ok(Box::new(sum))
}

impl SuiteKernel for Sums {
    type Tasks = Self;
    const NAME: &'static str = "vector_add";
    const WORKLOAD: Shape = ONE;
    const SCALES: Scales = Scales::Length;
    const TASKS: Shape = PIECES;

    fn item(shape: Shape) -> String {
        item(shape)
    }

    fn text(shape: Shape) -> String {
        text(shape)
    }

    fn values(shape: Shape) -> u64 {
        shape.elements().saturating_mul(3)
    }

    fn problem(shape: Shape, _: &Input) -> Result<Box<dyn Problem>, Error> {
        sum(shape)
    }

    fn tasks(shape: Shape) -> Vec<Pair> {
        pairs(shape, [1, 2], |values| values)
    }
}

impl TaskKernel for Sums {
    type Task = Pair;
    type Element = f32;

    fn on_cpu(task: &Pair) -> Result<Vec<f32>, Error> {
        Ok(VectorAdd::of(std::slice::from_ref(task))?.cpu())
    }

    #[cfg(feature = "gpu")]
    fn on_gpu(gpu: Arc<Gpu>) -> Result<KernelExecutor<Pair, Vec<f32>>, Error> {
        Ok(KernelExecutor::vector_add(gpu))
    }
}

impl SuiteKernel for LongSums {
    type Tasks = Sums;
    const NAME: &'static str = "vector_add_batch";
    const WORKLOAD: Shape = MANY;
    const TASKS: Shape = MANY;

    fn item(shape: Shape) -> String {
        item(shape)
    }

    fn text(shape: Shape) -> String {
        text(shape)
    }

    fn values(shape: Shape) -> u64 {
        Sums::values(shape)
    }

    fn problem(shape: Shape, _: &Input) -> Result<Box<dyn Problem>, Error> {
        sum(shape)
    }

    fn tasks(shape: Shape) -> Vec<Pair> {
        Sums::tasks(shape)
    }
}

impl SuiteKernel for Dots {
    type Tasks = Self;
    const NAME: &'static str = "dot_product";
    const WORKLOAD: Shape = ONE;
    const SCALES: Scales = Scales::Length;
    const TASKS: Shape = PIECES;

    fn item(shape: Shape) -> String {
        item(shape)
    }

    fn text(shape: Shape) -> String {
        text(shape)
    }

    fn values(shape: Shape) -> u64 {
        let inputs = shape.elements().saturating_mul(2);
        inputs.saturating_add(shape.batch as u64)
    }

    fn problem(shape: Shape, _: &Input) -> Result<Box<dyn Problem>, Error> {
        let all = shape.batch * shape.columns;
        let product = DotProduct::new(uniform(all, 5), uniform(all, 6), shape.batch)?;
        Ok(Box::new(product))
    }

    fn tasks(shape: Shape) -> Vec<Pair> {
        pairs(shape, [5, 6], |values| values)
    }
}

impl TaskKernel for Dots {
    type Task = Pair;
    type Element = f32;

    fn on_cpu(task: &Pair) -> Result<Vec<f32>, Error> {
        Ok(DotProduct::of(std::slice::from_ref(task))?.cpu())
    }

    #[cfg(feature = "gpu")]
    fn on_gpu(gpu: Arc<Gpu>) -> Result<KernelExecutor<Pair, Vec<f32>>, Error> {
        Ok(KernelExecutor::dot_product(gpu))
    }
}
