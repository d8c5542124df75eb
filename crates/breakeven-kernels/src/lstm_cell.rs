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
//! A cell runs for many steps with one set of weights: making it brings them into the
//! order in which both forms read them, once.

use super::parallel::f32_lanes;
use super::{dims, inputs};
use crate::error::Error;
use crate::operator::{Operator, Parameter, View};
use crate::tensor::{Tensor, shape};

mod host;
#[cfg(feature = "gpu")]
mod lstm_kernels;

/// Gates of a hidden unit, in PyTorch's order: i, f, g, o.
const GATES: usize = 4;

/// A cell with its weights. Its inputs are x (batch × inputs), h and c (both
/// batch × hidden units), the output and the state of the step before, zeros at the
/// first. The output is batch × 2 × hidden units: of each item h', then c'.
///
/// The weights are kept as blocks of as many hidden units as a vector of this CPU has
/// lanes; a block holds for each input, then for each hidden unit, its four
/// gates' weights side by side. So the products run through memory once, and
/// all four gates of a unit come out together.
#[derive(Debug, Clone)]
pub struct LstmCell {
    inputs: usize,
    hidden: usize,
    /// Hidden units of a block; the last one is filled up with zeros.
    lanes: usize,
    /// blocks × (inputs + hidden) × 4 × lanes.
    weights: Tensor<'static>,
    /// blocks × 4 × lanes: the sum of both biases.
    biases: Tensor<'static>,
}

impl LstmCell {
    /// `weight_ih` is (4 · hidden) × inputs, `weight_hh` (4 · hidden) × hidden,
    /// both row-major with the rows of gate i first, then f, g and o; `bias_ih`
    /// and `bias_hh` are 4 · hidden. `dims` is `[inputs, hidden]`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Shape`](breakeven_types::ErrorKind::Shape) for a length that is not its
    /// shape's, no input or no hidden unit;
    /// [`ErrorKind::TooLarge`](breakeven_types::ErrorKind::TooLarge) for sizes past memory.
    pub fn new(
        weight_ih: &[f32],
        weight_hh: &[f32],
        bias_ih: &[f32],
        bias_hh: &[f32],
        [inputs, hidden]: [usize; 2],
    ) -> Result<Self, Error> {
        if inputs == 0 || hidden == 0 {
            return Err(Error::shape(format!(
                "lstm_cell: {inputs} inputs and {hidden} hidden units; give at least one of each"
            )));
        }
        for (what, values, columns) in [
            ("lstm_cell: weight_ih", weight_ih, inputs),
            ("lstm_cell: weight_hh", weight_hh, hidden),
            ("lstm_cell: bias_ih", bias_ih, 1),
            ("lstm_cell: bias_hh", bias_hh, 1),
        ] {
            shape::check_len(what, values.len(), &[GATES, hidden, columns])?;
        }
        let lanes = f32_lanes();
        let blocks = hidden.div_ceil(lanes);
        let rows = inputs + hidden;
        let all = shape::product("lstm_cell: the weights", &[blocks, lanes, GATES, rows])?;
        let mut weights = vec![0.0; all];
        let mut biases = vec![0.0; blocks * GATES * lanes];
        for unit in 0..hidden {
            let (block, lane) = (unit / lanes, unit % lanes);
            for gate in 0..GATES {
                let from = gate * hidden + unit;
                let to = (block * rows * GATES + gate) * lanes + lane;
                let of_inputs = &weight_ih[from * inputs..][..inputs];
                let of_hidden = &weight_hh[from * hidden..][..hidden];
                for (row, weight) in of_inputs.iter().chain(of_hidden).enumerate() {
                    weights[to + row * GATES * lanes] = *weight;
                }
                biases[(block * GATES + gate) * lanes + lane] = bias_ih[from] + bias_hh[from];
            }
        }
        Ok(Self {
            inputs,
            hidden,
            lanes,
            weights: Tensor::new(weights, &[blocks, rows, GATES, lanes])?,
            biases: Tensor::new(biases, &[blocks, GATES, lanes])?,
        })
    }

    fn batch(&self, shapes: &[&[usize]]) -> Result<usize, Error> {
        let shapes: [&[usize]; 3] = inputs("lstm_cell", shapes)?;
        for (what, found, columns) in [
            ("lstm_cell: the input", shapes[0], self.inputs),
            ("lstm_cell: the hidden state", shapes[1], self.hidden),
            ("lstm_cell: the cell state", shapes[2], self.hidden),
        ] {
            let [_, found] = dims(what, found, "batch × values")?;
            if found != columns {
                return Err(Error::shape(format!(
                    "{what} has {found} values an item; the weights are for {columns}"
                )));
            }
        }
        Ok(shapes[0][0])
    }
}

impl Operator for LstmCell {
    type In = f32;
    type Out = f32;

    fn name(&self) -> &str {
        "lstm_cell_forward"
    }

    fn output_shape(&self, shapes: &[&[usize]]) -> Result<Vec<usize>, Error> {
        Ok(vec![self.batch(shapes)?, 2, self.hidden])
    }

    /// Four gates, and the step from gates to state without its exponentials: three
    /// products and a sum.
    fn flops(&self, shapes: &[&[usize]]) -> u64 {
        let units = shapes.get(1).map_or(0, |hidden| shape::elements(hidden));
        let terms = (self.inputs + self.hidden) as u64;
        units.saturating_mul(8 * terms + 4)
    }

    fn parameters(&self) -> Vec<&dyn Parameter> {
        vec![&self.weights, &self.biases]
    }

    fn cpu(&self, views: &[View<'_, f32>], out: &mut [f32]) -> Result<(), Error> {
        let views: [View<'_, f32>; 3] = inputs(self.name(), views)?;
        let [input, hidden, cell] = views.map(|view| view.values);
        host::run(
            &host::Step {
                inputs: self.inputs,
                hidden: self.hidden,
                lanes: self.lanes,
                weights: self.weights.host()?,
                biases: self.biases.host()?,
                input,
                state: hidden,
                cell,
            },
            out,
        );
        Ok(())
    }

    #[cfg(feature = "gpu")]
    fn device(&self) -> Option<&dyn crate::gpu::DeviceForm> {
        Some(self)
    }
}
