//! The GPU form: a unit computes the four gates of one hidden unit for a few
//! items at once, so that a weight is read once for all of them, and then h' and
//! c'. Neighbours are hidden units of one block, whose weights lie side by side.

use cubecl::prelude::*;

use super::{GATES, LstmCell};
use crate::activation::activation_kernels::{self, hyperbolic_tangent, logistic};
use crate::cube_sizes;
use crate::error::DeviceError;
use crate::gpu::{DeviceForm, Gpu, Launch, as_u32, grid, with_client};
use crate::tune::{Space, Tunable, source_number};

const UNITS: u32 = 128;

/// Items per unit, if the batch is large enough to fill a device with units that take this many: 32
/// multiply-adds then take six loads.
const ITEMS: u32 = 8;

/// Hidden units of all items from which on a unit takes [`ITEMS`].
const FULL: usize = 256 * 1024;

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
) {
    let position = ABSOLUTE_POS as u32;
    let unit = position % hidden;
    let first = position / hidden * items;
    if first < batch {
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

impl DeviceForm for LstmCell {
    fn space(&self, gpu: &Gpu, inputs: &[&[usize]]) -> Space {
        let is_full = inputs[0][0] * self.hidden >= FULL;
        Space {
            source: const { source_number(include_bytes!("lstm_kernels.rs")) }
                ^ activation_kernels::SOURCE,
            variant: format!("{} inputs, {} hidden", self.inputs, self.hidden),
            tunables: vec![
                Tunable::new("units", UNITS, cube_sizes(gpu, 32)),
                Tunable::new("items", if is_full { ITEMS } else { 1 }, [2, 4, 8]),
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
        // 128-bit loads if every item is aligned for them.
        let vector = |len: usize| if len.is_multiple_of(4) { 4 } else { 1 };
        let groups = items.div_ceil(together as usize);
        let count = grid(groups * self.hidden, units);
        with_client!(launch.gpu, client => {
            // SAFETY: the buffers hold the elements of their shapes; units past the last
            // hidden unit of the last item do nothing, and items past the batch are
            // neither read nor written.
            unsafe {
                step::launch_unchecked(
                    client, count, CubeDim::new_1d(units), vector(self.inputs), vector(self.hidden),
                    launch.inputs[0].array(), launch.inputs[1].array(), launch.inputs[2].array(),
                    launch.parameters[0].array(), launch.parameters[1].array(),
                    launch.output.array(), batch, inputs, hidden, lanes, together,
                );
            }
        });
        Ok(())
    }
}
