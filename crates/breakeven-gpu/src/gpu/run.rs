//! Operators on a device: their form for it, one call of it, and the call's phases.

use std::time::Duration;

use cubecl::prelude::*;
use cubecl::profile::TimingMethod;

use super::faults::OnDevice as _;
use super::form::Launch;
use super::timing::{KernelClock, share_of_lot};
use super::{Buffer, Gpu, with_client};
use crate::error::DeviceError;
use crate::operator::{Operator, Parameter, checked_shape, device_form};
use crate::tensor::{Inputs, Tensor, shape};
use crate::tune::Configuration;

/// A call whose inputs are on the device, with room for its output: what the phases
/// of a call are measured on, and what can be started again and again.
pub struct Call<'c, O: Operator + ?Sized> {
    gpu: &'c Gpu,
    operator: &'c O,
    shapes: Vec<Vec<usize>>,
    output_shape: Vec<usize>,
    inputs: Vec<Buffer>,
    parameters: Vec<Buffer>,
    scratch: Vec<Buffer>,
    output: Buffer,
    configuration: Configuration,
}

/// A call that was checked, before anything of it is on the device.
pub(super) struct Plan<'c, 'i, O: Operator + ?Sized> {
    operator: &'c O,
    inputs: Vec<&'i Tensor<'i, O::In>>,
    output_shape: Vec<usize>,
    scratch: Vec<u64>,
}

impl<O: Operator + ?Sized> std::fmt::Debug for Call<'_, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call")
            .field("operator", &self.operator.name())
            .field("shapes", &self.shapes)
            .finish_non_exhaustive()
    }
}

impl<'c, 'i, O: Operator + ?Sized> Plan<'c, 'i, O> {
    pub(super) fn new(
        operator: &'c O,
        inputs: Vec<&'i Tensor<'i, O::In>>,
    ) -> Result<Self, DeviceError> {
        let shapes: Vec<_> = inputs.iter().map(|input| input.shape()).collect();
        let output_shape = checked_shape(operator, &shapes)?;
        Ok(Self {
            scratch: device_form(operator)?.scratch(&shapes),
            operator,
            inputs,
            output_shape,
        })
    }

    pub(super) fn output_shape(&self) -> &[usize] {
        &self.output_shape
    }

    /// Bytes of each buffer that the call takes, but for the parameters.
    pub(super) fn sizes(&self) -> impl Iterator<Item = u64> {
        let shapes = self.inputs.iter().map(|input| input.shape());
        let tensors = shapes.chain([&self.output_shape[..]]).map(shape::bytes);
        tensors.chain(self.scratch.iter().copied())
    }

    /// Bytes that are not on the device yet.
    pub(super) fn new_bytes(&self, gpu: &Gpu) -> u64 {
        let there = self.inputs.iter().filter(|input| input.is_on(gpu));
        let there: u64 = there.map(|input| shape::bytes(input.shape())).sum();
        self.sizes()
            .fold(0, u64::saturating_add)
            .saturating_sub(there)
    }

    /// Sends what is not there yet. `parameters` are those of the operator.
    pub(super) fn send(
        self,
        gpu: &'c Gpu,
        parameters: Vec<Buffer>,
    ) -> Result<Call<'c, O>, DeviceError> {
        let form = device_form(self.operator)?;
        let shapes: Vec<_> = self.inputs.iter().map(|input| input.shape()).collect();
        let name = self.operator.name();
        let configuration = gpu.configuration(name, form, &shapes, &self.output_shape)?;
        let inputs = self.inputs.iter().map(|input| input.buffer(gpu));
        let empty = |bytes: u64| {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            gpu.empty(bytes)
        };
        Ok(Call {
            gpu,
            operator: self.operator,
            inputs: inputs.collect::<Result<_, _>>()?,
            shapes: (self.inputs.iter().map(|input| input.shape().to_vec())).collect(),
            parameters,
            scratch: self.scratch.iter().copied().map(empty).collect(),
            output: empty(shape::bytes(&self.output_shape)),
            output_shape: self.output_shape,
            configuration,
        })
    }
}

impl<O: Operator + ?Sized> Call<'_, O> {
    /// Starts it and returns at once.
    ///
    /// # Errors
    ///
    /// As [`DeviceForm::launch`](super::DeviceForm::launch).
    pub fn launch(&self) -> Result<(), DeviceError> {
        self.gpu.guarded(|| self.start())
    }

    pub(super) fn start(&self) -> Result<(), DeviceError> {
        if self.output.bytes() == 0 {
            return Ok(());
        }
        let shapes: Vec<&[usize]> = self.shapes.iter().map(Vec::as_slice).collect();
        device_form(self.operator)?.launch(&Launch {
            gpu: self.gpu,
            shapes: &shapes,
            output_shape: &self.output_shape,
            inputs: &self.inputs,
            parameters: &self.parameters,
            scratch: &self.scratch,
            output: &self.output,
            configuration: &self.configuration,
        })
    }

    /// The configuration that it is launched with.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// Has it launched with another configuration of its kernel; what it does not name is as
    /// it is by default.
    ///
    /// # Errors
    ///
    /// [`DeviceErrorKind::Refused`](breakeven_types::DeviceErrorKind::Refused) for what cannot be.
    pub fn set_configuration(&mut self, configuration: &Configuration) -> Result<(), DeviceError> {
        let shapes: Vec<&[usize]> = self.shapes.iter().map(Vec::as_slice).collect();
        let space = device_form(self.operator)?.space(self.gpu, &shapes);
        let name = self.operator.name();
        self.configuration = self.gpu.checked(name, &space, configuration)?;
        Ok(())
    }

    /// Runs it and returns how long the device works. Once by the device's clock; by the host's
    /// clock in a row for at least 2 ms, and each run counts as its share of that.
    ///
    /// # Errors
    ///
    /// Whatever the launch or the wait reports.
    pub fn kernel_time(&self) -> Result<Duration, DeviceError> {
        self.gpu.time_of(|| self.start())
    }

    /// Waits for all that was started and brings the output to the host.
    ///
    /// # Errors
    ///
    /// Whatever went wrong on the device since the last wait.
    pub fn download(&self) -> Result<Tensor<'static, O::Out>, DeviceError> {
        let output = self.gpu.download(&self.output)?;
        self.gpu.call_has_ended();
        Ok(Tensor::new(output, &self.output_shape)?)
    }

    pub(super) fn output(self) -> (Buffer, Vec<usize>) {
        (self.output, self.output_shape)
    }
}

impl Gpu {
    /// Sends the inputs that are not on the device and makes room for the output.
    ///
    /// # Errors
    ///
    /// [`DeviceErrorKind::Refused`](breakeven_types::DeviceErrorKind::Refused) for inputs that the
    /// operator does not accept,
    /// [`DeviceErrorKind::Unsupported`](breakeven_types::DeviceErrorKind::Unsupported) for an
    /// operator without a form for devices,
    /// [`DeviceErrorKind::NeverFits`](breakeven_types::DeviceErrorKind::NeverFits) before anything
    /// is allocated, and errors that the device reports.
    pub fn prepare<'c, O: Operator + ?Sized>(
        &'c self,
        operator: &'c O,
        inputs: &dyn Inputs<O::In>,
    ) -> Result<Call<'c, O>, DeviceError> {
        let inputs = inputs.tensors();
        let plan = Plan::new(operator, inputs)?;
        self.check_fits(&plan.sizes().collect::<Vec<_>>())?;
        self.check_limit(plan.new_bytes(self))?;
        let parameters = self.parameters(operator)?;
        self.guarded(|| plan.send(self, parameters))
    }

    /// The operator's parameters, which stay on the device once they are there.
    pub(super) fn parameters<O: Operator + ?Sized>(
        &self,
        operator: &O,
    ) -> Result<Vec<Buffer>, DeviceError> {
        let parameters = operator.parameters().into_iter();
        parameters.map(|parameter| parameter.on(self)).collect()
    }

    /// Sends, runs and brings the output to the host, as a batch does.
    ///
    /// # Errors
    ///
    /// As [`prepare`](Gpu::prepare); whatever goes wrong on the device.
    pub fn run<O: Operator + ?Sized>(
        &self,
        operator: &O,
        inputs: &dyn Inputs<O::In>,
    ) -> Result<Tensor<'static, O::Out>, DeviceError> {
        let call = self.prepare(operator, inputs)?;
        call.launch()?;
        call.download()
    }

    /// The source of [`kernel_time`](Call::kernel_time) on this device.
    pub fn kernel_clock(&self) -> KernelClock {
        match with_client!(self, client => client.properties().timing_method) {
            TimingMethod::Device => KernelClock::Device,
            TimingMethod::System => KernelClock::Host,
        }
    }

    /// The time of what `launches` starts, as [`kernel_time`](Call::kernel_time) has it.
    pub(crate) fn time_of(
        &self,
        launches: impl Fn() -> Result<(), DeviceError> + Sync,
    ) -> Result<Duration, DeviceError> {
        match self.kernel_clock() {
            KernelClock::Device => self.timed(&launches),
            KernelClock::Host => {
                share_of_lot(|calls| self.timed(|| (0..calls).try_for_each(|_| launches())))
            }
        }
    }

    /// The device's time for everything that `launches` starts.
    pub(crate) fn timed(
        &self,
        launches: impl FnOnce() -> Result<(), DeviceError> + Send,
    ) -> Result<Duration, DeviceError> {
        self.guarded(|| {
            with_client!(self, client => {
                let (launched, duration) = client.profile(launches, "breakeven").on_device()?;
                launched?;
                let ticks = self.wait(async { Ok::<_, DeviceError>(duration.resolve().await) })?;
                Ok(ticks.duration())
            })
        })
    }

    /// Starts an empty kernel and waits until the host knows that it is done.
    ///
    /// # Errors
    ///
    /// Whatever the device reports.
    pub fn empty_launch(&self, scratch: &Buffer) -> Result<(), DeviceError> {
        with_client!(self, client => {
            nothing::launch(client, CubeCount::new_single(), CubeDim::new_1d(1), scratch.array());
        });
        self.synchronize()
    }
}

#[cube(launch)]
fn nothing(out: &mut Array<f32>) {
    if ABSOLUTE_POS >= out.len() {
        out[0] = 0.0f32;
    }
}

/// Returns the bytes that a call on inputs of these shapes needs on a device, without the
/// operator's parameters; none if the operator refuses them or has no form for it.
pub(super) fn bytes_of<O: Operator + ?Sized>(operator: &O, inputs: &[&[usize]]) -> Option<u64> {
    let output = checked_shape(operator, inputs).ok()?;
    let tensors = inputs.iter().copied().chain([&output[..]]);
    let scratch = operator.device()?.scratch(inputs);
    let bytes = tensors.map(shape::bytes).chain(scratch);
    Some(bytes.fold(0, u64::saturating_add))
}

pub(super) fn parameter_bytes<O: Operator + ?Sized>(operator: &O) -> u64 {
    let parameters = operator.parameters().into_iter();
    parameters
        .map(Parameter::bytes)
        .fold(0, u64::saturating_add)
}
