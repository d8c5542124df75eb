//! Kernels as executors on a real device: submitted, polled, cut into tasks.

use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use breakeven::execute::{GpuExecutor, RayonCpu, StrategyManager};
use breakeven::gpu::{Buffer, Gpu, KernelExecutor};
use breakeven::hardware::GpuKind;
use breakeven::kernels::{
    Conv2d, GreyImage, Kernel, Matrix, MatrixMultiply, PixelEntropy, SOBEL_X, VectorAdd, Work,
};
use breakeven::plan::Costs;
use breakeven::{DeviceError, DeviceErrorKind, Error, WorkloadProfile};

use crate::device::first_gpu;
use crate::wait::block_on;

/// Values that differ from each other and repeat after a prime number of them.
fn values(len: usize, seed: usize) -> Vec<f32> {
    let value = |at: usize| ((at * 37 + seed * 101) % 251) as f32 / 256.0;
    (0..len).map(value).collect()
}

fn image([height, width]: [usize; 2], seed: usize) -> GreyImage {
    GreyImage {
        height,
        width,
        pixels: values(height * width, seed),
    }
}

/// Images of several sizes, neighbours alike and not, one of no pixels.
fn images() -> Vec<GreyImage> {
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

fn matrix([rows, columns]: [usize; 2], seed: usize) -> Matrix {
    Matrix {
        rows,
        columns,
        values: values(rows * columns, seed),
    }
}

fn pairs() -> Vec<(Matrix, Matrix)> {
    let dims = [[9, 16, 5], [9, 16, 5], [3, 4, 3], [9, 16, 5]];
    dims.into_iter()
        .enumerate()
        .map(|(seed, [m, k, n])| (matrix([m, k], seed), matrix([k, n], seed + 50)))
        .collect()
}

fn entropy(image: &GreyImage) -> Result<Vec<f32>, Error> {
    Ok(PixelEntropy::of(std::slice::from_ref(image), 9)?.cpu())
}

fn edges(image: &GreyImage) -> Result<Vec<f32>, Error> {
    let image = std::slice::from_ref(image);
    Ok(Conv2d::of(image, &SOBEL_X[..], [3, 3], 1, 1)?.cpu())
}

fn product(pair: &(Matrix, Matrix)) -> Result<Vec<f32>, Error> {
    Ok(MatrixMultiply::of(std::slice::from_ref(pair))?.cpu())
}

/// The executor's outputs are the CPU function's, within `tolerance`.
fn agrees<I>(
    executor: &KernelExecutor<I, Vec<f32>>,
    tasks: &[I],
    on_cpu: impl Fn(&I) -> Result<Vec<f32>, Error>,
    tolerance: f32,
) {
    let flight = executor.start(tasks).unwrap();
    let outputs = block_on(flight, Duration::from_secs(60)).unwrap().unwrap();
    let expected: Vec<_> = tasks.iter().map(|task| on_cpu(task).unwrap()).collect();
    close(&outputs, &expected, tolerance);
}

fn close(outputs: &[Vec<f32>], expected: &[Vec<f32>], tolerance: f32) {
    assert_eq!(outputs.len(), expected.len());
    for (task, (output, expected)) in outputs.iter().zip(expected).enumerate() {
        assert_eq!(output.len(), expected.len(), "task {task}");
        let worst = output.iter().zip(expected).map(|(a, b)| (a - b).abs());
        let worst = worst.fold(0.0, f32::max);
        assert!(worst <= tolerance, "task {task} is off by {worst:e}");
    }
}

/// Under each strategy every task has the CPU function's output, and the devices
/// that were to run did.
fn under_all_strategies<I: Sync>(
    operation: &str,
    executor: KernelExecutor<I, Vec<f32>>,
    tasks: &[I],
    on_cpu: impl Fn(&I) -> Result<Vec<f32>, Error> + Sync,
    tolerance: f32,
) {
    let executor = Arc::new(executor);
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
                .operation(operation)
                .workload(WorkloadProfile::from_task_count(all))
                .execute(tasks, &on_cpu)
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
            assert!(strategy == "cpu-only" || devices == [executor.gpu().id().as_str()]);
        }
    }
}

#[test]
fn batches_run_under_all_strategies() {
    let Some(gpu) = first_gpu().map(Arc::new) else {
        return;
    };
    let images: Vec<_> = (0..120).map(|seed| image([24, 32], seed)).collect();
    let executor = KernelExecutor::pixel_entropy(Arc::clone(&gpu), 9).unwrap();
    under_all_strategies("entropy", executor, &images, entropy, 1e-3);
    let executor =
        KernelExecutor::conv2d(Arc::clone(&gpu), SOBEL_X.to_vec(), [3, 3], 1, 1).unwrap();
    under_all_strategies("edges", executor, &images, edges, 1e-4);
    let pairs: Vec<_> = (0..120)
        .map(|seed| (matrix([9, 16], seed), matrix([16, 5], seed + 500)))
        .collect();
    let executor = KernelExecutor::matrix_multiply(gpu);
    under_all_strategies("product", executor, &pairs, product, 1e-4);
}

#[test]
fn images_of_many_sizes_run_under_all_strategies() {
    let Some(gpu) = first_gpu().map(Arc::new) else {
        return;
    };
    let images: Vec<_> = (0..40)
        .map(|seed| image([20 + seed / 7, 30 + seed % 3 * 8], seed))
        .collect();
    let executor = KernelExecutor::pixel_entropy(Arc::clone(&gpu), 9).unwrap();
    under_all_strategies("entropy of many", executor, &images, entropy, 1e-3);
    let executor =
        KernelExecutor::conv2d(Arc::clone(&gpu), SOBEL_X.to_vec(), [3, 3], 1, 1).unwrap();
    under_all_strategies("edges of many", executor, &images, edges, 1e-4);
}

#[test]
fn what_the_kernel_refuses_the_cpu_gets_and_names() {
    let Some(gpu) = first_gpu().map(Arc::new) else {
        return;
    };
    let mut images: Vec<_> = (0..30).map(|seed| image([8, 8], seed)).collect();
    images[17].pixels.pop();
    let executor = Arc::new(KernelExecutor::pixel_entropy(gpu, 9).unwrap());
    let manager = StrategyManager::new(Arc::new(RayonCpu::current()), executor)
        .with_strategy("gpu-only".parse().unwrap())
        .with_costs(Arc::new(Costs::new()));
    let batch = || manager.operation("entropy of one without its shape");
    let error = batch().execute(&images, entropy).unwrap_err();
    assert!(error.to_string().starts_with("task 17: "), "{error}");
    let each = batch().execute_each(&images, entropy).unwrap();
    assert!(each.fallback_occurred);
    assert_eq!(
        each.outputs.iter().filter(|output| output.is_err()).count(),
        1
    );
}

#[test]
fn tasks_of_many_shapes_are_one_batch() {
    let Some(gpu) = first_gpu().map(Arc::new) else {
        return;
    };
    let images = images();
    let executor = KernelExecutor::pixel_entropy(Arc::clone(&gpu), 9).unwrap();
    agrees(&executor, &images, entropy, 1e-3);
    let executor =
        KernelExecutor::conv2d(Arc::clone(&gpu), SOBEL_X.to_vec(), [3, 3], 1, 1).unwrap();
    // No filter is put on an image of no pixels.
    let with_pixels: Vec<_> = images
        .into_iter()
        .filter(|image| image.height > 0)
        .collect();
    agrees(&executor, &with_pixels, edges, 1e-4);
    let executor = KernelExecutor::matrix_multiply(Arc::clone(&gpu));
    agrees(&executor, &pairs(), product, 1e-4);
    let executor = KernelExecutor::vector_add(gpu);
    let vectors: Vec<_> = [70, 70, 0, 33]
        .into_iter()
        .map(|len| (values(len, 1), values(len, 2)))
        .collect();
    let sum = |pair: &(Vec<f32>, Vec<f32>)| {
        VectorAdd::of(std::slice::from_ref(pair)).map(|problem| problem.cpu())
    };
    agrees(&executor, &vectors, sum, 0.0);
    agrees(&executor, &[], sum, 0.0);
}

#[test]
fn the_device_and_the_memory_are_told() {
    let Some(gpu) = first_gpu().map(Arc::new) else {
        return;
    };
    let executor = KernelExecutor::vector_add(Arc::clone(&gpu));
    let device = executor.device().unwrap();
    assert_eq!(device.name, gpu.id().to_string());
    assert_eq!(
        device.kind == GpuKind::Software,
        gpu.info().kind == GpuKind::Software
    );
    assert_eq!(device.driver, gpu.info().driver);
    let tasks = [(values(10, 0), values(10, 1)), (values(4, 0), values(4, 1))];
    assert_eq!(executor.batch_bytes(&tasks), Some(12 * 14));
    assert_eq!(executor.batch_bytes(&[(values(10, 0), values(9, 0))]), None);
}

#[test]
fn a_task_without_its_shape_is_refused_before_the_device_runs() {
    let Some(gpu) = first_gpu().map(Arc::new) else {
        return;
    };
    let mut images = images();
    images[1].pixels.pop();
    let executor = KernelExecutor::pixel_entropy(Arc::clone(&gpu), 9).unwrap();
    let error = executor.start(&images).unwrap_err();
    assert_eq!(error.kind, DeviceErrorKind::Refused);
    assert!(
        error.message.contains("image 1 of the batch has 1199"),
        "{error}"
    );
    assert!(KernelExecutor::pixel_entropy(Arc::clone(&gpu), 0).is_err());
    assert!(KernelExecutor::conv2d(gpu, vec![1.0; 8], [3, 3], 1, 1).is_err());
}

/// Work for a device for a while.
fn long(seed: usize) -> PixelEntropy<'static> {
    PixelEntropy::new(values(256 * 256, seed), [1, 256, 256], 33).unwrap()
}

#[test]
fn looking_does_not_wait_and_two_batches_do_not_mix() {
    let Some(gpu) = first_gpu() else {
        return;
    };
    // Compiled and warm.
    gpu.solve(&long(0)).unwrap();
    let problems = [long(1), long(2), long(3)];
    let start = Instant::now();
    let mut pending: Vec<_> = problems.iter().map(|problem| gpu.submit(problem)).collect();
    let submitted = start.elapsed();
    let (mut looks, mut longest) = (0, Duration::ZERO);
    for (problem, pending) in problems.iter().zip(&mut pending) {
        let pending = pending.as_mut().unwrap();
        let output = loop {
            let look = Instant::now();
            let polled = gpu.poll(pending);
            if let Poll::Ready(output) = polled {
                break output.unwrap();
            }
            longest = longest.max(look.elapsed());
            looks += 1;
            gpu.wait_for(pending, Duration::from_millis(1));
        };
        close(&[output], &[problem.cpu()], 1e-3);
    }
    let all = start.elapsed();
    assert!(
        looks > 0,
        "it was there before anybody looked, after {all:?}"
    );
    // Far under the time of the work, on a machine with other work beside it.
    assert!(longest < all / 3, "a look took {longest:?} of {all:?}");
    assert!(submitted < all, "submitting took {submitted:?} of {all:?}");
}

#[test]
fn what_is_given_up_does_no_harm_and_a_slow_device_times_out() {
    let Some(mut gpu) = first_gpu() else {
        return;
    };
    for seed in 0..4 {
        drop(gpu.submit(&long(seed)).unwrap());
    }
    gpu.set_timeout(Duration::ZERO);
    let mut late = gpu.submit(&long(4)).unwrap();
    std::thread::sleep(Duration::from_millis(1));
    match gpu.poll(&mut late) {
        Poll::Ready(Err(error)) => assert_eq!(error.kind, DeviceErrorKind::Timeout),
        other => panic!("{other:?}"),
    }
    gpu.set_timeout(breakeven::gpu::DEFAULT_TIMEOUT);
    let sum = VectorAdd::new(values(8, 0), values(8, 1), 1).unwrap();
    let mut pending = gpu.submit(&sum).unwrap();
    let output = loop {
        match gpu.poll(&mut pending) {
            Poll::Ready(output) => break output.unwrap(),
            Poll::Pending => gpu.wait_for(&pending, Duration::from_secs(1)),
        }
    };
    assert_eq!(output, sum.cpu());
}

/// A problem of no input, and more output than any device has memory for.
struct Huge;

impl Kernel for Huge {
    type Element = f32;

    fn output_len(&self) -> usize {
        1 << 48
    }

    fn work(&self) -> Work {
        Work {
            items: 1,
            elements: 1 << 48,
            flops: 0,
            bytes: self.memory_bytes(),
        }
    }

    fn memory_bytes(&self) -> u64 {
        1 << 50
    }

    fn cpu_into(&self, _: &mut [f32]) {
        unreachable!("it is for a device that refuses it");
    }

    fn device_inputs(&self) -> Vec<&[u8]> {
        Vec::new()
    }

    fn launch(&self, _: &Gpu, _: &[Buffer], _: &Buffer) -> Result<(), DeviceError> {
        unreachable!("it fits no device");
    }
}

#[test]
fn a_batch_that_never_fits_is_refused_at_once() {
    let Some(gpu) = first_gpu().map(Arc::new) else {
        return;
    };
    let error = gpu.submit(&Huge).unwrap_err();
    assert_eq!(error.kind, DeviceErrorKind::NeverFits);
    let executor = KernelExecutor::<u8, _>::new(gpu, |_| Ok(Box::new(Huge)), <[f32]>::len);
    let error = executor.start(&[0; 4]).unwrap_err();
    assert_eq!(error.kind, DeviceErrorKind::NeverFits);
    assert_eq!(executor.batch_bytes(&[0; 4]), Some(4 << 50));
    let error = executor.start(&[0; 3]).unwrap_err();
    assert_eq!(error.kind, DeviceErrorKind::Unsupported, "{error}");
}
