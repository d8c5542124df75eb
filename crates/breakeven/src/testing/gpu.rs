//! A simulated GPU behind the real trait, in real time.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::device::{Device, GpuExecutor};
use crate::error::{DeviceError, DeviceErrorKind};
use crate::hardware::Fact;
use crate::locked;
use crate::plan::GpuSpec;

mod batch;
mod faults;
mod spec;
mod state;
#[cfg(test)]
mod tests;
mod timeline;
mod timer;

pub use batch::SimulatedInFlight;
pub use faults::{Fault, FaultKind, FaultScript, RandomFaults};
pub use spec::SimulatedSpec;

use state::{Outcome, State};
use timeline::{ns, stages_ns, transfers_ns};

type Change<T> = Box<dyn Fn(&mut T) + Send + Sync>;

/// A simulated GPU, in real time: for tests and benches of work that runs on a GPU, if there is
/// none or it must fail at a given time.
///
/// ```
/// use std::time::Duration;
/// use breakeven::execute::GpuExecutor;
/// use breakeven::testing::{Fault, FaultScript, SimulatedGpu, SimulatedSpec};
///
/// // 20 µs a launch, 1 µs a task, 12 GB/s for 4 KiB up and 4 bytes down.
/// let spec = SimulatedSpec::new(Duration::from_micros(20), Duration::from_micros(1))
///     .with_transfer(12e9, 4096, 4);
/// let gpu = SimulatedGpu::new(spec, |task: &u32| task * 2)
///     .with_faults(FaultScript::none().at(1, Fault::Lost { recovers_after: None }));
///
/// let first = gpu.start(&[1, 2, 3])?;
/// assert_eq!(first.wait()?, [2, 4, 6]);
/// assert!(gpu.start(&[4]).is_err());
/// assert_eq!(gpu.counts().tasks, 3);
/// # Ok::<(), breakeven::DeviceError>(())
/// ```
///
/// It is a model. Batches go through an upload engine, one compute queue and a download engine, or
/// through one queue ([`SimulatedSpec::overlaps`]); a task takes its time whatever else runs. Not
/// modelled: batches too small to fill the device, concurrent kernels, clocks and temperature,
/// other processes' work, fragmented memory, and a hang that blocks later batches. The outputs are
/// computed on the host within `start`, by the calling thread. The device's time begins with the
/// call, so computing is free if it is shorter than the device's time, but it occupies a core of
/// the CPU's workers. Use a fast function.
pub struct SimulatedGpu<I, T> {
    function: Box<dyn Fn(&I) -> T + Send + Sync>,
    wrong: Option<Change<T>>,
    spec: SimulatedSpec,
    device: GpuSpec,
    script: FaultScript,
    state: Arc<Mutex<State>>,
}

/// What a simulated GPU did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SimulatedCounts {
    /// Calls of `start`.
    pub submits: u64,
    /// Calls that started a batch.
    pub launches: u64,
    /// Tasks of the started batches.
    pub tasks: u64,
    /// Batches whose outputs were returned, including wrong ones.
    pub finished: u64,
    /// Calls and batches that a fault affected, by its kind. A slow-down counts once.
    pub faults: BTreeMap<FaultKind, u64>,
}

impl SimulatedCounts {
    /// Returns the calls and batches that a fault of that kind affected.
    pub fn faults_of(&self, kind: FaultKind) -> u64 {
        self.faults.get(&kind).copied().unwrap_or(0)
    }
}

impl<I, T> SimulatedGpu<I, T> {
    /// Creates a GPU with `spec` whose true output for a task is `function`'s.
    pub fn new(spec: SimulatedSpec, function: impl Fn(&I) -> T + Send + Sync + 'static) -> Self {
        Self {
            function: Box::new(function),
            wrong: None,
            device: spec.device(),
            spec,
            script: FaultScript::none(),
            state: Arc::default(),
        }
    }

    /// Sets the faults.
    #[must_use]
    pub fn with_faults(self, script: FaultScript) -> Self {
        Self { script, ..self }
    }

    /// Sets a function that makes an output wrong, for [`Fault::Wrong`]. The default rotates the
    /// batch's outputs by one.
    #[must_use]
    pub fn with_wrong(self, change: impl Fn(&mut T) + Send + Sync + 'static) -> Self {
        Self {
            wrong: Some(Box::new(change)),
            ..self
        }
    }

    /// Returns what it did so far.
    pub fn counts(&self) -> SimulatedCounts {
        locked(&self.state).counts.clone()
    }

    /// Reserves the memory of a batch, bytes, or refuses it.
    fn reserve(&self, state: &mut State, tasks: usize) -> Result<u64, DeviceError> {
        let bytes = self.spec.batch_bytes(tasks);
        let all = self.spec.memory_bytes.get().unwrap_or(u64::MAX);
        let refused = |kind, found: String| {
            let message = format!("a batch of {tasks} tasks takes {bytes} bytes, {found}");
            Err(DeviceError::new(kind, message))
        };
        let free = all.saturating_sub(self.spec.memory_used_bytes.saturating_add(state.held));
        if bytes > all {
            return refused(DeviceErrorKind::NeverFits, format!("the device has {all}"));
        } else if bytes > free && self.spec.memory_bytes != Fact::Unknown {
            return refused(DeviceErrorKind::OutOfMemory, format!("{free} are free"));
        }
        state.held += bytes;
        Ok(bytes)
    }

    /// Computes the batch's outputs, with the changes of the script.
    fn outputs(&self, tasks: &[I], faults: &[Fault]) -> Vec<T> {
        let mut outputs: Vec<T> = tasks.iter().map(|task| (self.function)(task)).collect();
        for fault in faults {
            match *fault {
                Fault::Wrong { first, every } if !outputs.is_empty() => match &self.wrong {
                    Some(change) => {
                        let step = if every == 0 { outputs.len() } else { every };
                        let first = first % outputs.len();
                        outputs[first..].iter_mut().step_by(step).for_each(change);
                    }
                    None => outputs.rotate_left(1),
                },
                Fault::TooFew { by } => outputs.truncate(outputs.len().saturating_sub(by)),
                Fault::TooMany { by } => {
                    let again = tasks.iter().cycle().take(by);
                    outputs.extend(again.map(|task| (self.function)(task)));
                }
                _ => {}
            }
        }
        outputs
    }
}

impl<I, T> Device for SimulatedGpu<I, T> {
    fn spec(&self) -> &GpuSpec {
        &self.device
    }

    fn memory_used(&self) -> Fact<u64> {
        let held = locked(&self.state).held;
        Fact::Known(self.spec.memory_used_bytes.saturating_add(held))
    }

    fn gpu_use(&self) -> Fact<f64> {
        self.spec.gpu_use
    }
}

impl<I, T: Unpin> GpuExecutor<I, T> for SimulatedGpu<I, T> {
    type Flight = SimulatedInFlight<T>;

    fn start(&self, tasks: &[I]) -> Result<Self::Flight, DeviceError> {
        let called = Instant::now();
        let mut state = locked(&self.state);
        let batch = state.admit(&self.script, tasks.len())?;
        if batch.panics {
            drop(state);
            panic!("simulated panic in start, launch {}", batch.launch);
        }
        let bytes = self.reserve(&mut state, tasks.len())?;
        state.start(called, tasks.len());
        drop(state);
        let transfers = transfers_ns(&self.spec, tasks.len());
        // Frees the memory, also if the function panics.
        let mut flight = SimulatedInFlight {
            device: Arc::clone(&self.state),
            ready: None,
            outcome: batch.outcome,
            launch: batch.launch,
            life: batch.life,
            outputs: Vec::new(),
            transfer: Duration::from_nanos(transfers.iter().sum()),
            bytes,
        };
        flight.outputs = self.outputs(tasks, &batch.faults);
        let work_ns = tasks.len() as f64 * ns(self.spec.task_time) as f64 * batch.factor;
        let stages = stages_ns(&self.spec, transfers, work_ns);
        let ready = locked(&self.state).schedule(called, stages);
        flight.ready = ready.filter(|_| batch.outcome != Outcome::Hang);
        Ok(flight)
    }

    fn device(&self) -> Option<&dyn Device> {
        Some(self)
    }

    fn batch_bytes(&self, tasks: &[I]) -> Option<u64> {
        Some(self.spec.batch_bytes(tasks.len()))
    }

    fn most_tasks(&self) -> Option<usize> {
        self.spec.most_tasks
    }

    fn depth(&self) -> usize {
        self.spec.depth
    }

    fn transfer_time(&self, flight: &Self::Flight) -> Option<Duration> {
        Some(flight.transfer)
    }
}

impl<I, T> fmt::Debug for SimulatedGpu<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedGpu")
            .field("spec", &self.spec)
            .field("script", &self.script)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}
