//! What the model records about a batch in addition to the costs of its devices.

use super::model::{Model, clipped, driver_of, size_class};
use super::overlap::Added;
use super::shape::{PLACES, PlaceWork};
use super::{RanOn, Took, Way};

impl Model {
    /// Records a batch of `ns` in which the CPU and these GPUs had a share.
    pub fn note_run(
        &mut self,
        operation: &str,
        memory_per_task: usize,
        ns: u64,
        cpu: bool,
        gpus: &[&str],
    ) {
        let size_class = size_class(memory_per_task);
        self.unsaved += 1;
        self.with_group(operation, size_class, |group, drivers| {
            let gpus = gpus.iter();
            let gpus = gpus.map(|name| (clipped(name), driver_of(drivers, name)));
            group.spend(ns, cpu, gpus);
        });
    }

    /// Records the slow-down of the CPU beside GPUs, measured by the run recorded last.
    pub(crate) fn note_hindrance(
        &mut self,
        operation: &str,
        memory_per_task: usize,
        ns: u64,
        times: Option<f64>,
    ) {
        let size_class = size_class(memory_per_task);
        self.with_group(operation, size_class, |group, _| {
            group.note_hindrance(ns, times)
        });
    }

    pub(crate) fn note_shape(
        &mut self,
        operation: &str,
        memory_per_task: usize,
        seen: &[Option<PlaceWork>; PLACES],
        tail: Option<f32>,
        excess: Option<f64>,
    ) {
        let (size_class, tuning) = (size_class(memory_per_task), self.tuning);
        self.with_group(operation, size_class, |group, _| {
            group.shape.note(seen, tail, tuning);
            group.note_excess(excess);
        });
    }

    /// Records the times of a batch whose strategy an objective chose.
    pub(crate) fn note_way(
        &mut self,
        operation: &str,
        memory_per_task: usize,
        way: Way,
        tasks: usize,
        ran: (Took, &[String]),
    ) {
        self.with_group(operation, size_class(memory_per_task), |group, _| {
            group.ways.note(way, tasks, ran);
        });
    }

    /// Records how far the pieces of a GPU's batch overlapped; none if it was not cut.
    pub fn note_overlap(
        &mut self,
        operation: &str,
        memory_per_task: usize,
        gpu: &str,
        added: Option<Added>,
    ) {
        let (size_class, tuning) = (size_class(memory_per_task), self.tuning);
        self.with_group(operation, size_class, |group, drivers| {
            let gpu = group.gpu(clipped(gpu), driver_of(drivers, gpu));
            gpu.overlap.note(added, tuning);
        });
    }

    /// Records the fixed cost of a call of the function on a worker, ns.
    pub(crate) fn note_call(&mut self, operation: &str, memory_per_task: usize, ns: f64) {
        self.with_group(operation, size_class(memory_per_task), |group, _| {
            group.call_ns.note(ns);
        });
    }

    /// Records a device's power above idle during an operation, W.
    pub fn note_watts(
        &mut self,
        operation: &str,
        memory_per_task: usize,
        on: RanOn<'_>,
        watts: f64,
    ) {
        let size_class = size_class(memory_per_task);
        self.unsaved += 1;
        self.with_group(operation, size_class, |group, drivers| match on {
            RanOn::Cpu => group.cpu_watts.note(watts),
            RanOn::Gpu(gpu) => {
                let gpu = group.gpu(clipped(gpu), driver_of(drivers, gpu));
                gpu.watts.note(watts);
            }
        });
    }
}
