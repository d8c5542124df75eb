//! The weights of a cell, in the order in which they are read.

use pulp::{Arch, Simd, WithSimd};

use super::super::{check_len, shape};
use crate::error::Error;

/// Gates of a hidden unit, in PyTorch's order: i, f, g, o.
pub(super) const GATES: usize = 4;

/// The weights and biases of a cell.
///
/// They are kept as blocks of as many hidden units as a vector of this CPU has
/// lanes; a block holds for each input, then for each hidden unit, its four
/// gates' weights side by side. So the products run through memory once, and
/// all four gates of a unit come out together.
#[derive(Debug, Clone)]
pub struct LstmWeights {
    inputs: usize,
    hidden: usize,
    /// Hidden units of a block; the last one is filled up with zeros.
    lanes: usize,
    /// blocks × (inputs + hidden) × 4 × lanes.
    weights: Vec<f32>,
    /// blocks × 4 × lanes: the sum of both biases.
    biases: Vec<f32>,
}

impl LstmWeights {
    /// `weight_ih` is (4 · hidden) × inputs, `weight_hh` (4 · hidden) × hidden,
    /// both row-major with the rows of gate i first, then f, g and o; `bias_ih`
    /// and `bias_hh` are 4 · hidden. `dims` is `[inputs, hidden]`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Shape`](crate::ErrorKind::Shape) for a length that is not its
    /// shape's, no input or no hidden unit;
    /// [`ErrorKind::TooLarge`](crate::ErrorKind::TooLarge) for sizes past memory.
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
            let dims = [GATES, hidden, columns];
            let expected = shape::product(what, &dims)?;
            check_len(what, values.len(), expected, &shape::text(&dims))?;
        }
        let lanes = Arch::new().dispatch(Lanes);
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
            weights,
            biases,
        })
    }

    /// Inputs of the cell.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Hidden units.
    pub fn hidden(&self) -> usize {
        self.hidden
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        4 * (self.weights.len() + self.biases.len()) as u64
    }

    pub(super) fn lanes(&self) -> usize {
        self.lanes
    }

    /// The blocks of weights, and those of biases.
    pub(super) fn packed(&self) -> [&[f32]; 2] {
        [&self.weights, &self.biases]
    }
}

/// The f32 lanes of this CPU's vectors.
struct Lanes;

impl WithSimd for Lanes {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        S::F32_LANES
    }
}
