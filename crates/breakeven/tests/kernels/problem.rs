//! Kernels on inputs: what the tests hold the forms against each other on.

use std::borrow::Cow;

use breakeven::kernels::{
    ArForecast, Connectivity, Conv2d, DendriticIntegration, DotProduct, ImageSegmentation,
    LstmCell, MatrixMultiply, Nonlinearity, PixelEntropy, VectorAdd,
};
use breakeven::{Error, Operator, Tensor};

/// An operator and inputs that it takes.
#[derive(Debug)]
pub(super) struct Problem<'a, O: Operator> {
    pub(super) operator: O,
    pub(super) inputs: Vec<Tensor<'a, O::In>>,
}

impl<'a, O: Operator> Problem<'a, O> {
    pub(super) fn new(operator: O, inputs: Vec<Tensor<'a, O::In>>) -> Result<Self, Error> {
        let shapes: Vec<_> = inputs.iter().map(Tensor::shape).collect();
        operator.output_shape(&shapes)?;
        Ok(Self { operator, inputs })
    }

    pub(super) fn cpu(&self) -> Vec<O::Out> {
        let output = self.operator.on_cpu(&self.inputs).unwrap();
        output.into_vec().unwrap()
    }

    #[cfg(feature = "gpu")]
    pub(super) fn output_len(&self) -> usize {
        let shapes: Vec<_> = self.inputs.iter().map(Tensor::shape).collect();
        let shape = self.operator.output_shape(&shapes).unwrap();
        shape.iter().product()
    }
}

type Made<'a, O> = Result<Problem<'a, O>, Error>;

/// Values in host memory.
pub(super) type Values<'a> = Cow<'a, [f32]>;

fn rows(values: Values<'_>, batch: usize) -> Result<Tensor<'_>, Error> {
    let each = values.len().checked_div(batch).unwrap_or(0);
    Tensor::new(values, &[batch, each])
}

pub(super) fn vector_add<'a>(
    a: impl Into<Values<'a>>,
    b: impl Into<Values<'a>>,
    batch: usize,
) -> Made<'a, VectorAdd> {
    let inputs = vec![rows(a.into(), batch)?, rows(b.into(), batch)?];
    Problem::new(VectorAdd, inputs)
}

pub(super) fn dot_product<'a>(
    a: impl Into<Values<'a>>,
    b: impl Into<Values<'a>>,
    batch: usize,
) -> Made<'a, DotProduct> {
    let inputs = vec![rows(a.into(), batch)?, rows(b.into(), batch)?];
    Problem::new(DotProduct, inputs)
}

pub(super) fn matrix_multiply<'a>(
    a: impl Into<Values<'a>>,
    b: impl Into<Values<'a>>,
    [batch, m, k, n]: [usize; 4],
) -> Made<'a, MatrixMultiply> {
    let inputs = vec![
        Tensor::new(a, &[batch, m, k])?,
        Tensor::new(b, &[batch, k, n])?,
    ];
    Problem::new(MatrixMultiply, inputs)
}

pub(super) fn conv2d<'a>(
    images: impl Into<Values<'a>>,
    dims: [usize; 3],
    filter: &[f32],
    filter_dims: [usize; 2],
    stride: usize,
    padding: usize,
) -> Made<'a, Conv2d> {
    let filter = Tensor::new(filter.to_vec(), &filter_dims)?;
    let operator = Conv2d::new(filter, stride, padding)?;
    Problem::new(operator, vec![Tensor::new(images, &dims)?])
}

pub(super) fn pixel_entropy<'a>(
    images: impl Into<Values<'a>>,
    dims: [usize; 3],
    window: usize,
) -> Made<'a, PixelEntropy> {
    Problem::new(
        PixelEntropy::new(window)?,
        vec![Tensor::new(images, &dims)?],
    )
}

pub(super) fn image_segmentation<'a>(
    images: impl Into<Values<'a>>,
    dims: [usize; 3],
    threshold: f32,
    connectivity: Connectivity,
) -> Made<'a, ImageSegmentation> {
    let operator = ImageSegmentation::new(threshold, connectivity)?;
    Problem::new(operator, vec![Tensor::new(images, &dims)?])
}

pub(super) fn ar_forecast<'a>(
    series: impl Into<Values<'a>>,
    dims: [usize; 2],
    lags: usize,
    steps: usize,
) -> Made<'a, ArForecast> {
    let operator = ArForecast::new(lags, steps)?;
    Problem::new(operator, vec![Tensor::new(series, &dims)?])
}

pub(super) fn lstm_cell<'a>(
    input: impl Into<Values<'a>>,
    hidden: impl Into<Values<'a>>,
    cell: impl Into<Values<'a>>,
    [batch, inputs, units]: [usize; 3],
    operator: LstmCell,
) -> Made<'a, LstmCell> {
    let state = [batch, units];
    let inputs = vec![
        Tensor::new(input, &[batch, inputs])?,
        Tensor::new(hidden, &state)?,
        Tensor::new(cell, &state)?,
    ];
    Problem::new(operator, inputs)
}

pub(super) fn dendritic_integration<'a>(
    inputs: impl Into<Values<'a>>,
    weights: &[f32],
    conductances: &[f32],
    [batch, neurons, dendrites, synapses]: [usize; 4],
    rule: Nonlinearity,
) -> Made<'a, DendriticIntegration> {
    let weights = Tensor::new(weights.to_vec(), &[neurons, dendrites, synapses])?;
    let conductances = Tensor::new(conductances.to_vec(), &[neurons, dendrites])?;
    let operator = DendriticIntegration::new(weights, conductances, rule)?;
    let inputs = Tensor::new(inputs, &[batch, neurons, dendrites, synapses])?;
    Problem::new(operator, vec![inputs])
}
