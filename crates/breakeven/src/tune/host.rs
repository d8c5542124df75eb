//! Constants of CPU forms that are tunable: how much of a batch a thread takes at once.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::{Configuration, Key, SizeClass, Tunable, Tuned, TunedKernel, Tuner, this_cpu};
use crate::error::Error;
use crate::operator::{Operator, View, checked_shape};
use crate::tensor::{Inputs, shape};

/// A constant of a kernel's CPU form that changes how fast it is, not what it computes: a
/// `static` of the kernel, which asks it for its value for the size of the call.
///
/// The values that were tuned on this CPU are read when the first one is asked for.
pub struct HostTunable {
    kernel: &'static str,
    name: &'static str,
    default: u32,
    values: &'static [u32],
    /// By the binary logarithm of a call's elements; 0 for the default.
    tuned: OnceLock<[AtomicU32; 64]>,
}

impl fmt::Debug for HostTunable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.name, self.kernel)
    }
}

impl HostTunable {
    /// One of that kernel, with its default and what else it may be.
    pub const fn new(
        kernel: &'static str,
        name: &'static str,
        default: u32,
        values: &'static [u32],
    ) -> Self {
        Self {
            kernel,
            name,
            default,
            values,
            tuned: OnceLock::new(),
        }
    }

    /// Its value for a call whose inputs have so many elements in all.
    #[inline]
    pub fn at(&self, elements: usize) -> usize {
        let tuned = self.tuned.get_or_init(|| self.kept());
        match tuned[class(elements)].load(Ordering::Relaxed) {
            0 => self.default as usize,
            value => value as usize,
        }
    }

    fn set(&self, elements: usize, value: u32) {
        let tuned = self.tuned.get_or_init(|| self.kept());
        tuned[class(elements)].store(value, Ordering::Relaxed);
    }

    /// What was kept of it.
    #[cold]
    fn kept(&self) -> [AtomicU32; 64] {
        let values = [const { AtomicU32::new(0) }; 64];
        let mut kernels = Tuned::open_default().kernels();
        kernels.retain(|kernel| kernel.key.kernel == self.kernel && kernel.source == SOURCE);
        if kernels.is_empty() {
            return values;
        }
        let (cpu, threads) = this_cpu();
        for TunedKernel {
            key, configuration, ..
        } in kernels
        {
            let value = configuration.get(self.name);
            let value = value.filter(|value| self.values.contains(value));
            let place = values.get(key.size.item_bytes as usize);
            if (&key.device, &key.driver) == (&cpu, &threads)
                && let (Some(value), Some(place)) = (value, place)
            {
                place.store(value, Ordering::Relaxed);
            }
        }
        values
    }

    fn tunable(&self) -> Tunable {
        Tunable::new(self.name, self.default, self.values.iter().copied())
    }
}

/// What a CPU form was measured as: its code is this version's.
const SOURCE: u64 = super::source_number(env!("CARGO_PKG_VERSION").as_bytes());

/// A sample is as many calls as last so long.
const SHORTEST_SAMPLE: Duration = Duration::from_micros(50);

fn class(elements: usize) -> usize {
    (elements.max(1).ilog2() as usize).min(63)
}

impl Tuner {
    /// The fastest constants of an operator's CPU form ([`Operator::host_tunables`]) for calls
    /// of the size of these inputs, on the current rayon pool: as they were kept, else by
    /// measuring. Later calls in this process, and in those to come, use them.
    ///
    /// # Errors
    ///
    /// As [`Operator::on_cpu`], and where the result cannot be written; it is used all the
    /// same then.
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
                "{name}: an empty batch tells nothing; give items"
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
            size: SizeClass::of(1, elements as u64),
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
        let found = self.search(key.clone(), SOURCE, &candidates, None, sample);
        // Where the search failed, as it was before it.
        let known = self.tuned.find(&key, SOURCE);
        set(&known.map_or_else(Configuration::default, |known| known.configuration));
        found
    }
}
