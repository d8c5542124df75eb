//! CPU and a GPU: Mesa's software one, whose threads share the cores with the workers, or the best
//! one. What each takes alone is measured, and what both take together is simulated from that and
//! recorded in a small file, so that it can be simulated again elsewhere.

use std::sync::Arc;
use std::time::Instant;

use breakeven::execute::{GpuExecutor, RayonCpu, StrategyManager};
use breakeven::gpu::{Gpu, OperatorExecutor};
use breakeven::hardware::{GpuInfo, GpuKind, HardwareCapabilities};
use breakeven::kernels::{Conv2d, SOBEL_X};
use breakeven::plan::ExecutionStrategy;
use breakeven::profile::stats::median;
use breakeven::testing::{Scenario, ScenarioGpu};
use breakeven::{Costs, Operator, Tensor, WorkloadProfile};
use rayon::ThreadPoolBuilder;
use serde::{Deserialize, Serialize};

use crate::{Errors, WARM, WORKERS, metric, virtually};

type Task = Vec<Tensor<'static>>;
type Executor = OperatorExecutor<Conv2d>;

/// Sides of the images, tasks in a batch.
const IMAGES: [usize; 2] = [64, 256];
const TASKS: [usize; 2] = [8, 64];

/// Tasks of a batch beside which waking the workers takes nothing.
const MANY: usize = 500;

/// A batch: what each device took alone, and real times of both together.
#[derive(Serialize, Deserialize)]
struct Recorded {
    name: String,
    strategy: String,
    tasks: usize,
    workers: usize,
    /// Time of a task on one worker while all are at work, ns.
    cpu_task_ns: f64,
    /// Times on the GPU alone, ns: a launch, and each task without the host's copies.
    launch_ns: f64,
    task_ns: f64,
    /// The host's copies of a task's input and output, ns.
    host_ns: [f64; 2],
    /// Threads of a software GPU.
    threads: usize,
    /// Real times of warm batches, ns.
    real_ns: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct Recording {
    device: String,
    batches: Vec<Recorded>,
}

impl Recorded {
    /// Simulates the batch.
    fn add_to(&self, errors: &mut Errors<'_>, rounds: usize) {
        let mut scenario = Scenario::new((0..self.tasks).map(|_| 1.0), self.workers);
        scenario.cpu_task_ns = self.cpu_task_ns;
        scenario.gpus = vec![ScenarioGpu {
            launch_ns: self.launch_ns,
            task_ns: self.task_ns,
            host_ns: self.host_ns,
            threads: self.threads,
            ..ScenarioGpu::default()
        }];
        let strategy = self.strategy.parse().expect("as it was written");
        let simulated = (0..rounds).flat_map(|round| virtually(&scenario, strategy, round));
        errors.add(&self.name, &self.real_ns, &simulated.collect::<Vec<_>>());
    }
}

/// Simulates what another run recorded, here or on another machine.
pub(crate) fn replay(file: &str, rounds: usize) {
    let text = std::fs::read_to_string(file).expect("the recording can be read");
    let recording: Recording = serde_json::from_str(&text).expect("a recording");
    let mut errors = Errors::of(&recording.device);
    let batches = recording.batches.iter();
    batches.for_each(|batch| batch.add_to(&mut errors, rounds));
    errors.print();
}

/// Mesa's software GPU.
pub(crate) fn software(rounds: usize) {
    let hardware = HardwareCapabilities::detect();
    let software = |gpu: &&GpuInfo| gpu.kind == GpuKind::Software;
    match hardware.gpus.iter().find(software) {
        Some(info) => compare(info, rounds),
        None => println!("NOT MEASURED: there is no software GPU (Debian: mesa-vulkan-drivers)"),
    }
}

/// The best GPU.
pub(crate) fn best(rounds: usize) {
    match HardwareCapabilities::detect().best_gpu() {
        Some(info) => compare(info, rounds),
        None => println!("NOT MEASURED: there is no GPU; `breakeven devices` says why"),
    }
}

/// Records batches and simulates them.
fn compare(info: &GpuInfo, rounds: usize) {
    let gpu = Gpu::open(&info.id).expect("it was found");
    let is_software = info.kind == GpuKind::Software;
    let (device, workers) = match is_software {
        true => ("software_gpu".to_owned(), WORKERS),
        false => (info.id.to_string(), rayon::current_num_threads()),
    };
    let peak = breakeven::peak::measure_gpu(&gpu).expect("the device answers");
    let (mut batches, mut errors) = (Vec::new(), Errors::of(&device));
    for side in IMAGES {
        let filter = Tensor::new(&SOBEL_X, &[3, 3]).expect("nine values");
        let operator = Arc::new(Conv2d::new(filter, 1, 1).expect("a filter"));
        let executor = Arc::new(OperatorExecutor::new(&gpu, Arc::clone(&operator)));
        let time =
            |tasks: usize, strategy| times(&operator, &executor, [side, tasks, workers], strategy);
        let alone = |tasks, strategy| median(&time(tasks, strategy)).expect("there are times");
        // While all workers are at it: they share caches and memory.
        let cpu_ns = alone(MANY, ExecutionStrategy::CpuOnly);
        let copy_ns = |rate: Option<f64>| match rate {
            Some(rate) if !is_software => (4 * side * side) as f64 / rate * 1e9,
            _ => 0.0,
        };
        let host_ns = [peak.upload_bytes_per_s, peak.download_bytes_per_s].map(copy_ns);
        for tasks in TASKS {
            let [one, all] = [1, tasks].map(|tasks| alone(tasks, ExecutionStrategy::GpuOnly));
            let each = (all - one).max(0.0) / (tasks - 1) as f64;
            for strategy in [
                ExecutionStrategy::hybrid(30).expect("30 %"),
                ExecutionStrategy::hybrid(70).expect("70 %"),
                ExecutionStrategy::Auto,
            ] {
                let batch = Recorded {
                    name: format!("{tasks}x{side}/{strategy}"),
                    strategy: strategy.to_string(),
                    tasks,
                    workers,
                    cpu_task_ns: cpu_ns * workers as f64 / MANY as f64,
                    launch_ns: (one - each).max(0.0),
                    task_ns: (each - host_ns[0] - host_ns[1]).max(0.0),
                    host_ns,
                    threads: if is_software { workers } else { 0 },
                    real_ns: (0..rounds).flat_map(|_| time(tasks, strategy)).collect(),
                };
                batch.add_to(&mut errors, rounds);
                batches.push(batch);
            }
        }
    }
    errors.print();
    let recording = Recording { device, batches };
    let file = format!("simulator_{}.json", recording.device.replace(':', "_"));
    let text = serde_json::to_string(&recording).expect("numbers and names");
    let path = metric::folder().join(file);
    std::fs::write(&path, text).expect("the target folder can be written");
    println!("recorded in {}", path.display());
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
    [side, tasks, workers]: [usize; 3],
    strategy: ExecutionStrategy,
) -> Vec<f64> {
    let tasks: Vec<Task> = (0..tasks).map(|seed| image(side, seed)).collect();
    let pool = ThreadPoolBuilder::new().num_threads(workers).build();
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
