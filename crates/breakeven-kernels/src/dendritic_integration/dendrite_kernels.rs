//! The GPU form: a unit for each dendrite, several neurons to a cube; the first
//! units of the cube then add up a neuron's dendrites each.

use cubecl::prelude::*;

use super::{DendriticIntegration, Nonlinearity};
use crate::activation::activation_kernels::{self, logistic};
use crate::cube_sizes;
use crate::error::DeviceError;
use crate::gpu::{DeviceForm, Gpu, Launch, as_u32, grid, with_client};
use crate::tune::{Space, Tunable, source_number};

const UNITS: u32 = 256;

/// Running sums of a unit, added in pairs at the end.
const LANES: usize = 4;

/// A nonlinearity without its parameters: a kernel is compiled for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Rule {
    Sigmoid,
    Nmda,
    Amplify,
    Multiply,
    /// Nothing to amplify by: the sum itself.
    Sum,
}

/// Joins two sums, or two products less 1.
#[cube]
fn join<N: Size>(
    a: Vector<f32, N>,
    b: Vector<f32, N>,
    #[comptime] multiply: bool,
) -> Vector<f32, N> {
    if multiply { a + (b + a * b) } else { a + b }
}

/// Σ w·x of one dendrite, or Π(1 + w·x) − 1; places and `synapses` are counted in
/// vectors. Sums of [`LANES`] lanes, whatever `N` is.
#[cube]
fn integrate<N: Size>(
    inputs: &Array<Vector<f32, N>>,
    weights: &Array<Vector<f32, N>>,
    input: u32,
    weight: u32,
    synapses: u32,
    #[comptime] multiply: bool,
) -> f32 {
    let width = N::value();
    let groups = comptime!((LANES / width) as u32);
    let mut sums = Array::<Vector<f32, N>>::new(comptime!(LANES / width));
    #[unroll]
    for group in 0..groups {
        sums[group as usize] = Vector::new(0.0f32);
    }
    let whole = synapses / groups * groups;
    let mut at = 0u32;
    while at < whole {
        #[unroll]
        for group in 0..groups {
            let term =
                weights[(weight + at + group) as usize] * inputs[(input + at + group) as usize];
            sums[group as usize] = join::<N>(sums[group as usize], term, multiply);
        }
        at += groups;
    }
    while at < synapses {
        let term = weights[(weight + at) as usize] * inputs[(input + at) as usize];
        sums[0] = join::<N>(sums[0], term, multiply);
        at += 1u32;
    }
    let mut lanes = Array::<Vector<f32, Const<1>>>::new(LANES);
    #[unroll]
    for lane in 0..comptime!(LANES) {
        lanes[lane] = Vector::new(sums[comptime!(lane / width)][comptime!(lane % width)]);
    }
    let even = join::<Const<1>>(lanes[0], lanes[2], multiply);
    let odd = join::<Const<1>>(lanes[1], lanes[3], multiply);
    f32::cast_from(join::<Const<1>>(even, odd, multiply))
}

#[cube(launch_unchecked)]
fn integrate_somas<N: Size>(
    inputs: &Array<Vector<f32, N>>,
    weights: &Array<Vector<f32, N>>,
    conductances: &Array<f32>,
    previous: &Array<f32>,
    out: &mut Array<f32>,
    neurons: u32,
    dendrites: u32,
    synapses: u32,
    first: f32,
    second: f32,
    #[comptime] rule: Rule,
    #[comptime] together: u32,
    #[comptime] units: u32,
) {
    let mut arrived = SharedMemory::<f32>::new(comptime!(units as usize));
    let somas = out.len() as u32;
    // Units of a neuron: as many as it has dendrites, or all of the cube.
    let share = u32::min(dendrites, units);
    let local = UNIT_POS_X / share;
    let soma = CUBE_POS as u32 * together + local;
    let mut sum = 0.0f32;
    if local < together && soma < somas {
        let mut dendrite = UNIT_POS_X % share;
        while dendrite < dendrites {
            let of_neuron = soma % neurons * dendrites + dendrite;
            let s = integrate::<N>(
                inputs,
                weights,
                (soma * dendrites + dendrite) * synapses,
                of_neuron * synapses,
                synapses,
                comptime!(rule == Rule::Multiply),
            );
            let mut f = s;
            if comptime!(rule == Rule::Sigmoid) {
                f = logistic(first * (s - second));
            }
            if comptime!(rule == Rule::Nmda) {
                f = s * logistic(0.062f32 * (second + s) - first);
            }
            if comptime!(rule == Rule::Amplify) {
                f = s * (1.0f32 + first * previous[soma as usize]);
            }
            sum += conductances[of_neuron as usize] * f;
            dendrite += units;
        }
    }
    arrived[UNIT_POS_X as usize] = sum;
    sync_cube();
    let soma = CUBE_POS as u32 * together + UNIT_POS_X;
    if UNIT_POS_X < together && soma < somas {
        let mut total = 0.0f32;
        for unit in 0..share {
            total += arrived[(UNIT_POS_X * share + unit) as usize];
        }
        out[soma as usize] = total;
    }
}

impl DeviceForm for DendriticIntegration {
    fn space(&self, gpu: &Gpu, _: &[&[usize]]) -> Space {
        let [neurons, dendrites, synapses] = self.dims;
        Space {
            source: const { source_number(include_bytes!("dendrite_kernels.rs")) }
                ^ activation_kernels::SOURCE,
            variant: format!("{neurons} × {dendrites} × {synapses}"),
            tunables: vec![Tunable::new("units", UNITS, cube_sizes(gpu, 32))],
        }
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let [neurons, dendrites, synapses] = self.dims;
        let [inputs, somas] = [&launch.inputs[0], launch.output].map(|all| all.bytes() / 4);
        // The kernel counts positions in 32 bits.
        as_u32("dendritic_integration: the inputs", inputs)?;
        let neurons = as_u32("neurons", neurons)?;
        let dendrites = as_u32("dendrites", dendrites)?;
        let synapses = as_u32("inputs of a dendrite", synapses)?;
        let (rule, first, second) = match self.nonlinearity {
            Nonlinearity::Sigmoid { k, theta } => (Rule::Sigmoid, k, theta),
            // Without magnesium the shift is −∞, which a shader need not know.
            Nonlinearity::Nmda { mg, v_rest } => (
                Rule::Nmda,
                Nonlinearity::mg_shift(mg).max(f32::MIN / 2.0),
                v_rest,
            ),
            Nonlinearity::BackpropagatingActionPotential { beta } => match launch.inputs.len() {
                2 => (Rule::Amplify, beta, 0.0),
                _ => (Rule::Sum, 0.0, 0.0),
            },
            Nonlinearity::Multiplicative => (Rule::Multiply, 0.0, 0.0),
        };
        let units = launch.tuned("units")?;
        let together = (units / dendrites).max(1);
        let count = grid(somas.div_ceil(together as usize), 1);
        // 128-bit loads if every dendrite is aligned for them.
        let lanes = if synapses.is_multiple_of(4) { 4 } else { 1 };
        // Where nothing is looked back at, any buffer stands in: it is not read.
        let conductances = &launch.parameters[1];
        let previous = launch.inputs.get(1).unwrap_or(conductances);
        with_client!(launch.gpu, client => {
            // SAFETY: the buffers hold the elements of their shapes; units without a soma
            // or a dendrite read and write nothing but their own word of shared memory.
            unsafe {
                integrate_somas::launch_unchecked(
                    client, count, CubeDim::new_1d(units), lanes as usize,
                    launch.inputs[0].array(), launch.parameters[0].array(),
                    conductances.array(), previous.array(), launch.output.array(),
                    neurons, dendrites, synapses / lanes, first, second, rule, together, units,
                );
            }
        });
        Ok(())
    }
}
