//! The search for an operator's fastest CPU form.

use std::time::{Duration, Instant};

use super::{Operator, View, checked_shape};
use crate::error::Error;
use crate::tensor::{Inputs, shape};
use crate::tune::{
    Configuration, HOST_SOURCE, Key, SizeClass, Tunable, TunedKernel, Tuner, this_cpu,
};

/// A sample is as many calls as last so long.
const SHORTEST_SAMPLE: Duration = Duration::from_micros(50);

impl Tuner {
    /// The fastest constants of an operator's CPU form ([`Operator::host_tunables`]) for calls
    /// of the size of these inputs, on the current rayon pool: as they were kept, else by
    /// measuring. Later calls in this process, and in those to come, use them.
    ///
    /// # Errors
    ///
    /// As [`Operator::on_cpu`], and if the result cannot be written; it is used anyway.
    pub fn tune_host<O: Operator + ?Sized>(
        &self,
        operator: &O,
        inputs: &dyn Inputs<O::In>,
    ) -> Result<TunedKernel, Error> {
        let tensors = inputs.tensors();
        let shapes: Vec<&[usize]> = tensors.iter().map(|input| input.shape()).collect();
        let output = checked_shape(operator, &shapes)?;
        let mut views = Vec::with_capacity(tensors.len());
        for (input, shape) in tensors.iter().zip(&shapes) {
            let values = input.host()?;
            views.push(View { shape, values });
        }
        if shape::elements(&output) == 0 {
            let name = operator.name();
            return Err(Error::shape(format!(
                "{name}: an empty batch cannot be measured; give items"
            )));
        }
        let mut out = vec![bytemuck::Zeroable::zeroed(); shape::product(operator.name(), &output)?];
        let elements = views.iter().map(|view| view.values.len()).sum();
        let tunables = operator.host_tunables();
        let set = |configuration: &Configuration| {
            for tunable in &tunables {
                tunable.set(elements, configuration.get(tunable.name).unwrap_or(0));
            }
        };
        let (device, driver) = this_cpu();
        let key = Key {
            kernel: operator.name().to_owned(),
            device,
            driver,
            size: SizeClass::of(1, shape::bytes(&[elements])),
        };
        let all: Vec<Tunable> = tunables.iter().map(|tunable| tunable.tunable()).collect();
        let candidates = Configuration::all(&all);
        let sample = |number: usize| {
            set(&candidates[number]);
            let (start, mut calls) = (Instant::now(), 0);
            while calls == 0 || start.elapsed() < SHORTEST_SAMPLE {
                operator.cpu(&views, &mut out)?;
                calls += 1;
            }
            Ok::<_, Error>(start.elapsed().as_secs_f64() * 1e9 / f64::from(calls))
        };
        let found = self.search(key.clone(), HOST_SOURCE, &candidates, None, sample);
        // If the search failed, the previous setting.
        let known = self.tuned.find(&key, HOST_SOURCE);
        set(&known.map_or_else(Configuration::default, |known| known.configuration));
        found
    }
}
