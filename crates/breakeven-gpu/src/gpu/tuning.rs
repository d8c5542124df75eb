//! Which configuration a kernel is launched with on a device, and the search for the best.

use super::form::DeviceForm;
use super::{Gpu, with_client};
use crate::error::{DeviceError, DeviceErrorKind};
use crate::locked;
use crate::operator::{Operator, checked_shape, device_form};
use crate::peak;
use crate::plan::at_best_ns;
use crate::tensor::Inputs;
use crate::tune::{Configuration, Key, SizeClass, Space, Tuned, TunedKernel, Tuner};

impl Gpu {
    /// The tuned configurations for calls on this device: those that all processes of this user
    /// share ([`Tuned::open_default`]), unless others were set.
    pub fn tuned(&self) -> Tuned {
        locked(&self.shared.tuned).clone()
    }

    /// Has calls on this device look there, for all who share this opening of it.
    pub fn set_tuned(&self, tuned: Tuned) {
        *locked(&self.shared.tuned) = tuned;
    }

    /// Has a kernel launched with that configuration from now on, whatever was tuned, by all
    /// who share this opening of the device; with none as it was before.
    pub fn set_kernel_config(&self, kernel: &str, configuration: Option<Configuration>) {
        let mut set = locked(&self.shared.configurations);
        match configuration {
            Some(configuration) => set.insert(kernel.to_owned(), configuration),
            None => set.remove(kernel),
        };
    }

    /// The most units that a cube may have.
    pub fn max_units(&self) -> u32 {
        with_client!(self, client => client.properties().hardware.max_units_per_cube)
    }

    /// Its multiprocessors; none if the driver does not report them.
    pub fn multiprocessors(&self) -> Option<usize> {
        let count = with_client!(self, client => {
            client.properties().hardware.num_streaming_multiprocessors
        });
        count.map(|count| count as usize)
    }

    /// The configuration that a call of a kernel is launched with: what was set, else what
    /// was tuned for calls of that size, else its default.
    ///
    /// # Errors
    ///
    /// [`DeviceErrorKind::Refused`] if the setting is not possible.
    pub(crate) fn configuration(
        &self,
        name: &str,
        form: &dyn DeviceForm,
        shapes: &[&[usize]],
        output: &[usize],
    ) -> Result<Configuration, DeviceError> {
        let space = form.space(self, shapes);
        if space.tunables.is_empty() {
            return Ok(Configuration::default());
        }
        if let Some(set) = locked(&self.shared.configurations).get(name) {
            return self.checked(name, &space, set);
        }
        let tuned = locked(&self.shared.tuned);
        let kept = match tuned.is_empty() {
            true => None,
            false => {
                let key = self.key(name, &space, shapes, output);
                tuned.look_up(&key, space.source, |kernel| {
                    kernel.configuration.complete(&space.tunables)
                })
            }
        };
        Ok(kept.unwrap_or_else(|| Configuration::default().complete(&space.tunables)))
    }

    /// Returns a value for each tunable of a kernel, from a given configuration.
    pub(super) fn checked(
        &self,
        name: &str,
        space: &Space,
        given: &Configuration,
    ) -> Result<Configuration, DeviceError> {
        let refused = |what: String| {
            let message = format!("{name} on {}: {what}", self.id());
            Err(DeviceError::new(DeviceErrorKind::Refused, message))
        };
        for (tunable, value) in given.iter() {
            let known = &space.tunables;
            let Some(known) = known.iter().find(|known| known.name == tunable) else {
                let names: Vec<_> = known.iter().map(|known| known.name).collect();
                let names = names.join(", ");
                return refused(format!("{tunable} cannot be configured; it has {names}"));
            };
            if !known.values.contains(&value) {
                let values = &known.values;
                return refused(format!(
                    "{tunable} cannot be {value}; give one of {values:?}"
                ));
            }
        }
        Ok(given.complete(&space.tunables))
    }

    fn key(&self, name: &str, space: &Space, shapes: &[&[usize]], output: &[usize]) -> Key {
        let info = self.info();
        Key {
            kernel: match space.variant.is_empty() {
                true => name.to_owned(),
                false => format!("{name}, {}", space.variant),
            },
            device: info.name.clone(),
            driver: info.driver.known().cloned().unwrap_or_default(),
            size: SizeClass::of_call(shapes, output),
        }
    }
}

impl Tuner {
    /// Finds the fastest configuration of an operator's kernel on a device, for calls of the size
    /// of these inputs: as it was kept, else by measuring, with the device's clock if it has one.
    /// If the device was opened from here on, later calls on it use the result.
    ///
    /// Nothing is searched if the default is as fast as the device's peaks allow, provided they
    /// were measured and kept (`StrategyManager::measure_peaks`).
    ///
    /// # Errors
    ///
    /// As [`Gpu::prepare`]; errors of the device with the default configuration (another that fails
    /// is excluded); and if the result cannot be written, but it is used anyway. What was kept
    /// before stays.
    pub fn tune<O: Operator + ?Sized>(
        &self,
        gpu: &Gpu,
        operator: &O,
        inputs: &dyn Inputs<O::In>,
    ) -> Result<TunedKernel, DeviceError> {
        let tensors = inputs.tensors();
        let shapes: Vec<&[usize]> = tensors.iter().map(|input| input.shape()).collect();
        let output = checked_shape(operator, &shapes)?;
        let space = device_form(operator)?.space(gpu, &shapes);
        let key = gpu.key(operator.name(), &space, &shapes, &output);
        let candidates = Configuration::all(&space.tunables);
        let peaks = peak::kept();
        let peak = peaks.iter().find(|peak| peak.device == gpu.id().as_str());
        let floor = peak.and_then(|peak| at_best_ns(operator.work(&shapes), peak));
        let mut call = gpu.prepare(operator, inputs)?;
        let sample = |number: usize| {
            call.set_configuration(&candidates[number])?;
            let took = call.kernel_time()?;
            Ok(took.as_secs_f64() * 1e9)
        };
        self.search(key, space.source, &candidates, floor, sample)
    }
}
