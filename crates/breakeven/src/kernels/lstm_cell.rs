//! `lstm_cell_forward`: one step of a long short-term memory cell (Hochreiter
//! and Schmidhuber, 1997; with the forget gate of Gers et al., 2000) over a batch.
//!
//! a = W_ih·x + b_ih + W_hh·h + b_hh, of which the four quarters are the gates
//! i = σ(a_i), f = σ(a_f), g = tanh(a_g), o = σ(a_o); then c' = f·c + i·g and
//! h' = o·tanh(c'). Weights and gate order are those of PyTorch's `LSTMCell`.
//! The result is within 1e-4 of float64's as long as Σ|w·x| of a gate stays
//! below some hundreds. A NaN in an item's input or state makes that item's
//! output NaN on the CPU; what NaN and infinity give on a GPU is not promised.
//!
//! A cell runs for many steps with one set of weights, so [`LstmWeights`] are a
//! value of their own: making them brings the weights into the order in which
//! both forms read them, once.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Kernel, Work, batch, check_len, check_output, shape};
use crate::error::Error;

#[cfg(feature = "gpu")]
mod device;
mod host;
mod weights;

pub use weights::LstmWeights;

/// The input and the state of one cell, for [`LstmCell::of`].
#[derive(Debug, Clone, PartialEq)]
pub struct LstmStep {
    /// x: as many values as the weights have inputs.
    pub input: Vec<f32>,
    /// h: the output of the step before, zeros at the first.
    pub hidden: Vec<f32>,
    /// c: the cell's state after the step before, zeros at the first.
    pub cell: Vec<f32>,
}

/// One step of a batch of cells that share their weights.
#[derive(Debug, Clone)]
pub struct LstmCell<'a> {
    input: Cow<'a, [f32]>,
    hidden: Cow<'a, [f32]>,
    cell: Cow<'a, [f32]>,
    batch: usize,
    weights: Arc<LstmWeights>,
}

impl<'a> LstmCell<'a> {
    /// `input` is batch × inputs, `hidden` and `cell` are batch × hidden units.
    /// The output is batch × (2 · hidden units): of each item h', then c'.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Shape`](crate::ErrorKind::Shape) for a length that is not its
    /// shape's, [`ErrorKind::TooLarge`](crate::ErrorKind::TooLarge) for sizes past
    /// memory.
    pub fn new(
        input: impl Into<Cow<'a, [f32]>>,
        hidden: impl Into<Cow<'a, [f32]>>,
        cell: impl Into<Cow<'a, [f32]>>,
        batch: usize,
        weights: impl Into<Arc<LstmWeights>>,
    ) -> Result<Self, Error> {
        let (input, hidden, cell) = (input.into(), hidden.into(), cell.into());
        let weights = weights.into();
        let state = [batch, weights.hidden()];
        for (what, values, dims) in [
            ("lstm_cell: the input", &input, [batch, weights.inputs()]),
            ("lstm_cell: the hidden state", &hidden, state),
            ("lstm_cell: the cell state", &cell, state),
        ] {
            let expected = shape::product(what, &dims)?;
            check_len(what, values.len(), expected, &shape::text(&dims))?;
        }
        shape::product("lstm_cell: the output", &[batch, 2, weights.hidden()])?;
        Ok(Self {
            input,
            hidden,
            cell,
            batch,
            weights,
        })
    }

    /// The same for cells that stand alone.
    ///
    /// # Errors
    ///
    /// As [`new`](LstmCell::new), and
    /// [`ErrorKind::Shape`](crate::ErrorKind::Shape) for cells that differ in shape.
    pub fn of(steps: &'a [LstmStep], weights: impl Into<Arc<LstmWeights>>) -> Result<Self, Error> {
        let joined = |what, values: fn(&LstmStep) -> &[f32]| {
            let parts = steps
                .iter()
                .map(|step| (values(step), [1, values(step).len()]));
            batch::joined(what, parts).map(|(all, _)| all)
        };
        let input = joined("lstm_cell: input", |step| &step.input)?;
        let hidden = joined("lstm_cell: hidden state", |step| &step.hidden)?;
        let cell = joined("lstm_cell: cell state", |step| &step.cell)?;
        Self::new(input, hidden, cell, steps.len(), weights)
    }
}

impl Kernel for LstmCell<'_> {
    type Element = f32;

    fn output_len(&self) -> usize {
        self.batch * 2 * self.weights.hidden()
    }

    fn work(&self) -> Work {
        let units = (self.batch * self.weights.hidden()) as u64;
        let terms = (self.weights.inputs() + self.weights.hidden()) as u64;
        Work {
            items: self.batch as u64,
            elements: 2 * units,
            // Four gates, and the step from gates to state without its
            // exponentials: three products and a sum.
            flops: units.saturating_mul(8 * terms + 4),
            bytes: self.memory_bytes(),
        }
    }

    fn memory_bytes(&self) -> u64 {
        let values = self.input.len() + self.hidden.len() + self.cell.len() + self.output_len();
        4 * values as u64 + self.weights.memory_bytes()
    }

    fn cpu_into(&self, out: &mut [f32]) {
        check_output(out, self.output_len());
        host::run(self, out);
    }

    #[cfg(feature = "gpu")]
    fn device_inputs(&self) -> Vec<&[u8]> {
        let [weights, biases] = self.weights.packed();
        [&self.input[..], &self.hidden, &self.cell, weights, biases]
            .map(bytemuck::cast_slice)
            .to_vec()
    }

    #[cfg(feature = "gpu")]
    fn launch(
        &self,
        gpu: &crate::gpu::Gpu,
        inputs: &[crate::gpu::Buffer],
        output: &crate::gpu::Buffer,
    ) -> Result<(), crate::error::DeviceError> {
        device::launch(self, gpu, inputs, output)
    }
}
