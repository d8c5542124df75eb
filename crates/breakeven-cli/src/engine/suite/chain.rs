//! Chains of the suite's kernels.

use std::sync::Arc;

use breakeven::{Chain, Error, Tensor};

use super::rows::row;
use super::sweep::Over;
use super::table::{Made, Shape, with_operator};

/// A chain, and its input.
pub(crate) struct Chained {
    pub(crate) made: Made,
    pub(crate) inputs: Vec<Tensor<'static>>,
    /// The input in words.
    pub(crate) text: String,
}

impl Chained {
    /// Builds the chain of these kernels, on `items` items of that size.
    pub(crate) fn new(
        kernels: &[String],
        size: Option<usize>,
        items: usize,
    ) -> Result<Self, Error> {
        let Some((first, next)) = kernels.split_first() else {
            return Err(Error::invalid("a chain of no kernel"));
        };
        let row_of_first = row(first, 1)?;
        let shape = match size {
            Some(size) => row_of_first.at(Over::Size, size)?,
            None => row_of_first.workload,
        };
        let shape = shape.with_batch(items);
        let inputs = row_of_first.fill(shape)?;
        let mut made = (row_of_first.operator)(shape)?;
        for kernel in next {
            let row = row(kernel, 1)?;
            let stage = (row.operator)(Shape {
                window: row.workload.window,
                ..shape
            })?;
            made = after(made, stage, kernel)?;
        }
        let shapes: Vec<&[usize]> = inputs.iter().map(Tensor::shape).collect();
        with_operator!(&made, operator => operator.output_shape(&shapes))?;
        Ok(Self {
            inputs,
            text: row_of_first.text(shape),
            made,
        })
    }
}

fn after(before: Made, stage: Made, kernel: &str) -> Result<Made, Error> {
    let Made::Numbers(before) = before else {
        let message = format!("{kernel} cannot follow a kernel whose output is labels");
        return Err(Error::invalid(message));
    };
    let chain = Chain::one(before);
    Ok(match stage {
        Made::Numbers(stage) => Made::numbers(chain.and(stage)),
        Made::Labels(stage) => Made::Labels(Arc::new(chain.and(stage))),
    })
}
