//! `dendritic_integration`: neurons with nonlinear dendrites. Each dendrite sums
//! its synapses, s = Σ w·x, and passes s through a nonlinearity f; the soma adds
//! what arrives, Σ g·f, by the conductance of each dendrite.
//!
//! Potentials are in mV, concentrations in mM, conductances relative to the soma's. Every synapse
//! has an input of its own; if neurons share inputs, repeat them. NaN and infinity spread to the
//! soma of the neuron whose input or weight they are; which of the two arrives is not promised.

use super::dims;
use super::parallel::{self, Cut};
use super::sharing::Sharing;
use crate::error::Error;
use crate::operator::{Operator, Parameter, View};
use crate::tensor::{Tensor, shape};

#[cfg(feature = "gpu")]
mod dendrite_kernels;
mod host;
mod nonlinearity;

pub use nonlinearity::Nonlinearity;

/// Synapses per piece of CPU work.
const SYNAPSES: usize = 64 * 1024;

static SHARING: Sharing = Sharing::new();

/// A set of neurons: batch × neurons × dendrites × inputs in, the somas' potentials
/// (batch × neurons) out. A nonlinearity that looks back takes the potentials one step
/// before as a second input; without it they are zero.
///
/// ```
/// use breakeven_kernels::{DendriticIntegration, Nonlinearity};
/// use breakeven_gpu::{Operator, Tensor};
///
/// // One neuron, two dendrites of two synapses; each dendrite multiplies.
/// let weights = Tensor::new(vec![1.0, 2.0, 0.5, 9.0], &[1, 2, 2])?;
/// let conductances = Tensor::new(vec![1.0, 0.5], &[1, 2])?;
/// let rule = Nonlinearity::Multiplicative;
/// let neurons = DendriticIntegration::new(weights, conductances, rule)?;
/// let inputs = Tensor::new(vec![1.0, 1.0, 2.0, 0.0], &[1, 1, 2, 2])?;
/// // 1 · (2·3 − 1) + 0.5 · (2·1 − 1)
/// assert_eq!(neurons.on_cpu(&inputs)?.host()?, [5.5]);
/// # Ok::<(), breakeven_types::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DendriticIntegration {
    weights: Tensor<'static>,
    conductances: Tensor<'static>,
    /// Neurons, dendrites of each, synapses of each.
    dims: [usize; 3],
    nonlinearity: Nonlinearity,
}

impl DendriticIntegration {
    /// `weights` is neurons × dendrites × inputs, `conductances` neurons × dendrites.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Shape`](breakeven_types::ErrorKind::Shape) for shapes that do not go together
    /// and for no neuron, dendrite or input;
    /// [`ErrorKind::Invalid`](breakeven_types::ErrorKind::Invalid) for a parameter of the
    /// nonlinearity that is no number, or a negative concentration.
    pub fn new(
        weights: Tensor<'static>,
        conductances: Tensor<'static>,
        nonlinearity: Nonlinearity,
    ) -> Result<Self, Error> {
        let what = "dendritic_integration: the weights";
        let dims = dims(what, weights.shape(), "neurons × dendrites × inputs")?;
        let [neurons, dendrites, synapses] = dims;
        if weights.is_empty() {
            return Err(Error::shape(format!(
                "dendritic_integration: {neurons} neurons × {dendrites} dendrites × {synapses} \
                 inputs; give at least one of each"
            )));
        }
        let of_conductances = conductances.shape();
        expect_shape("the conductances", of_conductances, &[neurons, dendrites])?;
        nonlinearity.check()?;
        Ok(Self {
            weights,
            conductances,
            dims,
            nonlinearity,
        })
    }
}

fn expect_shape(what: &str, found: &[usize], expected: &[usize]) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    Err(Error::shape(format!(
        "dendritic_integration: {what} is {}; it must be {}",
        shape::text(found),
        shape::text(expected)
    )))
}

impl Operator for DendriticIntegration {
    type In = f32;
    type Out = f32;

    fn name(&self) -> &str {
        "dendritic_integration"
    }

    fn output_shape(&self, shapes: &[&[usize]]) -> Result<Vec<usize>, Error> {
        let (inputs, previous) = match shapes {
            [inputs] => (inputs, None),
            [inputs, previous] => (inputs, Some(previous)),
            _ => {
                return Err(Error::shape(format!(
                    "dendritic_integration: {} inputs; it takes the synapses' and, if it looks \
                     back, the previous soma",
                    shapes.len()
                )));
            }
        };
        let [neurons, dendrites, synapses] = self.dims;
        let batch = inputs.first().copied().unwrap_or(0);
        expect_shape("the input", inputs, &[batch, neurons, dendrites, synapses])?;
        if let Some(previous) = previous {
            if !self.nonlinearity.looks_back() {
                return Err(Error::invalid(format!(
                    "dendritic_integration: {:?} does not look at the previous soma; leave it out",
                    self.nonlinearity
                )));
            }
            expect_shape("the previous soma", previous, &[batch, neurons])?;
        }
        Ok(vec![batch, neurons])
    }

    /// A multiply-add for each synapse and each dendrite; nonlinearities are not counted.
    fn flops(&self, shapes: &[&[usize]]) -> u64 {
        let synapses = shapes.first().copied().unwrap_or_default();
        let dendrites = synapses.get(..3).map_or(0, shape::elements);
        let terms = shape::elements(synapses).saturating_add(dendrites);
        terms.saturating_mul(2)
    }

    fn parameters(&self) -> Vec<&dyn Parameter> {
        vec![&self.weights, &self.conductances]
    }

    fn cpu(&self, views: &[View<'_, f32>], out: &mut [f32]) -> Result<(), Error> {
        let neurons = host::Neurons {
            inputs: views[0].values,
            previous_soma: views.get(1).map(|view| view.values),
            weights: self.weights.host()?,
            conductances: self.conductances.host()?,
            dims: self.dims,
            nonlinearity: self.nonlinearity,
        };
        let [_, dendrites, synapses] = self.dims;
        let together = (SYNAPSES / (dendrites * synapses)).max(1);
        parallel::for_chunks(&SHARING, out, Cut::into(together), |start, out| {
            host::somas(&neurons, start, out)
        });
        Ok(())
    }

    #[cfg(feature = "gpu")]
    fn device(&self) -> Option<&dyn crate::gpu::DeviceForm> {
        Some(self)
    }
}
