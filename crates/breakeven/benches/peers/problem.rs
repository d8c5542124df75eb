//! A kernel and its sizes as they come over the wire.

use breakeven::kernels::{
    ArForecast, Connectivity, Conv2d, DendriticIntegration, DotProduct, ImageSegmentation,
    LstmCell, LstmWeights, MatrixMultiply, Nonlinearity, PixelEntropy, VectorAdd,
};
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
        let mut inputs = inputs.into_iter();
        let mut next = || inputs.next().unwrap_or_default();
        match self {
            Self::VectorAdd { batch } => side.hold(VectorAdd::new(next(), next(), batch)?),
            Self::DotProduct { batch } => side.hold(DotProduct::new(next(), next(), batch)?),
            Self::MatrixMultiply { dims } => side.hold(MatrixMultiply::new(next(), next(), dims)?),
            Self::Conv2d {
                dims,
                filter_dims,
                padding,
            } => side.hold(Conv2d::new(next(), dims, next(), filter_dims, 1, padding)?),
            Self::PixelEntropy { dims, window } => {
                side.hold(PixelEntropy::new(next(), dims, window)?)
            }
            Self::ImageSegmentation { dims, threshold } => {
                let four = Connectivity::Four;
                side.hold(ImageSegmentation::new(next(), dims, threshold, four)?)
            }
            Self::ArForecast { dims, lags, steps } => {
                side.hold(ArForecast::new(next(), dims, lags, steps)?)
            }
            Self::LstmCellForward {
                dims: [batch, inputs, hidden],
            } => {
                let (input, state, cell) = (next(), next(), next());
                let shape = [inputs, hidden];
                let weights = LstmWeights::new(&next(), &next(), &next(), &next(), shape)?;
                side.hold(LstmCell::new(input, state, cell, batch, weights)?)
            }
            Self::DendriticIntegration { dims, mg, v_rest } => {
                let rule = Nonlinearity::Nmda { mg, v_rest };
                let [inputs, weights, conductances] = [next(), next(), next()];
                side.hold(DendriticIntegration::new(
                    inputs,
                    weights,
                    conductances,
                    dims,
                    rule,
                )?)
            }
        }
    }
}
