//! The GPU form: a unit computes the four gates of one hidden unit for a few
//! items at once, so that a weight is read once for all of them, and then h' and
//! c'. Neighbours are hidden units of one block, whose weights lie side by side.
//!
//! A cube has few hidden units and many items: the weights that its first units bring into the
//! cache beside shared memory serve the others. A cube of 256 units with 8 items each fetches
//! those of 32 hidden units for 64 items, 12 bytes for 32 multiply-adds of a unit, instead of
//! those of 256 for 8, which took 130.

use cubecl::prelude::*;

use super::{GATES, LstmCell};
use crate::activation::activation_kernels::{self, hyperbolic_tangent, logistic};
use crate::cube_sizes;
use crate::error::DeviceError;
use crate::gpu::{DeviceForm, Gpu, Launch, Properties, as_u32, grid, with_client};
use crate::operator::Operator;
use crate::tune::{Configuration, Space, Tunable, source_number};
use breakeven_profile::profile::DeviceWork;

const UNITS: u32 = 256;

/// Hidden units of a cube, at most: their weights of a gate are a line of the cache.
const ACROSS: u32 = 32;

/// Items per unit, if the batch is large enough to fill a device with units that take this many: 32
/// multiply-adds then take six loads.
const ITEMS: u32 = 8;

/// Units that keep a multiprocessor busy, each with 32 sums that do not wait for each other: two
/// planes for each of its four schedulers.
const BUSY: usize = 256;

/// Adds to the gates' sums the products of `len` vectors of each item with the
/// weights from `start` on. Past the end of the batch the last item is computed again.
#[cube]
fn add_products<N: Size>(
    sums: &mut Array<f32>,
    values: &Array<Vector<f32, N>>,
    weights: &Array<f32>,
    first: u32,
    batch: u32,
    len: u32,
    start: u32,
    #[comptime] lanes: u32,
    #[comptime] items: u32,
) {
    let gates = comptime!(GATES as u32);
    let mut at = start;
    let mut of_items = Array::<Vector<f32, N>>::new(comptime!(items as usize));
    for term in 0..len {
        #[unroll]
        for item in 0..items {
            let from = u32::min(first + item, batch - 1u32);
            of_items[item as usize] = values[(from * len + term) as usize];
        }
        #[unroll]
        for part in 0..N::value() {
            #[unroll]
            for gate in 0..gates {
                let weight = weights[(at + gate * lanes) as usize];
                #[unroll]
                for item in 0..items {
                    let value = of_items[item as usize][part];
                    sums[(item * gates + gate) as usize] += weight * value;
                }
            }
            at += gates * lanes;
        }
    }
}

#[cube(launch_unchecked)]
fn step<I: Size, H: Size>(
    input: &Array<Vector<f32, I>>,
    state: &Array<Vector<f32, H>>,
    cell: &Array<f32>,
    weights: &Array<f32>,
    biases: &Array<f32>,
    out: &mut Array<f32>,
    batch: u32,
    inputs: u32,
    hidden: u32,
    #[comptime] lanes: u32,
    #[comptime] items: u32,
    #[comptime] across: u32,
) {
    let columns = hidden.div_ceil(across);
    let cube = CUBE_POS as u32;
    let unit = cube % columns * across + UNIT_POS_X % across;
    let first = (cube / columns * (CUBE_DIM_X / across) + UNIT_POS_X / across) * items;
    if first < batch && unit < hidden {
        let block = unit / lanes;
        let lane = unit % lanes;
        let gates = comptime!(GATES as u32);
        let mut sums = Array::<f32>::new(comptime!((items * GATES as u32) as usize));
        #[unroll]
        for gate in 0..gates {
            let bias = biases[((block * gates + gate) * lanes + lane) as usize];
            #[unroll]
            for item in 0..items {
                sums[(item * gates + gate) as usize] = bias;
            }
        }
        let start = block * (inputs + hidden) * gates * lanes + lane;
        let vectors = inputs / I::value() as u32;
        add_products(
            &mut sums, input, weights, first, batch, vectors, start, lanes, items,
        );
        let start = start + inputs * gates * lanes;
        let vectors = hidden / H::value() as u32;
        add_products(
            &mut sums, state, weights, first, batch, vectors, start, lanes, items,
        );
        #[unroll]
        for item in 0..items {
            if first + item < batch {
                let old = cell[((first + item) * hidden + unit) as usize];
                let kept = logistic(sums[(item * gates + 1u32) as usize]) * old;
                let added = logistic(sums[(item * gates) as usize])
                    * hyperbolic_tangent(sums[(item * gates + 2u32) as usize]);
                let new = kept + added;
                let to = (first + item) * 2u32 * hidden + unit;
                out[to as usize] =
                    logistic(sums[(item * gates + 3u32) as usize]) * hyperbolic_tangent(new);
                out[(to + hidden) as usize] = new;
            }
        }
    }
}

/// Terms of a load: 128 bits if every item is aligned for them.
fn lanes_of(len: usize) -> usize {
    if len.is_multiple_of(4) { 4 } else { 1 }
}

impl LstmCell {
    /// Hidden units of a cube.
    fn across(&self) -> u32 {
        let hidden = u32::try_from(self.hidden).unwrap_or(u32::MAX);
        hidden.min(ACROSS).next_power_of_two()
    }
}

/// Instructions of the gates and the state of an item, in multiply-adds: five exponentials and
/// five reciprocals of eight each (16 lanes a cycle), 20 for the rest.
const GATE_INSTRUCTIONS: u64 = 100;

impl DeviceForm for LstmCell {
    /// Of a unit and a term: four multiply-adds per item, four weights and their place; of a vector
    /// of terms a load per item and its place, and the loop. The values of an item are one word
    /// for all units of a plane, which take a cycle as a word for each.
    fn counts(
        &self,
        _: &Properties,
        inputs: &[&[usize]],
        configuration: &Configuration,
    ) -> Option<DeviceWork> {
        let batch = self.batch(inputs).ok()?;
        let items = u64::from(configuration.get("items")?);
        let units = (batch.div_ceil(items as usize) * self.hidden) as u64;
        let gates = GATES as u64;
        let of = |terms: usize| {
            let vectors = (terms / lanes_of(terms)) as u64;
            let terms = terms as u64;
            [
                terms * (gates * items + gates + 2) + vectors * (3 * items + 4),
                terms * gates + vectors * items,
            ]
        };
        let [of_inputs, of_state] = [of(self.inputs), of(self.hidden)];
        Some(DeviceWork {
            bytes: self.work(inputs).bytes,
            accesses: units * (of_inputs[1] + of_state[1] + 3 * items),
            instructions: units * (of_inputs[0] + of_state[0] + GATE_INSTRUCTIONS * items),
            ..DeviceWork::default()
        })
    }

    fn space(&self, gpu: &Gpu, inputs: &[&[usize]]) -> Space {
        let units = inputs[0][0] * self.hidden / ITEMS as usize;
        let is_full = gpu.properties().is_filled_by(units, BUSY);
        Space {
            source: const { source_number(include_bytes!("lstm_kernels.rs")) }
                ^ activation_kernels::SOURCE,
            variant: format!("{} inputs, {} hidden", self.inputs, self.hidden),
            tunables: vec![
                Tunable::new("units", UNITS, cube_sizes(gpu, 32)),
                Tunable::new("items", if is_full { ITEMS } else { 1 }, [1, 2, 4, 8]),
            ],
        }
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let items = self.batch(launch.shapes)?;
        // The kernel counts positions in 32 bits.
        as_u32("lstm_cell: the input", items * self.inputs)?;
        as_u32("lstm_cell: the weights", self.weights.len())?;
        as_u32("lstm_cell: the output", items * 2 * self.hidden)?;
        let batch = as_u32("batch", items)?;
        let inputs = as_u32("inputs", self.inputs)?;
        let hidden = as_u32("hidden units", self.hidden)?;
        let lanes = as_u32("lanes", self.lanes)?;
        let [units, together] = [launch.tuned("units")?, launch.tuned("items")?];
        let across = self.across();
        let (columns, down) = (hidden.div_ceil(across), units / across);
        let groups = items.div_ceil(together as usize).div_ceil(down as usize);
        let count = grid(groups * columns as usize, 1);
        with_client!(launch.gpu, client => {
            // SAFETY: the buffers hold the elements of their shapes; units past the last
            // hidden unit of the last item do nothing, and items past the batch are
            // neither read nor written.
            unsafe {
                step::launch_unchecked(
                    client, count, CubeDim::new_1d(units), lanes_of(self.inputs), lanes_of(self.hidden),
                    launch.inputs[0].array(), launch.inputs[1].array(), launch.inputs[2].array(),
                    launch.parameters[0].array(), launch.parameters[1].array(),
                    launch.output.array(), batch, inputs, hidden, lanes, together, across,
                );
            }
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::described::H200;

    #[test]
    fn a_term_is_counted_for_all_items_of_a_unit() {
        let [inputs, hidden] = [4, 2];
        let zeros = |len: usize| vec![0.0; len];
        let [of_input, of_hidden, bias] =
            [4 * hidden * inputs, 4 * hidden * hidden, 4 * hidden].map(zeros);
        let cell =
            LstmCell::new(&of_input, &of_hidden, &bias, &bias, [inputs, hidden]).expect("a cell");
        assert_eq!(cell.across(), 2);
        let shapes: [&[usize]; 3] = [&[16, 4], &[16, 2], &[16, 2]];
        let configuration = Configuration::from([("units", 256), ("items", 8)]);
        let work = DeviceForm::counts(&cell, &H200, &shapes, &configuration).expect("counted");
        // Four units; four terms in a vector, and two that are each one.
        let each = 4 * (32 + 6) + (24 + 4) + 2 * (32 + 6 + 24 + 4) + 800;
        assert_eq!(work.instructions, 4 * each);
        assert_eq!(work.accesses, 4 * ((16 + 8) + (8 + 16) + 24));
    }
}
