//! The CPU form: the four gates of a vector of hidden units for a few items at a time, accumulated
//! in registers and turned into h' and c' in place.

use pulp::{Arch, Simd, WithSimd};

use super::super::activation::{logistic, tanh};
use super::super::parallel::{self, Cut};
use super::super::sharing::Sharing;
use super::GATES;

/// Multiply-adds of a piece at least.
const PIECE: usize = 1024 * 1024;

static SHARING: Sharing = Sharing::new();

/// Most items of a piece: their inputs stay in L1 together with a block of weights.
const MOST_ITEMS: usize = 48;

/// The most lanes that a vector of any CPU has.
const MOST_LANES: usize = 16;

/// One step of a batch of cells, with the weights of [`LstmCell`](super::LstmCell).
pub(super) struct Step<'s> {
    pub(super) inputs: usize,
    pub(super) hidden: usize,
    pub(super) lanes: usize,
    pub(super) weights: &'s [f32],
    pub(super) biases: &'s [f32],
    pub(super) input: &'s [f32],
    pub(super) state: &'s [f32],
    pub(super) cell: &'s [f32],
}

pub(super) fn run(step: &Step<'_>, out: &mut [f32]) {
    let row = 2 * step.hidden;
    let products = (step.inputs + step.hidden) * GATES * step.hidden;
    let arch = Arch::new();
    let batch = out.len() / row;
    let items = batch
        .div_ceil(breakeven_machine::pool_threads())
        .min(MOST_ITEMS)
        .max(PIECE.div_ceil(products));
    let tile = arch.dispatch(Tile);
    let cut = Cut {
        most: items.next_multiple_of(tile) * row,
        unit: tile * row,
    };
    parallel::for_pieces(&SHARING, out, cut, |start, out| {
        let first = start / row;
        arch.dispatch(Items { step, first, out });
    });
}

/// Items whose gates fit the registers together with one row of weights. With six, AVX-512's
/// 32 have one to spare, and the compiler keeps the sums in memory: four times as slow.
struct Tile;

impl WithSimd for Tile {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        if S::REGISTER_COUNT >= 32 { 5 } else { 3 }
    }
}

/// Consecutive items of the batch and their slice of the output.
struct Items<'c, 'o> {
    step: &'c Step<'c>,
    first: usize,
    out: &'o mut [f32],
}

impl WithSimd for Items<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match Tile.with_simd(simd) {
            5 => self.tiles::<S, 5>(simd),
            _ => self.tiles::<S, 3>(simd),
        }
    }
}

impl Items<'_, '_> {
    #[inline(always)]
    fn tiles<S: Simd, const TILE: usize>(self, simd: S) {
        let Self {
            step: all,
            first,
            out,
        } = self;
        let (inputs, hidden) = (all.inputs, all.hidden);
        let terms = inputs + hidden;
        let count = out.len() / (2 * hidden);
        // Inputs and states of each tile side by side, term by term; the last
        // tile is filled up with zeros.
        let mut sides = vec![0.0; count.div_ceil(TILE) * terms * TILE];
        for item in 0..count {
            let from = first + item;
            let to = (item / TILE) * terms * TILE + item % TILE;
            let input = &all.input[from * inputs..][..inputs];
            let state = &all.state[from * hidden..][..hidden];
            let side = sides[to..].iter_mut().step_by(TILE);
            for (to, value) in side.zip(input.iter().chain(state)) {
                *to = *value;
            }
        }
        assert_eq!(all.lanes, S::F32_LANES, "one CPU, one width");
        let (weights, _) = S::as_simd_f32s(all.weights);
        let (biases, _) = S::as_simd_f32s(all.biases);
        let blocks = weights.chunks_exact(terms * GATES);
        for (block, (weights, biases)) in blocks.zip(biases.as_chunks::<GATES>().0).enumerate() {
            let unit = block * S::F32_LANES;
            let lanes = S::F32_LANES.min(hidden - unit);
            for (tile, side) in sides.chunks_exact(terms * TILE).enumerate() {
                let gates = gates::<S, TILE>(simd, weights, biases, side);
                let items = tile * TILE..count.min((tile + 1) * TILE);
                for (item, gates) in items.zip(&gates) {
                    let cells = &all.cell[(first + item) * hidden + unit..][..lanes];
                    let (h, c) = out[item * 2 * hidden..][..2 * hidden].split_at_mut(hidden);
                    let (h, c) = (&mut h[unit..][..lanes], &mut c[unit..][..lanes]);
                    step::<S>(gates, cells, h, c);
                }
            }
        }
    }
}

/// The gates of one block of hidden units for one tile of items.
#[inline(always)]
fn gates<S: Simd, const TILE: usize>(
    simd: S,
    weights: &[S::f32s],
    biases: &[S::f32s; GATES],
    side: &[f32],
) -> [[S::f32s; GATES]; TILE] {
    let mut sums = [*biases; TILE];
    let terms = side.as_chunks::<TILE>().0;
    for (weights, values) in weights.as_chunks::<GATES>().0.iter().zip(terms) {
        // One weight at a time: with the tile's values and sums, as many as
        // there are registers.
        let values = values.map(|value| simd.splat_f32s(value));
        for (gate, weight) in weights.iter().enumerate() {
            for (sums, value) in sums.iter_mut().zip(values) {
                sums[gate] = simd.mul_add_e_f32s(*weight, value, sums[gate]);
            }
        }
    }
    sums
}

/// From gates to the new state; `cell`, `h` and `c` may be shorter than a vector.
#[inline(always)]
fn step<S: Simd>(gates: &[S::f32s; GATES], cell: &[f32], h: &mut [f32], c: &mut [f32]) {
    let gates: &[f32] = bytemuck::cast_slice(gates);
    let mut old = [0.0; MOST_LANES];
    old[..cell.len()].copy_from_slice(cell);
    let mut new = [[0.0; MOST_LANES]; 2];
    for lane in 0..S::F32_LANES {
        let gate = |index: usize| gates[index * S::F32_LANES + lane];
        let state = logistic(gate(1)) * old[lane] + logistic(gate(0)) * tanh(gate(2));
        new[0][lane] = logistic(gate(3)) * tanh(state);
        new[1][lane] = state;
    }
    h.copy_from_slice(&new[0][..h.len()]);
    c.copy_from_slice(&new[1][..c.len()]);
}
