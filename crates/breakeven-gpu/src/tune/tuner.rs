//! Searches on kernels: breakeven's on a device, and a user's own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{Configuration, Key, Search, SizeClass, Tuned, TunedKernel, source_number};
use crate::error::Error;
use crate::hardware::HardwareCapabilities;

/// Time of a search unless said otherwise.
const BUDGET: Duration = Duration::from_secs(30);

/// Searches for the fastest configuration of kernels and keeps what it finds.
#[derive(Debug, Clone)]
#[must_use = "nothing is searched before it is given a kernel"]
pub struct Tuner {
    pub(crate) tuned: Tuned,
    budget: Duration,
    again: bool,
    stop: Option<&'static AtomicBool>,
    /// Device and driver of a user's kernel; the CPU unless said.
    place: Option<(String, String)>,
}

impl Tuner {
    /// One that keeps what it finds there.
    pub fn new(tuned: &Tuned) -> Self {
        Self {
            tuned: tuned.clone(),
            budget: BUDGET,
            again: false,
            stop: None,
            place: None,
        }
    }

    /// Time that a search may take, 30 s unless said.
    pub fn budget(mut self, budget: Duration) -> Self {
        self.budget = budget;
        self
    }

    /// Searches even if the fastest is already known.
    pub fn again(mut self) -> Self {
        self.again = true;
        self
    }

    /// Ends searches with an error once that is true, as after Ctrl-C: what was kept stays.
    pub fn stop_on(mut self, stop: &'static AtomicBool) -> Self {
        self.stop = Some(stop);
        self
    }

    /// The device and the driver of a user's own kernel, if that is not the CPU: measurements on
    /// another are void.
    pub fn on(mut self, device: &str, driver: &str) -> Self {
        self.place = Some((device.to_owned(), driver.to_owned()));
        self
    }

    /// The fastest of some configurations of a kernel of one's own, for calls of a size in
    /// bytes: as it was kept, else by calling `kernel` with each and taking the time. A kernel on a GPU
    /// must wait for it.
    ///
    /// The first configuration is the default: it is the answer unless another is surely
    /// faster. One that fails is out.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](breakeven_types::ErrorKind::Invalid) without configurations, that of
    /// the default, and [`ErrorKind::File`](breakeven_types::ErrorKind::File) if the result cannot
    /// be written: it is in memory then ([`Tuned::find`]).
    pub fn tune_kernel(
        &self,
        name: &str,
        configurations: &[Configuration],
        size: u64,
        mut kernel: impl FnMut(&Configuration) -> Result<(), Error>,
    ) -> Result<TunedKernel, Error> {
        if configurations.is_empty() {
            return Err(Error::invalid(format!(
                "{name}: no configurations to choose from; give at least the default"
            )));
        }
        let (device, driver) = self.place.clone().unwrap_or_else(this_cpu);
        let key = Key {
            kernel: name.to_owned(),
            device,
            driver,
            size: SizeClass::of(1, size),
        };
        let all: Vec<String> = configurations.iter().map(ToString::to_string).collect();
        let source = source_number(all.join("; ").as_bytes());
        let sample = |number: usize| {
            let start = Instant::now();
            kernel(&configurations[number])?;
            Ok::<_, Error>(start.elapsed().as_secs_f64() * 1e9)
        };
        self.search(key, source, configurations, None, sample)
    }

    /// What is kept, or what a search finds, which is kept then.
    pub(crate) fn search<E: From<Error> + std::fmt::Display>(
        &self,
        key: Key,
        source: u64,
        configurations: &[Configuration],
        floor_ns: Option<f64>,
        mut sample: impl FnMut(usize) -> Result<f64, E>,
    ) -> Result<TunedKernel, E> {
        let known = self.tuned.find(&key, source);
        if let Some(known) = known.filter(|_| !self.again) {
            return Ok(known);
        }
        let search = Search {
            floor_ns,
            ..Search::new(self.budget)
        };
        let found = search.run(configurations.len(), |number| {
            if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Err(Error::invalid("the search was stopped; what was kept stays").into());
            }
            sample(number)
        })?;
        let found = TunedKernel::of(key, source, configurations, found);
        self.tuned.keep(found.clone())?;
        Ok(found)
    }
}

/// The CPU as a device, and its threads as its driver.
pub(crate) fn this_cpu() -> (String, String) {
    let hardware = HardwareCapabilities::detect_without_gpu();
    let cpu = hardware.cpu_model.known().cloned();
    let threads = breakeven_machine::pool_threads();
    (
        cpu.unwrap_or_else(|| "CPU".to_owned()),
        format!("{threads} threads"),
    )
}
