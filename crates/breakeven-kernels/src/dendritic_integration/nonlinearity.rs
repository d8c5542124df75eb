//! What a dendrite does with the sum of its synapses.

use super::super::activation::logistic;
use crate::error::Error;

/// The magnesium block of NMDA receptors, from Jahr and Stevens, "Voltage
/// dependence of NMDA-activated macroscopic conductances predicted by
/// single-channel kinetics", J. Neurosci. 10(9), 1990: the open share is
/// 1 / (1 + [Mg]/3.57 mM · exp(−0.062/mV · V)).
const MG_HALF_BLOCK_MM: f32 = 3.57;

/// The steepness of the block, per mV.
const MG_STEEPNESS_PER_MV: f32 = 0.062;

/// What a dendrite makes of s = Σ w·x.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Nonlinearity {
    /// σ(k·(s − θ)): a dendritic spike with a threshold, 0 to 1.
    Sigmoid {
        /// k, the steepness, per mV.
        k: f32,
        /// θ, the potential of half the height, mV.
        theta: f32,
    },
    /// s / (1 + \[Mg\]/3.57 · exp(−0.062·(V_rest + s))): NMDA receptors, which
    /// magnesium blocks until the dendrite is depolarised (Jahr and Stevens, 1990).
    Nmda {
        /// \[Mg\], the concentration of magnesium outside, mM; about 1 in the brain.
        mg: f32,
        /// V_rest, the resting potential, mV; about −70.
        v_rest: f32,
    },
    /// s·(1 + β·previous soma): a backpropagating action potential amplifies
    /// what arrives at the dendrite.
    BackpropagatingActionPotential {
        /// β, the gain per mV of the previous soma.
        beta: f32,
    },
    /// Π(1 + w·x) − 1: synapses that multiply each other's effect.
    Multiplicative,
}

impl Nonlinearity {
    pub(super) fn check(self) -> Result<(), Error> {
        let parameters = match self {
            Self::Sigmoid { k, theta } => [("k", k), ("theta", theta)],
            Self::Nmda { mg, v_rest } => [("mg", mg), ("v_rest", v_rest)],
            Self::BackpropagatingActionPotential { beta } => [("beta", beta), ("beta", beta)],
            Self::Multiplicative => return Ok(()),
        };
        if let Some((name, value)) = parameters.iter().find(|(_, value)| !value.is_finite()) {
            return Err(Error::invalid(format!(
                "dendritic_integration: {name} is {value}; give a finite number"
            )));
        }
        match self {
            Self::Nmda { mg, .. } if mg < 0.0 => Err(Error::invalid(format!(
                "dendritic_integration: a concentration of {mg} mM; give 0 or more"
            ))),
            _ => Ok(()),
        }
    }

    /// Returns true if it depends on the previous soma's potential.
    pub(super) fn looks_back(self) -> bool {
        matches!(self, Self::BackpropagatingActionPotential { .. })
    }

    /// ln([Mg]/3.57), which makes the block a logistic function:
    /// 1 / (1 + m·e^−v) = σ(v − ln m). Without magnesium, −∞: no block.
    pub(super) fn mg_shift(mg: f32) -> f32 {
        (mg / MG_HALF_BLOCK_MM).ln()
    }

    /// The share of NMDA receptors that is open at a potential of `v` mV.
    #[inline(always)]
    pub(super) fn open_share(v: f32, mg_shift: f32) -> f32 {
        logistic(MG_STEEPNESS_PER_MV * v - mg_shift)
    }
}
