//! From a device's error to the CPU's first task in its place.

use std::sync::Arc;
use std::time::Duration;

use breakeven::Costs;
use breakeven::execute::{GpuExecutor, RayonCpu, StrategyManager};
use breakeven::plan::ExecutionStrategy;
use breakeven::profile::profile::Operation;
use breakeven::testing::{Fault, FaultScript};
use breakeven::testing::{SimulatedGpu, SimulatedSpec};
use breakeven::{DeviceError, DeviceErrorKind};

use crate::samples::Samples;
use crate::spin::{spin, steps_of};

/// Tasks of a batch.
const TASKS: u64 = 64;

/// Between two batches, so that the workers are asleep when the error comes.
const PAUSE: Duration = Duration::from_millis(2);

pub(crate) fn fallback(quick: bool) -> Operation {
    let rounds = if quick { 200 } else { 3_000 };
    let steps = steps_of(Duration::from_micros(5));
    let refuses = |_: &[u64]| -> Result<Vec<u64>, DeviceError> {
        Err(DeviceError::new(DeviceErrorKind::Launch, "refused"))
    };
    let both = ExecutionStrategy::hybrid(50).expect("50 % is a part");
    let gpu_only = delays(rounds, steps, ExecutionStrategy::GpuOnly, |_| refuses);
    gpu_only.print("fallback_gpu_only", "us", 1e3);
    delays(rounds, steps, both, |_| refuses).print("fallback_hybrid", "us", 1e3);
    // A device that is lost while a launch of 100 µs is on it.
    let lost = |round: usize| {
        let spec = SimulatedSpec {
            // Each a device of its own: the process leaves a lost one alone.
            name: format!("lost {round}"),
            ..SimulatedSpec::new(Duration::from_micros(100), Duration::ZERO)
        };
        let script = FaultScript::none().at(0, Fault::PollError(DeviceErrorKind::DeviceLost));
        SimulatedGpu::new(spec, |task: &u64| *task).with_faults(script)
    };
    delays(rounds, steps, ExecutionStrategy::GpuOnly, lost).print("fallback_lost", "us", 1e3);
    // The gate's: the one in which all workers are asleep.
    gpu_only.print("fallback", "us", 1e3);
    gpu_only.operation("fallback", Some(TASKS))
}

fn delays<G: GpuExecutor<u64, u64>>(
    rounds: usize,
    steps: u32,
    strategy: ExecutionStrategy,
    device: impl Fn(usize) -> G,
) -> Samples {
    let tasks: Vec<u64> = (0..TASKS).collect();
    let mut samples = Samples::default();
    for round in 0..rounds {
        let manager = StrategyManager::new(Arc::new(RayonCpu::current()), Arc::new(device(round)))
            .with_costs(Arc::new(Costs::new()))
            .with_back_off(Duration::ZERO)
            .with_strategy(strategy);
        std::thread::sleep(PAUSE);
        let result = manager
            .operation("fallback")
            .execute(&tasks, |task| Ok::<_, ()>(spin(steps, *task)))
            .expect("the CPU does what the device fails at");
        assert!(result.fallback_occurred, "the device fails");
        let delay = result.fallback.delay.expect("the CPU took over");
        samples.0.push(delay.as_nanos() as f64);
    }
    samples
}
