//! A kernel and its sizes as they come over the wire.

use breakeven::kernels::{
    ArForecast, Connectivity, Conv2d, DendriticIntegration, DotProduct, ImageSegmentation,
    LstmCell, MatrixMultiply, Nonlinearity, PixelEntropy, TensorCoreMatmul, VectorAdd,
};
use breakeven::{Error, Tensor};
use serde::Deserialize;

use super::side::{Outcome, Side, Solve};

/// A kernel and its sizes, as its constructor takes them.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", tag = "kernel")]
pub(crate) enum Problem {
    VectorAdd {
        batch: usize,
    },
    DotProduct {
        batch: usize,
    },
    MatrixMultiply {
        dims: [usize; 4],
    },
    TensorCoreMatmul {
        dims: [usize; 4],
    },
    Conv2d {
        dims: [usize; 3],
        filter_dims: [usize; 2],
        padding: usize,
    },
    PixelEntropy {
        dims: [usize; 3],
        window: usize,
    },
    ImageSegmentation {
        dims: [usize; 3],
        threshold: f32,
    },
    ArForecast {
        dims: [usize; 2],
        lags: usize,
        steps: usize,
    },
    LstmCellForward {
        dims: [usize; 3],
    },
    DendriticIntegration {
        dims: [usize; 4],
        mg: f32,
        v_rest: f32,
    },
}

impl Problem {
    /// The kernel on its inputs, held where it will run.
    pub(crate) fn on(self, side: &Side, inputs: Vec<Vec<f32>>) -> Outcome<Box<dyn Solve>> {
        let mut given = inputs.into_iter();
        let mut values = || given.next().unwrap_or_default();
        let vectors = |batch: usize, values: [Vec<f32>; 2]| -> Result<Vec<_>, Error> {
            let shape = [batch, values[0].len() / batch.max(1)];
            let tensors = values.into_iter().map(|values| Tensor::new(values, &shape));
            tensors.collect()
        };
        let matrices = |[batch, m, k, n]: [usize; 4], [a, b]: [Vec<f32>; 2]| {
            Ok::<_, Error>(vec![
                Tensor::new(a, &[batch, m, k])?,
                Tensor::new(b, &[batch, k, n])?,
            ])
        };
        match self {
            Self::VectorAdd { batch } => {
                side.hold(VectorAdd, vectors(batch, [values(), values()])?)
            }
            Self::DotProduct { batch } => {
                side.hold(DotProduct, vectors(batch, [values(), values()])?)
            }
            Self::MatrixMultiply { dims } => {
                side.hold(MatrixMultiply, matrices(dims, [values(), values()])?)
            }
            Self::TensorCoreMatmul { dims } => {
                side.hold(TensorCoreMatmul, matrices(dims, [values(), values()])?)
            }
            Self::Conv2d {
                dims,
                filter_dims,
                padding,
            } => {
                let images = Tensor::new(values(), &dims)?;
                let edges = Conv2d::new(Tensor::new(values(), &filter_dims)?, 1, padding)?;
                side.hold(edges, vec![images])
            }
            Self::PixelEntropy { dims, window } => side.hold(
                PixelEntropy::new(window)?,
                vec![Tensor::new(values(), &dims)?],
            ),
            Self::ImageSegmentation { dims, threshold } => {
                let segments = ImageSegmentation::new(threshold, Connectivity::Four)?;
                side.hold(segments, vec![Tensor::new(values(), &dims)?])
            }
            Self::ArForecast { dims, lags, steps } => side.hold(
                ArForecast::new(lags, steps)?,
                vec![Tensor::new(values(), &dims)?],
            ),
            Self::LstmCellForward {
                dims: [batch, inputs, hidden],
            } => {
                let state = [batch, hidden];
                let steps = vec![
                    Tensor::new(values(), &[batch, inputs])?,
                    Tensor::new(values(), &state)?,
                    Tensor::new(values(), &state)?,
                ];
                let [of_input, of_hidden] = [values(), values()];
                let [bias, other] = [values(), values()];
                let shape = [inputs, hidden];
                let cell = LstmCell::new(&of_input, &of_hidden, &bias, &other, shape)?;
                side.hold(cell, steps)
            }
            Self::DendriticIntegration { dims, mg, v_rest } => {
                let rule = Nonlinearity::Nmda { mg, v_rest };
                let inputs = Tensor::new(values(), &dims)?;
                let (weights, conductances) = (
                    Tensor::new(values(), &dims[1..])?,
                    Tensor::new(values(), &dims[1..3])?,
                );
                let neurons = DendriticIntegration::new(weights, conductances, rule)?;
                side.hold(neurons, vec![inputs])
            }
        }
    }
}
