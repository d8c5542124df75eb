//! `dendritic_integration`: neurons with nonlinear dendrites. Each dendrite sums
//! its synapses, s = Σ w·x, and passes s through a nonlinearity f; the soma adds
//! what arrives, Σ g·f, by the conductance of each dendrite.
//!
//! Potentials are in mV, concentrations in mM, conductances relative to the
//! soma's. Every synapse has an input of its own; where neurons share inputs,
//! repeat them. NaN and infinity spread to the soma of the neuron whose input
//! or weight they are; which of the two arrives is not promised.

use std::borrow::Cow;

use super::{Kernel, Work, batch, check_len, check_output, parallel, shape};
use crate::error::Error;

#[cfg(feature = "gpu")]
mod device;
mod host;
mod nonlinearity;

pub use nonlinearity::Nonlinearity;

/// Synapses per piece of CPU work.
const SYNAPSES: usize = 64 * 1024;

/// A batch of inputs to a set of neurons.
///
/// ```
/// use breakeven::kernels::{DendriticIntegration, Kernel, Nonlinearity};
///
/// // One neuron, two dendrites of two synapses; each dendrite multiplies.
/// let (inputs, weights) = ([1.0, 1.0, 2.0, 0.0], [1.0, 2.0, 0.5, 9.0]);
/// let dims = [1, 1, 2, 2];
/// let rule = Nonlinearity::Multiplicative;
/// let problem = DendriticIntegration::new(&inputs[..], &weights[..], &[1.0, 0.5][..], dims, rule)?;
/// assert_eq!(problem.cpu(), [5.5]); // 1 · (2·3 − 1) + 0.5 · (2·1 − 1)
/// # Ok::<(), breakeven::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DendriticIntegration<'a> {
    inputs: Cow<'a, [f32]>,
    weights: Cow<'a, [f32]>,
    conductances: Cow<'a, [f32]>,
    /// Of the nonlinearity that looks at it only; zeros until it is given.
    previous_soma: Option<Cow<'a, [f32]>>,
    dims: Dims,
    nonlinearity: Nonlinearity,
}

#[derive(Debug, Clone, Copy)]
struct Dims {
    batch: usize,
    neurons: usize,
    dendrites: usize,
    synapses: usize,
}

impl Dims {
    /// Synapses of one neuron.
    fn of_neuron(&self) -> usize {
        self.dendrites * self.synapses
    }
}

impl<'a> DendriticIntegration<'a> {
    /// `inputs` is batch × neurons × dendrites × inputs (`dims`), `weights`
    /// neurons × dendrites × inputs, `conductances` neurons × dendrites. The
    /// output is the somas' potentials, batch × neurons.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Shape`](crate::ErrorKind::Shape) for a length that is not its
    /// shape's, and for no neuron, dendrite or input;
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for a parameter of the
    /// nonlinearity that is no number, or a negative concentration;
    /// [`ErrorKind::TooLarge`](crate::ErrorKind::TooLarge) for sizes past memory.
    pub fn new(
        inputs: impl Into<Cow<'a, [f32]>>,
        weights: impl Into<Cow<'a, [f32]>>,
        conductances: impl Into<Cow<'a, [f32]>>,
        [batch, neurons, dendrites, synapses]: [usize; 4],
        nonlinearity: Nonlinearity,
    ) -> Result<Self, Error> {
        let (inputs, weights) = (inputs.into(), weights.into());
        let conductances = conductances.into();
        if neurons == 0 || dendrites == 0 || synapses == 0 {
            return Err(Error::shape(format!(
                "dendritic_integration: {neurons} neurons × {dendrites} dendrites × {synapses} \
                 inputs; give at least one of each"
            )));
        }
        for (what, values, dims) in [
            (
                "dendritic_integration: the inputs",
                &inputs,
                &[batch, neurons, dendrites, synapses][..],
            ),
            (
                "dendritic_integration: the weights",
                &weights,
                &[neurons, dendrites, synapses],
            ),
            (
                "dendritic_integration: the conductances",
                &conductances,
                &[neurons, dendrites],
            ),
        ] {
            let expected = shape::product(what, dims)?;
            check_len(what, values.len(), expected, &shape::text(dims))?;
        }
        nonlinearity.check()?;
        let previous_soma = nonlinearity
            .looks_back()
            .then(|| Cow::Owned(vec![0.0; batch * neurons]));
        Ok(Self {
            inputs,
            weights,
            conductances,
            previous_soma,
            dims: Dims {
                batch,
                neurons,
                dendrites,
                synapses,
            },
            nonlinearity,
        })
    }

    /// The same for inputs that stand alone, each neurons × dendrites × inputs (`dims`).
    ///
    /// # Errors
    ///
    /// As [`new`](DendriticIntegration::new).
    pub fn of(
        inputs: &'a [Vec<f32>],
        weights: impl Into<Cow<'a, [f32]>>,
        conductances: impl Into<Cow<'a, [f32]>>,
        [neurons, dendrites, synapses]: [usize; 3],
        nonlinearity: Nonlinearity,
    ) -> Result<Self, Error> {
        let parts = inputs.iter().map(|values| (&values[..], [1, values.len()]));
        let (all, _) = batch::joined("dendritic_integration: input", parts)?;
        let dims = [inputs.len(), neurons, dendrites, synapses];
        Self::new(all, weights, conductances, dims, nonlinearity)
    }

    /// The somas' potentials one step before, batch × neurons, for a nonlinearity
    /// that looks at them; without this call they are zero.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Shape`](crate::ErrorKind::Shape) for another length,
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) where the nonlinearity
    /// does not look back.
    pub fn with_previous_soma(self, soma: impl Into<Cow<'a, [f32]>>) -> Result<Self, Error> {
        let soma = soma.into();
        if !self.nonlinearity.looks_back() {
            return Err(Error::invalid(format!(
                "dendritic_integration: {:?} does not look at the previous soma; leave it out",
                self.nonlinearity
            )));
        }
        let dims = [self.dims.batch, self.dims.neurons];
        check_len(
            "dendritic_integration: the previous soma",
            soma.len(),
            dims[0] * dims[1],
            &shape::text(&dims),
        )?;
        Ok(Self {
            previous_soma: Some(soma),
            ..self
        })
    }
}

impl Kernel for DendriticIntegration<'_> {
    type Element = f32;

    fn output_len(&self) -> usize {
        self.dims.batch * self.dims.neurons
    }

    fn work(&self) -> Work {
        let somas = self.output_len() as u64;
        let dendrites = somas.saturating_mul(self.dims.dendrites as u64);
        Work {
            items: self.dims.batch as u64,
            elements: somas,
            // A multiply-add for each synapse and each dendrite; nonlinearities
            // are not counted.
            flops: 2 * (self.inputs.len() as u64 + dendrites),
            bytes: self.memory_bytes(),
        }
    }

    fn memory_bytes(&self) -> u64 {
        let previous = self.previous_soma.as_ref().map_or(0, |soma| soma.len());
        let inputs = self.inputs.len() + self.weights.len() + self.conductances.len();
        4 * (inputs + previous + self.output_len()) as u64
    }

    fn cpu_into(&self, out: &mut [f32]) {
        check_output(out, self.output_len());
        let together = (SYNAPSES / self.dims.of_neuron()).max(1);
        parallel::for_chunks(out, together, |start, out| host::somas(self, start, out));
    }

    #[cfg(feature = "gpu")]
    fn device_inputs(&self) -> Vec<&[u8]> {
        [&self.inputs, &self.weights, &self.conductances]
            .into_iter()
            .chain(&self.previous_soma)
            .map(|values| bytemuck::cast_slice(values))
            .collect()
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
