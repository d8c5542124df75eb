//! Every kernel's tasks through its executor on a real device.

use std::any::TypeId;
use std::sync::Arc;
use std::time::Duration;

use breakeven::execute::GpuExecutor;
use breakeven::gpu::Gpu;
use breakeven::kernels::{Element, NAMES};
use breakeven::suite::{BatchWorkload, TaskKernel, WithTasks};

use crate::device::first_gpu;
use crate::wait::block_on;

/// The device's outputs are those of the CPU, task by task.
struct Agrees {
    name: &'static str,
    gpu: Arc<Gpu>,
}

impl WithTasks for Agrees {
    type Output = ();

    fn with<K: TaskKernel>(self, tasks: Vec<K::Task>) {
        let name = self.name;
        let executor = K::on_gpu(self.gpu).unwrap();
        let flight = executor.start(&tasks).unwrap();
        let outputs = block_on(flight, Duration::from_secs(60)).unwrap().unwrap();
        assert_eq!(outputs.len(), tasks.len(), "{name}");
        for (output, task) in outputs.iter().zip(&tasks) {
            alike(name, output, &K::on_cpu(task).unwrap());
        }
    }
}

/// Labels are equal, numbers close.
fn alike<E: Element>(name: &str, found: &[E], expected: &[E]) {
    assert_eq!(found.len(), expected.len(), "{name}");
    assert!(!found.is_empty(), "{name}");
    if TypeId::of::<E>() != TypeId::of::<f32>() {
        let [found, expected] = [found, expected].map(bytemuck::cast_slice::<E, u32>);
        assert!(found == expected, "{name}: labels differ");
        return;
    }
    let [found, expected] = [found, expected].map(bytemuck::cast_slice::<E, f32>);
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let off = (found - expected).abs() / expected.abs().max(1.0);
        assert!(
            off <= 1e-3,
            "{name}[{at}]: {found} instead of {expected}, off by {off:e}"
        );
    }
}

#[test]
fn every_kernels_tasks_have_the_cpus_outputs() {
    let Some(gpu) = first_gpu().map(Arc::new) else {
        return;
    };
    for name in NAMES {
        let batch = BatchWorkload::new(name, 1).unwrap().with_tasks(3);
        let gpu = Arc::clone(&gpu);
        batch.build(Agrees { name, gpu });
    }
}
