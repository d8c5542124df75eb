//! What the model notes of a batch beside the costs of its devices.

use super::model::{Model, clipped, driver_of, size_class};
use super::overlap::Added;
use super::shape::{PLACES, PlaceWork};
use super::{RanOn, Took, Way};

impl Model {
    /// A batch of an operation ended after so many ns, in which the CPU and these GPUs had a part.
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

    /// The run that was noted last, of so many ns, was to show how many times as long the CPU
    /// takes beside GPUs.
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

    /// What a batch of so many tasks took on these GPUs in the way that an objective chose.
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

    /// A GPU had a part of a batch: how far its pieces overlapped, none where it was not cut.
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

    /// What a call of the function costs a worker whatever the call holds, ns.
    pub(crate) fn note_call(&mut self, operation: &str, memory_per_task: usize, ns: f64) {
        self.with_group(operation, size_class(memory_per_task), |group, _| {
            group.call_ns.note(ns);
        });
    }

    /// What an operation made a device draw above idle, W.
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
