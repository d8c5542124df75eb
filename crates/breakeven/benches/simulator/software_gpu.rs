//! CPU and Mesa's software GPU, whose threads share the cores with the workers. What it takes
//! alone is measured, and what both take together is simulated from that.

use std::sync::Arc;
use std::time::Instant;

use breakeven::execute::{GpuExecutor, RayonCpu, StrategyManager};
use breakeven::gpu::{Gpu, OperatorExecutor};
use breakeven::hardware::{GpuKind, HardwareCapabilities};
use breakeven::kernels::{Conv2d, SOBEL_X};
use breakeven::plan::ExecutionStrategy;
use breakeven::profile::stats::median;
use breakeven::testing::{Scenario, ScenarioGpu};
use breakeven::{Costs, Operator, Tensor, WorkloadProfile};
use rayon::ThreadPoolBuilder;

use crate::{Errors, WARM, WORKERS, virtually};

type Task = Vec<Tensor<'static>>;
type Executor = OperatorExecutor<Conv2d>;

/// Sides of the images, tasks in a batch.
const IMAGES: [usize; 2] = [64, 256];
const TASKS: [usize; 3] = [8, 64, 256];

/// Tasks of a batch beside which waking the workers takes nothing.
const MANY: usize = 1_000;

pub(crate) fn compare(rounds: usize) {
    let hardware = HardwareCapabilities::detect();
    let software = |gpu: &&breakeven::hardware::GpuInfo| gpu.kind == GpuKind::Software;
    let Some(info) = hardware.gpus.iter().find(software) else {
        println!("NOT MEASURED: there is no software GPU (Debian: mesa-vulkan-drivers)");
        return;
    };
    let gpu = Gpu::open(&info.id).expect("it was found");
    let mut errors = Errors::of("software_gpu");
    for side in IMAGES {
        let filter = Tensor::new(&SOBEL_X, &[3, 3]).expect("nine values");
        let operator = Arc::new(Conv2d::new(filter, 1, 1).expect("a filter"));
        let executor = Arc::new(OperatorExecutor::new(&gpu, Arc::clone(&operator)));
        let time = |tasks: usize, strategy| times(&operator, &executor, side, tasks, strategy);
        let alone = |tasks, strategy| median(&time(tasks, strategy)).expect("there are times");
        // While all workers are at it: they share caches and memory.
        let cpu_ns = alone(MANY, ExecutionStrategy::CpuOnly);
        let cpu_task_ns = cpu_ns * WORKERS as f64 / MANY as f64;
        for tasks in TASKS {
            let [one, all] = [1, tasks].map(|tasks| alone(tasks, ExecutionStrategy::GpuOnly));
            let each = (all - one).max(0.0) / (tasks - 1) as f64;
            let mut scenario = Scenario::new((0..tasks).map(|_| 1.0), WORKERS);
            scenario.cpu_task_ns = cpu_task_ns;
            scenario.gpus = vec![ScenarioGpu {
                task_ns: each,
                ..ScenarioGpu::lavapipe((one - each).max(0.0), WORKERS)
            }];
            for strategy in [
                ExecutionStrategy::hybrid(30).expect("30 %"),
                ExecutionStrategy::hybrid(70).expect("70 %"),
                ExecutionStrategy::Auto,
            ] {
                let (mut real, mut simulated) = (Vec::new(), Vec::new());
                for round in 0..rounds {
                    real.extend(time(tasks, strategy));
                    simulated.extend(virtually(&scenario, strategy, round));
                }
                errors.add(&format!("{tasks}x{side}/{strategy}"), &real, &simulated);
            }
        }
    }
    errors.print();
}

fn image(side: usize, seed: usize) -> Task {
    let value = |at: usize| ((at * 37 + at / 251 + seed * 101) % 256) as f32 / 256.0;
    let values: Vec<f32> = (0..side * side).map(value).collect();
    vec![Tensor::new(values, &[1, side, side]).expect("as many values")]
}

/// Times of warm batches of images, ns.
fn times(
    operator: &Conv2d,
    executor: &Arc<Executor>,
    side: usize,
    tasks: usize,
    strategy: ExecutionStrategy,
) -> Vec<f64> {
    let tasks: Vec<Task> = (0..tasks).map(|seed| image(side, seed)).collect();
    let pool = ThreadPoolBuilder::new().num_threads(WORKERS).build();
    let cpu = Arc::new(RayonCpu::with_pool(Arc::new(pool.expect("a pool"))));
    let manager = StrategyManager::new(cpu, Arc::clone(executor))
        .with_costs(Arc::new(Costs::new()))
        .allow_software_gpu();
    let bytes = executor.batch_bytes(&tasks).unwrap_or_default() / tasks.len() as u64;
    let workload = WorkloadProfile::from_task_count(tasks.len())
        .with_memory_per_task(usize::try_from(bytes).unwrap_or(usize::MAX));
    let mut times = Vec::new();
    for number in 0..2 * WARM {
        let began = Instant::now();
        let batch = manager.operation("conv2d").workload(workload);
        let result = batch
            .strategy(strategy)
            .execute(&tasks, |task| operator.on_cpu(task));
        let took = began.elapsed();
        assert!(result.is_ok());
        if number >= WARM {
            times.push(took.as_nanos() as f64);
        }
    }
    times
}
