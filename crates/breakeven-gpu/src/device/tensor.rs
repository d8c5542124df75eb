//! What runs operators, other than the CPU.

use std::pin::Pin;
use std::time::Duration;

use breakeven_profile::profile::Peak;

use super::{Device, NoGpu};
use crate::error::DeviceError;
use crate::operator::Operator;
use crate::tensor::{Element, Tensor};

/// A tensor on its way through a device.
pub type TensorFlight<E> = Pin<Box<dyn TensorFuture<E>>>;

/// A future of a tensor that is on its way through a device.
pub trait TensorFuture<E: Element>:
    Future<Output = Result<Tensor<'static, E>, DeviceError>> + Send
{
    /// Returns the transfer time of a completed call; none if the device does not report it.
    fn transfer_time(&self) -> Option<Duration> {
        None
    }
}

/// A device that operators run on: a `Gpu`, or none.
pub trait TensorDevice: Send + Sync {
    /// Returns the device; none if nothing is known of it.
    fn device(&self) -> Option<&dyn Device> {
        None
    }

    /// Returns the memory of a call on inputs of these shapes; none if the operator has no form for
    /// devices.
    fn call_bytes<O: Operator + ?Sized>(&self, operator: &O, inputs: &[&[usize]]) -> Option<u64> {
        let _ = (operator, inputs);
        None
    }

    /// Returns its measured peaks; none if there is no device.
    fn measure_peak(&self) -> Option<Result<Peak, DeviceError>> {
        None
    }

    /// Gives the tensor a copy on the device, which has it from then on.
    ///
    /// # Errors
    ///
    /// Whatever the device reports.
    fn bring<E: Element>(&self, tensor: &Tensor<'_, E>) -> Result<(), DeviceError> {
        let _ = tensor;
        Ok(())
    }

    /// Returns true if the device has a copy of it.
    fn has<E: Element>(&self, tensor: &Tensor<'_, E>) -> bool {
        let _ = tensor;
        false
    }

    /// Sends what is not there and starts; the output stays on the device, or is brought
    /// to the host.
    ///
    /// # Errors
    ///
    /// Whatever is known before the device has run.
    fn start_call<O: Operator + ?Sized>(
        &self,
        operator: &O,
        inputs: &[Tensor<'_, O::In>],
        stays: bool,
    ) -> Result<TensorFlight<O::Out>, DeviceError>;
}

impl TensorDevice for NoGpu {
    fn start_call<O: Operator + ?Sized>(
        &self,
        _: &O,
        _: &[Tensor<'_, O::In>],
        _: bool,
    ) -> Result<TensorFlight<O::Out>, DeviceError> {
        Err(Self::none())
    }
}
