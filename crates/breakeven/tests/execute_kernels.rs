//! Operators as executors on a real device: started, awaited, cut into tasks.

use std::any::TypeId;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use breakeven::Costs;
use breakeven::execute::{GpuExecutor, RayonCpu, StrategyManager};
use breakeven::gpu::{Gpu, OperatorExecutor};
use breakeven::hardware::GpuKind;
use breakeven::kernels::{
    ArForecast, Connectivity, Conv2d, DendriticIntegration, DotProduct, ImageSegmentation,
    LstmCell, MatrixMultiply, Nonlinearity, PixelEntropy, SOBEL_X, VectorAdd,
};
use breakeven::{DeviceErrorKind, Element, Operator, Tensor, WorkloadProfile};

use crate::device::first_gpu;
use crate::wait::block_on;

/// The inputs of a task.
type Task = Vec<Tensor<'static>>;

/// Values that differ from each other and repeat after a prime number of them.
fn values(shape: &[usize], seed: usize) -> Tensor<'static> {
    let value = |at: usize| ((at * 37 + seed * 101) % 251) as f32 / 256.0;
    let len = shape.iter().product();
    Tensor::new((0..len).map(value).collect::<Vec<f32>>(), shape).unwrap()
}

fn image([height, width]: [usize; 2], seed: usize) -> Task {
    vec![values(&[1, height, width], seed)]
}

/// Images of several sizes, neighbours alike and not, one of no pixels.
fn images() -> Vec<Task> {
    let sizes = [
        [40, 30],
        [40, 30],
        [40, 30],
        [17, 64],
        [0, 5],
        [1, 1],
        [40, 30],
    ];
    let images = sizes.into_iter().enumerate();
    images.map(|(seed, size)| image(size, seed)).collect()
}

fn pair([m, k, n]: [usize; 3], seed: usize) -> Task {
    vec![values(&[1, m, k], seed), values(&[1, k, n], seed + 50)]
}

fn entropy() -> PixelEntropy {
    PixelEntropy::new(9).unwrap()
}

fn edges() -> Conv2d {
    Conv2d::new(Tensor::new(&SOBEL_X, &[3, 3]).unwrap(), 1, 1).unwrap()
}

/// The device's outputs are those of the CPU, task by task.
fn agrees<O: Operator<In = f32>>(gpu: &Gpu, operator: O, tasks: &[Task], tolerance: f32) {
    let operator = Arc::new(operator);
    let executor = OperatorExecutor::new(gpu, Arc::clone(&operator));
    let flight = executor.start(tasks).unwrap();
    let outputs = block_on(flight, Duration::from_secs(60)).unwrap().unwrap();
    let expected: Vec<_> = tasks
        .iter()
        .map(|task| operator.on_cpu(task).unwrap())
        .collect();
    close(&outputs, &expected, tolerance);
}

/// Labels are equal, numbers close.
fn close<E: Element>(outputs: &[Tensor<'_, E>], expected: &[Tensor<'_, E>], tolerance: f32) {
    assert_eq!(outputs.len(), expected.len());
    for (task, (output, expected)) in outputs.iter().zip(expected).enumerate() {
        assert_eq!(output.shape(), expected.shape(), "task {task}");
        let (output, expected) = (output.host().unwrap(), expected.host().unwrap());
        if TypeId::of::<E>() != TypeId::of::<f32>() {
            let [output, expected] = [output, expected].map(bytemuck::cast_slice::<E, u32>);
            assert!(output == expected, "task {task}: labels differ");
            continue;
        }
        let [output, expected] = [output, expected].map(bytemuck::cast_slice::<E, f32>);
        let off = |(a, b): (&f32, &f32)| (a - b).abs() / b.abs().max(1.0);
        let worst = output.iter().zip(expected).map(off).fold(0.0, f32::max);
        assert!(worst <= tolerance, "task {task} is off by {worst:e}");
    }
}

/// Under each strategy every task has the CPU form's output, and the devices that
/// were to run did.
fn under_all_strategies<O: Operator<In = f32, Out = f32>>(
    name: &str,
    gpu: &Gpu,
    operator: O,
    tasks: &[Task],
    tolerance: f32,
) {
    let operator = Arc::new(operator);
    let executor = Arc::new(OperatorExecutor::new(gpu, Arc::clone(&operator)));
    let on_cpu = |task: &Task| operator.on_cpu(task);
    let expected: Vec<_> = tasks.iter().map(|task| on_cpu(task).unwrap()).collect();
    let (all, half) = (tasks.len(), tasks.len() / 2);
    for (strategy, on_gpu) in [
        ("auto", 0..=all),
        ("cpu-only", 0..=0),
        ("gpu-only", all..=all),
        ("hybrid:50/50", half..=all - half),
    ] {
        let manager = StrategyManager::new(Arc::new(RayonCpu::current()), Arc::clone(&executor))
            .with_strategy(strategy.parse().unwrap())
            .with_costs(Arc::new(Costs::new()))
            .allow_software_gpu();
        // Twice: Auto knows something the second time.
        for _ in 0..2 {
            let result = manager
                .operation(name)
                .workload(WorkloadProfile::from_task_count(all))
                .execute(tasks, on_cpu)
                .unwrap();
            close(&result.outputs, &expected, tolerance);
            assert!(!result.fallback_occurred, "{}", result.explain());
            assert!(
                on_gpu.contains(&result.gpu.tasks),
                "{strategy}: {}",
                result.explain()
            );
            assert_eq!(result.cpu.tasks + result.gpu.tasks, all, "{strategy}");
            let devices: Vec<_> = result.gpus.iter().map(|gpu| gpu.device.as_str()).collect();
            assert!(result.gpu.tasks == 0 || devices == [executor.gpu().id().as_str()]);
        }
    }
}

#[test]
fn batches_run_under_all_strategies() {
    let Some(gpu) = first_gpu() else {
        return;
    };
    let images: Vec<_> = (0..120).map(|seed| image([24, 32], seed)).collect();
    under_all_strategies("entropy", &gpu, entropy(), &images, 1e-3);
    under_all_strategies("edges", &gpu, edges(), &images, 1e-4);
    let pairs: Vec<_> = (0..120).map(|seed| pair([9, 16, 5], seed)).collect();
    under_all_strategies("product", &gpu, MatrixMultiply, &pairs, 1e-4);
}

#[test]
fn images_of_many_sizes_run_under_all_strategies() {
    let Some(gpu) = first_gpu() else {
        return;
    };
    let images: Vec<_> = (0..40)
        .map(|seed| image([20 + seed / 7, 30 + seed % 3 * 8], seed))
        .collect();
    under_all_strategies("entropy of many", &gpu, entropy(), &images, 1e-3);
    under_all_strategies("edges of many", &gpu, edges(), &images, 1e-4);
}

#[test]
fn what_the_operator_refuses_the_cpu_gets_and_names() {
    let Some(gpu) = first_gpu() else {
        return;
    };
    let mut images: Vec<_> = (0..30).map(|seed| image([8, 8], seed)).collect();
    images[17] = vec![values(&[1, 64], 17)];
    let operator = Arc::new(entropy());
    let executor = Arc::new(OperatorExecutor::new(&gpu, Arc::clone(&operator)));
    let manager = StrategyManager::new(Arc::new(RayonCpu::current()), executor)
        .with_strategy("gpu-only".parse().unwrap())
        .with_costs(Arc::new(Costs::new()));
    let batch = || manager.operation("entropy of one that is no image");
    let on_cpu = |task: &Task| operator.on_cpu(task);
    let error = batch().execute(&images, on_cpu).unwrap_err();
    assert!(error.to_string().starts_with("task 17: "), "{error}");
    let each = batch().execute_each(&images, on_cpu).unwrap();
    assert!(each.fallback_occurred);
    assert_eq!(
        each.outputs.iter().filter(|output| output.is_err()).count(),
        1
    );
}

#[test]
fn tasks_of_many_shapes_are_one_batch() {
    let Some(gpu) = first_gpu() else {
        return;
    };
    let images = images();
    agrees(&gpu, entropy(), &images, 1e-3);
    // No filter is put on an image of no pixels.
    let has_pixels = |image: &Task| !image[0].is_empty();
    let with_pixels: Vec<_> = images.into_iter().filter(has_pixels).collect();
    agrees(&gpu, edges(), &with_pixels, 1e-4);
    let shapes = [[9, 16, 5], [9, 16, 5], [3, 4, 3], [9, 16, 5]];
    let pairs: Vec<_> = shapes
        .into_iter()
        .zip(0..)
        .map(|(shape, seed)| pair(shape, seed))
        .collect();
    agrees(&gpu, MatrixMultiply, &pairs, 1e-4);
    let vectors: Vec<_> = [70, 70, 0, 33]
        .map(|len| vec![values(&[1, len], 1), values(&[1, len], 2)])
        .to_vec();
    agrees(&gpu, VectorAdd, &vectors, 0.0);
    agrees(&gpu, VectorAdd, &[], 0.0);
}

#[test]
fn every_kernels_tasks_have_the_cpus_outputs() {
    let Some(gpu) = first_gpu() else {
        return;
    };
    let tasks = |shapes: &[&[usize]]| -> Vec<Task> {
        let task = |seed| shapes.iter().map(|shape| values(shape, seed)).collect();
        (0..3).map(task).collect()
    };
    let vectors = tasks(&[&[1, 1_000], &[1, 1_000]]);
    agrees(&gpu, VectorAdd, &vectors, 0.0);
    agrees(&gpu, DotProduct, &vectors, 1e-3);
    let squares = tasks(&[&[1, 256, 256], &[1, 256, 256]]);
    agrees(&gpu, MatrixMultiply, &squares, 1e-3);
    let images = tasks(&[&[1, 256, 256]]);
    agrees(&gpu, edges(), &images, 1e-3);
    agrees(&gpu, entropy(), &images, 1e-3);
    let segments = ImageSegmentation::new(100.0 / 256.0, Connectivity::Four).unwrap();
    agrees(&gpu, segments, &images, 0.0);
    let noise = |t: usize| ((t * 7919 + t * t % 4001) % 1013) as f32 / 1013.0;
    let series: Vec<f32> = (0..1_000).map(noise).collect();
    let series = vec![vec![Tensor::new(series, &[1, 1_000]).unwrap()]; 3];
    agrees(&gpu, ArForecast::new(5, 10).unwrap(), &series, 1e-3);
    let weights = |len: usize| values(&[len], 7).into_vec().unwrap();
    let (input, hidden) = (weights(4 * 128 * 64), weights(4 * 128 * 128));
    let bias = weights(4 * 128);
    let cell = LstmCell::new(&input, &hidden, &bias, &bias, [64, 128]).unwrap();
    agrees(&gpu, cell, &tasks(&[&[1, 64], &[1, 128], &[1, 128]]), 1e-3);
    let rule = Nonlinearity::Sigmoid { k: 2.0, theta: 0.5 };
    let neurons =
        DendriticIntegration::new(values(&[10, 8, 16], 1), values(&[10, 8], 2), rule).unwrap();
    agrees(&gpu, neurons, &tasks(&[&[1, 10, 8, 16]]), 1e-3);
}

#[test]
fn the_device_and_the_memory_are_reported() {
    let Some(gpu) = first_gpu() else {
        return;
    };
    let executor = OperatorExecutor::new(&gpu, Arc::new(VectorAdd));
    let device = GpuExecutor::<Task, _>::device(&executor).unwrap().spec();
    assert_eq!(device.name, gpu.id().to_string());
    assert_eq!(
        device.kind == GpuKind::Software,
        gpu.info().kind == GpuKind::Software
    );
    assert_eq!(device.driver, gpu.info().driver);
    let task = |a: usize, b: usize| vec![values(&[1, a], 0), values(&[1, b], 1)];
    let bytes = |tasks: &[Task]| executor.batch_bytes(tasks);
    assert_eq!(bytes(&[task(10, 10), task(4, 4)]), Some(12 * 14));
    assert_eq!(bytes(&[task(10, 9)]), None);
    // Two images and their labels; of each its one tile: two words for each component that
    // its rim may have, words for the rim, twelve for each row, two counts.
    let segments = ImageSegmentation::new(0.5, Connectivity::Four).unwrap();
    let executor = OperatorExecutor::new(&gpu, Arc::new(segments));
    let images = [image([8, 8], 0), image([8, 8], 1)];
    assert_eq!(
        executor.batch_bytes(&images),
        Some(2 * (2 * 256 + 2 * 64 + 64 + 12 * 32 + 2 * 4))
    );
    // The filter is there once.
    let executor = OperatorExecutor::new(&gpu, Arc::new(edges()));
    assert_eq!(executor.batch_bytes(&images), Some(4 * 256 + 36));
}

#[test]
fn a_task_of_a_wrong_shape_is_refused_before_the_device_runs() {
    let Some(gpu) = first_gpu() else {
        return;
    };
    let mut images = images();
    images[1] = vec![values(&[1, 9], 0)];
    let executor = OperatorExecutor::new(&gpu, Arc::new(entropy()));
    let error = executor.start(&images).unwrap_err();
    assert_eq!(error.kind, DeviceErrorKind::Refused);
    assert_eq!(
        error.message,
        "pixel_entropy: a shape of 1×9; give batch × height × width"
    );
}

/// Work for a device for a while.
fn long(seed: usize) -> Tensor<'static> {
    values(&[1, 256, 256], seed)
}

#[test]
fn looking_does_not_wait_and_two_batches_do_not_mix() {
    let Some(gpu) = first_gpu() else {
        return;
    };
    let operator = Arc::new(PixelEntropy::new(33).unwrap());
    let executor = OperatorExecutor::new(&gpu, Arc::clone(&operator));
    // Compiled and warm.
    gpu.run(&*operator, &long(0)).unwrap();
    let images = [long(1), long(2), long(3)];
    let start = Instant::now();
    let flights = images
        .each_ref()
        .map(|image| executor.start(std::slice::from_ref(image)).unwrap());
    let submitted = start.elapsed();
    let (mut looks, mut longest) = (0, Duration::ZERO);
    let mut context = Context::from_waker(Waker::noop());
    for (image, mut flight) in images.iter().zip(flights) {
        let outputs = loop {
            let look = Instant::now();
            if let Poll::Ready(outputs) = Pin::new(&mut flight).poll(&mut context) {
                break outputs.unwrap();
            }
            longest = longest.max(look.elapsed());
            looks += 1;
            std::thread::sleep(Duration::from_millis(1));
        };
        close(&outputs, &[operator.on_cpu(image).unwrap()], 1e-3);
    }
    let all = start.elapsed();
    // A real GPU may be done by then.
    let may_be_there = gpu.info().kind != GpuKind::Software;
    assert!(
        looks > 0 || may_be_there,
        "it was there before anybody looked, after {all:?}"
    );
    // Far under the time of the work, on a machine with other work beside it.
    assert!(longest < all / 3, "a look took {longest:?} of {all:?}");
    assert!(submitted < all, "submitting took {submitted:?} of {all:?}");
}

#[test]
fn large_launches_report_what_moving_their_data_took() {
    let Some(gpu) = first_gpu() else {
        return;
    };
    let executor = OperatorExecutor::new(&gpu, Arc::new(VectorAdd));
    let task = |len: usize| vec![values(&[1, len], 1), values(&[1, len], 2)];
    let run = |task: Task| {
        let start = Instant::now();
        let mut flight = executor.start(&[task]).unwrap();
        let outputs = block_on(&mut flight, Duration::from_secs(60)).expect("it ends");
        assert_eq!(outputs.unwrap().len(), 1);
        let took = flight.transfer_time();
        assert!(took.is_none_or(|took| took > Duration::ZERO && took < start.elapsed()));
        took
    };
    assert!((0..5).all(|_| run(task(200_000)).is_some()));
    assert!((0..5).all(|_| run(task(1_000)).is_none()));
}
