//! Predicts the time of a call from its stated work and the best measured rates of the devices: the
//! roofline of Williams, Waterman and Patterson (2009).

use breakeven_profile::profile::Peak;

use super::{Cost, GpuCosts, OperationCosts, estimate};
use crate::WorkloadProfile;

/// The work of one call: the input of a roofline.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Independent items in the batch.
    pub items: u64,
    /// Elements of the output.
    pub elements: u64,
    /// Floating-point operations; a multiply-add is two. Zero for integer arithmetic.
    pub flops: u64,
    /// Compulsory traffic: inputs and parameters read once, the output written once.
    pub bytes: u64,
}

/// A batch whose work is stated.
#[derive(Debug, Clone, Copy)]
pub struct StatedWork {
    /// What is computed and moved.
    pub work: Work,
    /// Bytes of the inputs, which are sent to a GPU.
    pub inputs: u64,
    /// Bytes of the output, which a GPU sends back.
    pub output: u64,
}

/// Describes an item for the cost model and the rule.
pub fn profile_of(work: Work) -> WorkloadProfile {
    let each = |all: u64| all / work.items.max(1);
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let complexity = (each(work.flops) as f64).max(1.0);
    WorkloadProfile::from_task_count(count(work.items))
        .with_memory_per_task(count(each(work.bytes)))
        .with_complexity(complexity)
}

impl StatedWork {
    /// Returns costs without observations, for devices whose peaks are known.
    pub fn costs(&self, peaks: &[Peak], gpus: &[String], workers: usize) -> OperationCosts {
        let of = |device: &str| peaks.iter().find(|peak| peak.device == device);
        let gpu = |name: &String| GpuCosts {
            cost: of(name).and_then(|peak| self.on_gpu(peak)),
            ..GpuCosts::default()
        };
        OperationCosts {
            cpu: of("cpu").and_then(|peak| self.on_cpu(peak, workers)),
            gpus: gpus.iter().map(gpu).collect(),
            ..OperationCosts::default()
        }
    }

    fn items(&self) -> f64 {
        self.work.items.max(1) as f64
    }

    fn on_cpu(&self, peak: &Peak, workers: usize) -> Option<Cost> {
        let each = at_best_ns(self.work, peak)? / self.items();
        Some(estimate(0.0, each, 0.0, workers))
    }

    fn on_gpu(&self, peak: &Peak) -> Option<Cost> {
        let moved = |bytes: u64, rate: Option<f64>| rate.map_or(0.0, |rate| bytes as f64 / rate);
        let moved = moved(self.inputs, peak.upload_bytes_per_s)
            + moved(self.output, peak.download_bytes_per_s);
        let transfer = 1e9 * moved / self.items();
        let each = at_best_ns(self.work, peak)? / self.items() + transfer;
        Some(estimate(peak.launch_ns.unwrap_or(0.0), each, transfer, 1))
    }
}

/// Returns the time of work that is limited by memory or arithmetic, ns; none if neither peak is
/// known.
pub fn at_best_ns(work: Work, peak: &Peak) -> Option<f64> {
    let bandwidth = bandwidth(peak, work.bytes);
    let memory = bandwidth.map(|rate| work.bytes as f64 / rate);
    let arithmetic = peak.flops_per_s.map(|rate| work.flops as f64 / rate);
    let time = memory.unwrap_or(0.0).max(arithmetic.unwrap_or(0.0));
    (time.is_finite() && time > 0.0).then_some(1e9 * time)
}

/// Returns the bandwidth for a working set of `bytes`: that of the smallest measured one that holds
/// it.
fn bandwidth(peak: &Peak, bytes: u64) -> Option<f64> {
    let mut sets = peak.memory.iter();
    let held = sets.find(|set| set.working_set_bytes >= bytes);
    held.map(|set| set.bytes_per_s).or(peak.memory_bytes_per_s)
}

#[cfg(test)]
mod tests {
    use breakeven_profile::profile::Bandwidth;

    use super::*;

    #[test]
    fn the_slower_of_memory_and_arithmetic_counts() {
        let work = |flops: u64, bytes: u64| StatedWork {
            work: Work {
                items: 10,
                elements: 10,
                flops,
                bytes,
            },
            inputs: 1_000_000,
            output: 500_000,
        };
        let peak = |device: &str| Peak {
            device: device.to_owned(),
            memory_bytes_per_s: Some(1e9),
            memory: vec![Bandwidth {
                working_set_bytes: 2_000_000,
                bytes_per_s: 4e9,
            }],
            flops_per_s: Some(1e12),
            launch_ns: Some(20_000.0),
            upload_bytes_per_s: Some(1e9),
            download_bytes_per_s: Some(0.5e9),
            ..Peak::default()
        };
        let peaks = [peak("cpu"), peak("gpu")];
        let names = ["gpu".to_owned(), "another".to_owned()];
        let found = work(1_000, 1_000_000).costs(&peaks, &names, 4);
        // 1 MB at 4 GB/s are 250 µs, for ten items.
        let cpu = found.cpu.expect("its peak is known");
        assert_eq!((cpu.per_task_ns, cpu.at_once), (25_000.0, 4));
        // And 1 MB to the device and half a MB back, 1 ms each.
        let gpu = found.gpu(0).cost.expect("its peak is known");
        assert_eq!((gpu.fixed_ns, gpu.per_task_ns), (20_000.0, 225_000.0));
        assert!(found.gpu(1).cost.is_none());
        // Beyond the caches, and where arithmetic is the limit.
        let cpu = |flops, bytes| work(flops, bytes).costs(&peaks, &[], 4).cpu;
        let each = |flops, bytes| Some(cpu(flops, bytes)?.per_task_ns);
        assert_eq!(each(0, 4_000_000), Some(400_000.0));
        assert_eq!(each(10_000_000_000, 1), Some(1e6));
        assert_eq!(each(0, 0), None);
    }
}
