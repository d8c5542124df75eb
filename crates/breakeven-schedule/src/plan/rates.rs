//! Estimates the cost of an unmeasured operation from the rates of a machine and the time of one
//! task on one core.

use super::{Cost, GpuCosts, GpuSpec, Machine, OperationCosts};
use crate::WorkloadProfile;
use crate::error::Error;

/// Returns the costs of tasks that take `task_time_ns` each on one CPU core.
///
/// With `p` the workload's parallelization:
///
/// - CPU, per task: `task_time / s`, with `s = 1 / ((1 − p) + p / cores)` the
///   speed-up of that number of cores by Amdahl's law. Nothing is fixed.
/// - GPU, per task: `task_time / s + memory_per_task / transfer`, with
///   `s = 1 / ((1 − p) + p / speedup)`; fixed: one launch. `speedup` is the GPU's
///   rate over that of one CPU core at parallel work; a sequential part gains
///   nothing by it. With `p = 1` that is `task_time / speedup`.
///
/// An unknown launch time or transfer rate counts as nothing. A batch that does not fit the GPU's
/// free memory is several launches. There is no estimate of the GPU without a GPU, without its
/// `speedup`, or if not one task fits: no constant replaces it. The costs count no observation, so
/// their evidence is [`Evidence::Heuristic`](super::Evidence::Heuristic).
///
/// # Errors
///
/// [`ErrorKind::Invalid`](breakeven_types::ErrorKind::Invalid) for a time that is not
/// finite and above 0, and as [`WorkloadProfile::check`].
///
/// ```
/// use breakeven_schedule::WorkloadProfile;
/// use breakeven_schedule::plan::{Machine, costs_from_rates};
///
/// let machine = Machine::from_toml("cores = 16\n[[gpu]]\nspeedup = 20.0\nlaunch = \"20 us\"")?;
/// let workload = WorkloadProfile::from_task_count(1_000);
/// let costs = costs_from_rates(1e6, &workload, &machine)?;
/// assert_eq!(costs.cpu.map(|cost| cost.per_task_ns), Some(1e6 / 16.0));
/// let gpu = costs.gpu(0).cost.expect("its rates are known");
/// assert_eq!((gpu.fixed_ns, gpu.per_task_ns), (20e3, 1e6 / 20.0));
/// # Ok::<(), breakeven_types::Error>(())
/// ```
pub fn costs_from_rates(
    task_time_ns: f64,
    workload: &WorkloadProfile,
    machine: &Machine,
) -> Result<OperationCosts, Error> {
    workload.check()?;
    if !(task_time_ns.is_finite() && task_time_ns > 0.0) {
        return Err(Error::invalid(format!(
            "a task time of {task_time_ns} ns: give the time of one task on one core, above 0"
        )));
    }
    let (parallel, memory) = (workload.parallelization, workload.memory_per_task);
    // Fraction of the time that remains with that many workers: Amdahl's law.
    let left = |workers: f64| (1.0 - parallel) + parallel / workers;
    let cores = machine.cores.max(1);
    let cpu = estimate(0.0, task_time_ns * left(cores as f64), 0.0, cores);
    let gpus = machine.gpus.iter().map(|gpu| {
        let speedup = gpu.speedup.get().filter(|_| gpu.fits(memory) > 0)?;
        let transfer = transfer_ns(gpu, memory);
        let per_task = task_time_ns * left(speedup) + transfer;
        let launch = gpu.launch.get().unwrap_or_default();
        Some(estimate(launch.as_nanos() as f64, per_task, transfer, 1))
    });
    let gpus = gpus.map(|cost| GpuCosts {
        cost,
        ..GpuCosts::default()
    });
    let costs = OperationCosts {
        cpu: Some(cpu),
        gpus: gpus.collect(),
        ..OperationCosts::default()
    };
    let fits = machine.gpus.iter().map(|gpu| gpu.fits(memory));
    Ok(costs.in_launches_of(fits, workload.task_count))
}

/// Returns the time to move `bytes`, ns.
fn transfer_ns(gpu: &GpuSpec, bytes: usize) -> f64 {
    let rate = gpu.transfer_bytes_per_s.get();
    rate.map_or(0.0, |rate| bytes as f64 / rate * 1e9)
}

/// Returns a cost without observations.
pub fn estimate(fixed_ns: f64, per_task_ns: f64, transfer_ns: f64, at_once: usize) -> Cost {
    Cost {
        fixed_ns,
        per_task_ns,
        at_once,
        beside: 1.0,
        transfer_ns,
        fewest: 0,
        most: 0,
        scale: 1.0,
        is_launch_stated: false,
        is_bound: false,
        observations: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn machine(gpu: &str) -> Machine {
        Machine::from_toml(&format!("cores = 16\n{gpu}")).expect("a machine")
    }

    fn per_task(p: f64, gpu: &str) -> (f64, Option<f64>) {
        let workload = WorkloadProfile::from_task_count(1_000).with_parallelization(p);
        let costs = costs_from_rates(1e6, &workload, &machine(gpu)).expect("costs");
        let cpu = costs.cpu.expect("there is a CPU");
        let gpu = costs.gpu(0).cost.map(|cost| cost.per_task_ns);
        (cpu.per_task_ns, gpu)
    }

    #[test]
    fn a_sequential_part_gains_nothing() {
        let gpu = "[[gpu]]\nspeedup = 20";
        assert_eq!(per_task(1.0, gpu), (1e6 / 16.0, Some(1e6 / 20.0)));
        assert_eq!(per_task(0.0, gpu), (1e6, Some(1e6)));
        assert_eq!(per_task(0.5, gpu), (531_250.0, Some(525_000.0)));
    }

    #[test]
    fn moving_the_data_is_counted_and_kept_apart() {
        let machine = machine("[[gpu]]\nspeedup = 20\ntransfer = \"1 GB/s\"\nlaunch = \"5 us\"");
        let workload = WorkloadProfile::from_task_count(9).with_memory_per_task(1_000_000);
        let costs = costs_from_rates(1e6, &workload, &machine).expect("costs");
        let gpu = costs.gpu(0).cost.expect("its rates are known");
        assert_eq!(gpu.fixed_ns, 5e3);
        assert_eq!(gpu.transfer_ns, 1e6);
        assert_eq!(gpu.per_task_ns, 1e6 / 20.0 + 1e6);
        assert_eq!(gpu.observations, 0);
    }

    #[test]
    fn without_a_speedup_there_is_no_estimate_of_the_gpu() {
        assert_eq!(per_task(1.0, "[[gpu]]\nlaunch = \"5 us\"").1, None);
        assert_eq!(per_task(1.0, "").1, None);
    }

    #[test]
    fn no_time_is_no_time() {
        let workload = WorkloadProfile::from_task_count(9);
        for time in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = costs_from_rates(time, &workload, &machine("")).expect_err("no time");
            assert_eq!(error.kind(), ErrorKind::Invalid);
        }
        let wrong = workload.with_complexity(f64::NAN);
        assert!(costs_from_rates(1.0, &wrong, &machine("")).is_err());
    }
}
