//! An operator's form for devices.

use super::{Buffer, Gpu};
use crate::error::DeviceError;

/// How an operator runs on a device.
pub trait DeviceForm: Send + Sync {
    /// The sizes of buffers that a call needs beside inputs, parameters and output,
    /// bytes; they are in [`Launch::scratch`], with anything in them.
    fn scratch(&self, inputs: &[&[usize]]) -> Vec<u64> {
        let _ = inputs;
        Vec::new()
    }

    /// Starts the work and returns at once. The output has at least one element.
    ///
    /// # Errors
    ///
    /// What can be known before the device runs: a feature that it lacks, a size that
    /// it cannot take. Other failures surface when the device is waited for.
    fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError>;
}

/// What a [`DeviceForm`] is started on. Each buffer is of its tensor's size.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'l> {
    /// The device.
    pub gpu: &'l Gpu,
    /// The inputs' shapes, to which the operator said yes.
    pub shapes: &'l [&'l [usize]],
    /// The output's shape.
    pub output_shape: &'l [usize],
    /// The inputs.
    pub inputs: &'l [Buffer],
    /// The operator's parameters.
    pub parameters: &'l [Buffer],
    /// What [`DeviceForm::scratch`] asked for.
    pub scratch: &'l [Buffer],
    /// Where the output goes.
    pub output: &'l Buffer,
}

/// Where an output is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// In host memory.
    OnHost,
    /// On the device alone, until [`Tensor::host`](crate::Tensor::host) is asked for it.
    OnDevice,
}
