//! An operator's form for devices.

use breakeven_profile::profile::DeviceWork;

use super::{Buffer, Gpu, Properties};
use crate::error::{DeviceError, DeviceErrorKind};
use crate::tune::{Configuration, Space};

/// How an operator runs on a device.
pub trait DeviceForm: Send + Sync {
    /// Returns the sizes of buffers that a call needs in addition to inputs, parameters and output,
    /// bytes; they are in [`Launch::scratch`], uninitialised.
    fn scratch(&self, inputs: &[&[usize]]) -> Vec<u64> {
        let _ = inputs;
        Vec::new()
    }

    /// What of its kernel is tunable, for inputs of these shapes on a device: only values that
    /// can be there. [`Launch::tuned`] has the value of each; all of them give the same
    /// result, but for the order of sums, and the scratch must do for all.
    fn space(&self, gpu: &Gpu, inputs: &[&[usize]]) -> Space {
        let _ = (gpu, inputs);
        Space::default()
    }

    /// Counts the least work of a call on such a device in that configuration: the model that the
    /// kernel's time is judged by. None if it is not counted; then a call is judged by its
    /// [`Work`](crate::plan::Work) alone.
    fn counts(
        &self,
        on: &Properties,
        inputs: &[&[usize]],
        configuration: &Configuration,
    ) -> Option<DeviceWork> {
        let _ = (on, inputs, configuration);
        None
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
    /// The buffers requested by [`DeviceForm::scratch`].
    pub scratch: &'l [Buffer],
    /// Where the output goes.
    pub output: &'l Buffer,
    /// A value for everything that [`DeviceForm::space`] says is tunable.
    pub configuration: &'l Configuration,
}

impl Launch<'_> {
    /// The value of a tunable, a compile-time parameter of the kernel.
    ///
    /// # Errors
    ///
    /// [`DeviceErrorKind::Refused`] for a name that [`DeviceForm::space`] has not.
    pub fn tuned(&self, name: &str) -> Result<u32, DeviceError> {
        self.configuration.get(name).ok_or_else(|| {
            let known = self.configuration;
            let message = format!("{name} is not tunable; the kernel's space has: {known}");
            DeviceError::new(DeviceErrorKind::Refused, message)
        })
    }
}

/// Where an output must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// In host memory.
    OnHost,
    /// On the device alone, until [`Tensor::host`](crate::Tensor::host) is called.
    OnDevice,
}
