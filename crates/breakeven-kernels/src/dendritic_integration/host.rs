//! The CPU form: the sums of all dendrites, then the nonlinearity over all of
//! them at once, then the somas.

use super::super::activation::logistic;
use super::Nonlinearity;

/// Synapses that are summed in f32, in as many running sums as there are lanes;
/// more are added up in f64.
const BLOCK: usize = 1024;

const LANES: usize = 8;

/// Neurons with what arrives at them.
pub(super) struct Neurons<'n> {
    pub(super) inputs: &'n [f32],
    /// Zeros if there is none.
    pub(super) previous_soma: Option<&'n [f32]>,
    pub(super) weights: &'n [f32],
    pub(super) conductances: &'n [f32],
    pub(super) dims: [usize; 3],
    pub(super) nonlinearity: Nonlinearity,
}

/// The somas from `first` of batch × neurons on.
#[inline(always)]
pub(super) fn somas(neurons: &Neurons<'_>, first: usize, out: &mut [f32]) {
    let [count, dendrites, synapses] = neurons.dims;
    let of_neuron = dendrites * synapses;
    let mut potentials = vec![0.0; out.len() * dendrites];
    let of_somas = potentials.chunks_exact_mut(dendrites);
    let inputs = neurons.inputs[first * of_neuron..].chunks_exact(of_neuron);
    let multiply = neurons.nonlinearity == Nonlinearity::Multiplicative;
    for (index, (potentials, inputs)) in of_somas.zip(inputs).enumerate() {
        let neuron = (first + index) % count;
        let weights = neurons.weights[neuron * of_neuron..][..of_neuron].chunks_exact(synapses);
        let synapses = weights.zip(inputs.chunks_exact(synapses));
        for (potential, (weights, inputs)) in potentials.iter_mut().zip(synapses) {
            *potential = if multiply {
                product(weights, inputs)
            } else {
                sum(weights, inputs)
            };
        }
    }
    bend(neurons, first, &mut potentials);
    let potentials = potentials.chunks_exact(dendrites);
    for (index, (soma, potentials)) in out.iter_mut().zip(potentials).enumerate() {
        let neuron = (first + index) % count;
        let conductances = &neurons.conductances[neuron * dendrites..][..dendrites];
        let arrived = conductances.iter().zip(potentials);
        *soma = arrived.fold(0.0, |sum, (g, f)| sum + f64::from(*g) * f64::from(*f)) as f32;
    }
}

/// Passes the sums through the nonlinearity.
#[inline(always)]
fn bend(neurons: &Neurons<'_>, first: usize, potentials: &mut [f32]) {
    match neurons.nonlinearity {
        Nonlinearity::Sigmoid { k, theta } => {
            for s in potentials {
                *s = logistic(k * (*s - theta));
            }
        }
        Nonlinearity::Nmda { mg, v_rest } => {
            let shift = Nonlinearity::mg_shift(mg);
            for s in potentials {
                *s *= Nonlinearity::open_share(v_rest + *s, shift);
            }
        }
        Nonlinearity::BackpropagatingActionPotential { beta } => {
            let Some(previous) = neurons.previous_soma else {
                return;
            };
            let potentials = potentials.chunks_exact_mut(neurons.dims[1]);
            for (potentials, previous) in potentials.zip(&previous[first..]) {
                let gain = 1.0 + beta * previous;
                potentials.iter_mut().for_each(|s| *s *= gain);
            }
        }
        // The product is the nonlinearity.
        Nonlinearity::Multiplicative => {}
    }
}

/// Σ w·x.
#[inline(always)]
fn sum(weights: &[f32], inputs: &[f32]) -> f32 {
    let blocks = weights.chunks(BLOCK).zip(inputs.chunks(BLOCK));
    let sums = blocks.map(|(weights, inputs)| {
        let terms = |sum: f32, (w, x): (&f32, &f32)| sum + w * x;
        in_lanes(weights, inputs, terms, |a, b| a + b)
    });
    sums.fold(0.0_f64, |sum, block| sum + f64::from(block)) as f32
}

/// Π(1 + w·x) − 1. Kept as q = product − 1 throughout, so that small terms are not lost next to the
/// 1: (1 + q)(1 + p) − 1 = q + (p + q·p).
#[inline(always)]
fn product(weights: &[f32], inputs: &[f32]) -> f32 {
    let join = |q: f32, p: f32| q + (p + q * p);
    let blocks = weights.chunks(BLOCK).zip(inputs.chunks(BLOCK));
    let products =
        blocks.map(|(weights, inputs)| in_lanes(weights, inputs, |q, (w, x)| join(q, w * x), join));
    products.fold(0.0_f64, |q, block| {
        q + (f64::from(block) + q * f64::from(block))
    }) as f32
}

/// Folds pairs into several running values, and these into one.
#[inline(always)]
fn in_lanes(
    weights: &[f32],
    inputs: &[f32],
    term: impl Fn(f32, (&f32, &f32)) -> f32,
    join: impl Fn(f32, f32) -> f32,
) -> f32 {
    let mut lanes = [0.0; LANES];
    let (weight_blocks, weights) = weights.as_chunks::<LANES>();
    let (input_blocks, inputs) = inputs.as_chunks::<LANES>();
    for pairs in weight_blocks.iter().zip(input_blocks) {
        for (lane, pair) in lanes.iter_mut().zip(pairs.0.iter().zip(pairs.1)) {
            *lane = term(*lane, pair);
        }
    }
    for (lane, pair) in lanes.iter_mut().zip(weights.iter().zip(inputs)) {
        *lane = term(*lane, pair);
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    let (a, b) = (join(a, e), join(b, f));
    let (c, d) = (join(c, g), join(d, h));
    join(join(a, c), join(b, d))
}
