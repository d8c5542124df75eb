//! Launches that are looked at late: on a busy machine several are found done at once.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use breakeven::execute::{CpuExecutor, Device, GpuExecutor, RayonCpu, StrategyManager};
use breakeven::plan::{ExecutionStrategy, GpuSpec, OperationCosts};
use breakeven::{Costs, DeviceError, WorkloadProfile};

/// What a task takes. Launches do not overlap, and cost nothing.
const TASK: Duration = Duration::from_millis(2);

/// A device whose launches are done one after the other, and are seen to be done only once
/// all of them are.
struct Late {
    spec: GpuSpec,
    /// Tasks of a launch at the most.
    most: usize,
    free: Arc<Mutex<Instant>>,
}

impl Late {
    fn new(most: usize) -> Self {
        Self {
            spec: GpuSpec::named("late"),
            most,
            free: Arc::new(Mutex::new(Instant::now())),
        }
    }
}

struct Flight {
    outputs: Vec<u64>,
    free: Arc<Mutex<Instant>>,
}

impl Future for Flight {
    type Output = Result<Vec<u64>, DeviceError>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let free = *self.free.lock().unwrap();
        match Instant::now() < free {
            true => Poll::Pending,
            false => Poll::Ready(Ok(std::mem::take(&mut self.outputs))),
        }
    }
}

impl GpuExecutor<u64, u64> for Late {
    type Flight = Flight;

    fn start(&self, tasks: &[u64]) -> Result<Flight, DeviceError> {
        let mut free = self.free.lock().unwrap();
        *free = (*free).max(Instant::now()) + TASK * u32::try_from(tasks.len()).unwrap();
        Ok(Flight {
            outputs: tasks.iter().map(|task| task * 2).collect(),
            free: Arc::clone(&self.free),
        })
    }

    fn device(&self) -> Option<&dyn Device> {
        Some(&self.spec)
    }

    fn most_tasks(&self) -> Option<usize> {
        Some(self.most)
    }

    fn depth(&self) -> usize {
        2
    }
}

/// What is learned of batches of so many tasks.
fn learned(gpu: Late, batches: &[u64]) -> OperationCosts {
    let (cpu, costs) = (RayonCpu::current(), Arc::new(Costs::new()));
    let workers = cpu.workers();
    let manager = StrategyManager::new(Arc::new(cpu), Arc::new(gpu))
        .with_costs(Arc::clone(&costs))
        .with_strategy(ExecutionStrategy::GpuOnly);
    for count in batches {
        let tasks: Vec<u64> = (0..*count).collect();
        let workload = WorkloadProfile::from_task_count(tasks.len()).with_memory_per_task(8);
        let batch = manager.operation("late").workload(workload);
        let result = batch.map(&tasks, |task| task * 2);
        assert!(!result.unwrap().fallback_occurred);
    }
    costs.lookup("late", 8, &["late"], workers)
}

#[test]
fn launches_that_are_found_done_together_share_their_time() {
    // Two launches of ten in flight at once.
    let known = learned(Late::new(10), &[20]);
    let cost = known.gpu(0).cost.expect("it was executed");
    let ms = cost.predict_ns(10) / 1e6;
    assert!((19.9..100.0).contains(&ms), "{cost:?}");
}

#[test]
fn pieces_that_are_found_done_together_did_not_overlap() {
    // From the second batch on they are cut in two to try it.
    let known = learned(Late::new(100), &[10, 20, 20, 20]);
    let bottleneck = known.gpu(0).bottleneck.expect("batches were cut");
    assert!(bottleneck > 0.8, "{known:?}");
}
