//! Each kernel's CPU form, GPU form and a plain float64 form against each other
//! on random input, and against committed vectors of the named reference.

mod agree;
mod blocks;
mod dendrites;
mod float64;
mod forecast;
mod fused;
#[cfg(feature = "gpu")]
mod large;
mod lstm;
mod problem;
mod shapes;
mod tensor_cores;
mod vectors;

#[cfg(feature = "gpu")]
pub(crate) use shapes::refused;
