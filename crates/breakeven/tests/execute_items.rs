//! Operators through the manager: one tensor in, one tensor out.

use std::sync::Arc;
use std::time::Duration;

use breakeven::Costs;
use breakeven::execute::{CancelToken, ExecuteError, RayonCpu, Stop, StrategyManager, TaskError};
use breakeven::{Error, ErrorKind, Operator, Tensor, View};

use crate::wait::block_on;

/// Items of three numbers become their sum and their product; what is negative is refused.
pub(crate) struct SumAndProduct;

impl Operator for SumAndProduct {
    type In = f32;
    type Out = f32;

    fn name(&self) -> &str {
        "sum_and_product"
    }

    fn output_shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, Error> {
        match inputs {
            [[batch, 3]] => Ok(vec![*batch, 2]),
            _ => Err(Error::shape("sum_and_product: give batch × 3")),
        }
    }

    fn flops(&self, inputs: &[&[usize]]) -> u64 {
        4 * inputs[0][0] as u64
    }

    fn cpu(&self, inputs: &[View<'_, f32>], out: &mut [f32]) -> Result<(), Error> {
        assert_eq!(inputs[0].shape[0] * 2, out.len());
        for (item, out) in inputs[0].values.chunks(3).zip(out.chunks_mut(2)) {
            match item[0] {
                first if first < -1.0 => panic!("far below"),
                first if first < 0.0 => return Err(Error::invalid("a negative number")),
                _ => {}
            }
            std::thread::sleep(Duration::from_secs_f32(item[1] / 1e6));
            (out[0], out[1]) = (item.iter().sum(), item.iter().product());
        }
        Ok(())
    }
}

pub(crate) fn cpu_only() -> StrategyManager<RayonCpu> {
    StrategyManager::cpu_only(Arc::new(RayonCpu::current())).with_costs(Arc::new(Costs::new()))
}

pub(crate) fn items(count: usize) -> Tensor<'static> {
    let values = (0..3 * count).map(|at| (at % 5) as f32).collect::<Vec<_>>();
    Tensor::new(values, &[count, 3]).unwrap()
}

#[test]
fn the_output_is_one_tensor_of_all_items() {
    for count in [0, 1, 2, 1_000] {
        let input = items(count);
        let result = cpu_only().run(&SumAndProduct, &input).unwrap();
        assert_eq!(result.operation, "sum_and_product");
        assert_eq!(result.cpu.tasks, count);
        let expected = SumAndProduct.on_cpu(&input).unwrap();
        let output = result.into_output();
        assert_eq!(output.shape(), [count, 2]);
        assert_eq!(output.host(), expected.host());
    }
    // In parts, with a look at a deadline between them.
    let input = items(1_000);
    let manager = cpu_only();
    let batch = manager
        .operation("watched")
        .deadline(Duration::from_secs(60));
    let result = batch.run(&SumAndProduct, &input).unwrap();
    assert!(result.cpu.spans > 1 || rayon::current_num_threads() == 1);
    let expected = SumAndProduct.on_cpu(&input).unwrap();
    assert_eq!(result.into_output().host(), expected.host());
    // Without waiting.
    let flight = manager.run_async(Arc::new(SumAndProduct), input);
    let result = block_on(flight, Duration::from_secs(60)).unwrap().unwrap();
    assert_eq!(result.into_output().host(), expected.host());
}

#[test]
fn what_cannot_be_done_is_reported() {
    let wrong = Tensor::new(vec![0.0; 4], &[2, 2]).unwrap();
    match cpu_only().run(&SumAndProduct, &wrong) {
        Err(ExecuteError::Invalid(error)) => assert_eq!(error.kind(), ErrorKind::Shape),
        other => panic!("{other:?}"),
    }
    let with = |value: f32| {
        let mut values = items(50).into_vec().unwrap();
        values[3 * 20] = value;
        let input = Tensor::new(values, &[50, 3]).unwrap();
        let batch = cpu_only();
        batch.run(&SumAndProduct, &input).unwrap_err()
    };
    match with(-0.5) {
        ExecuteError::Task {
            index,
            error: TaskError::Failed(error),
        } => {
            assert!(
                index <= 20 && error.to_string().contains("negative"),
                "{index} {error}"
            );
        }
        other => panic!("{other:?}"),
    }
    match with(-2.0) {
        ExecuteError::Task {
            error: TaskError::Panicked(message),
            ..
        } => {
            assert_eq!(message, "far below");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_stop_ends_it() {
    let slow = vec![1_000.0_f32; 3 * 10_000];
    let input = Tensor::new(slow, &[10_000, 3]).unwrap();
    let manager = cpu_only();
    let token = CancelToken::new();
    let stopped = |batch: Result<_, ExecuteError<Error>>| match batch {
        Err(ExecuteError::Stopped { why, done, tasks }) => {
            assert!(done < tasks && tasks == 10_000);
            why
        }
        other => panic!("{:?}", other.map(drop)),
    };
    let batch = manager
        .operation("slow")
        .deadline(Duration::from_millis(20));
    assert_eq!(stopped(batch.run(&SumAndProduct, &input)), Stop::Deadline);
    token.cancel();
    let batch = manager.operation("slow").cancel(&token);
    assert_eq!(stopped(batch.run(&SumAndProduct, &input)), Stop::Cancelled);
}

#[cfg(feature = "gpu")]
mod on_a_gpu {
    use breakeven::execute::CrossCheck;
    use breakeven::gpu::Gpu;
    use breakeven::kernels::{Conv2d, MatrixMultiply, SOBEL_X, VectorAdd};
    use breakeven::plan::{Basis, ExecutionStrategy};

    use super::*;
    use crate::device::first_gpu;

    fn manager(gpu: &Gpu) -> StrategyManager<RayonCpu, Gpu> {
        StrategyManager::new(Arc::new(RayonCpu::current()), Arc::new(gpu.clone()))
            .with_costs(Arc::new(Costs::new()))
            .allow_software_gpu()
    }

    fn images(count: usize) -> Tensor<'static> {
        let values = (0..count * 400).map(|at| ((at * 37) % 251) as f32 / 256.0);
        Tensor::new(values.collect::<Vec<_>>(), &[count, 20, 20]).unwrap()
    }

    #[test]
    fn parts_on_both_sides_are_one_tensor() {
        let Some(gpu) = first_gpu() else { return };
        let edges = Conv2d::new(Tensor::new(&SOBEL_X, &[3, 3]).unwrap(), 1, 1).unwrap();
        let input = images(64);
        let expected = edges.on_cpu(&input).unwrap();
        for (strategy, on_gpu) in [
            (ExecutionStrategy::CpuOnly, 0..=0),
            (ExecutionStrategy::GpuOnly, 64..=64),
            (ExecutionStrategy::hybrid(50).unwrap(), 32..=32),
            (ExecutionStrategy::Auto, 0..=64),
        ] {
            let manager = manager(&gpu).with_strategy(strategy);
            let check = CrossCheck::all(|gpu: &Tensor<'_>, cpu: &Tensor<'_>| {
                let pairs = gpu.host().unwrap().iter().zip(cpu.host().unwrap());
                gpu.shape() == [1, 20, 20] && pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-4)
            });
            let batch = manager.operation("edges").verify(check);
            let result = batch.run(&edges, &input).unwrap();
            assert!(
                on_gpu.contains(&result.gpu.tasks),
                "{strategy}: {}",
                result.explain()
            );
            assert_eq!(
                (result.fallback.tasks, result.cpu.tasks + result.gpu.tasks),
                (0, 64)
            );
            assert_eq!(result.checked, result.gpu.tasks);
            let output = result.into_output();
            assert_eq!(output.shape(), [64, 20, 20]);
            let pairs = output.host().unwrap().iter().zip(expected.host().unwrap());
            let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(worst < 1e-4, "{strategy}: off by {worst}");
        }
    }

    #[test]
    fn a_chain_on_a_device_moves_nothing() {
        let Some(gpu) = first_gpu() else { return };
        let manager = manager(&gpu);
        let square = Tensor::new(
            (0..64).map(|at| at as f32 / 64.0).collect::<Vec<_>>(),
            &[1, 8, 8],
        );
        let square = square.unwrap().to(&gpu).unwrap();
        let before = gpu.transfers();
        let product = manager.run(&MatrixMultiply, &[&square, &square]).unwrap();
        assert_eq!(product.decision.basis, Basis::Resident);
        let product = product.into_output();
        let sum = manager
            .run(&VectorAdd, &[&product, &square])
            .unwrap()
            .into_output();
        assert_eq!(gpu.transfers(), before, "nothing was moved");
        assert_eq!(sum.devices(), [gpu.id().clone()]);
        let on_cpu = MatrixMultiply.on_cpu(&[&square, &square]).unwrap();
        let on_cpu = VectorAdd.on_cpu(&[&on_cpu, &square]).unwrap();
        let pairs = sum.host().unwrap().iter().zip(on_cpu.host().unwrap());
        assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-3));
        assert_ne!(gpu.transfers(), before);
    }

    #[test]
    fn a_batch_that_may_be_stopped_stays_on_its_device() {
        let Some(gpu) = first_gpu() else { return };
        let manager = manager(&gpu);
        let one = images(64).to(&gpu).unwrap();
        let before = gpu.transfers();
        let sum = manager.run_async(Arc::new(VectorAdd), [one.clone(), one.clone()]);
        let sum = sum.wait().unwrap().into_output();
        let token = CancelToken::new();
        let batch = manager.operation("sum").cancel(&token);
        let batch = batch.deadline(Duration::from_secs(100));
        let sum = batch.run(&VectorAdd, &[&sum, &one]).unwrap().into_output();
        assert_eq!(sum.devices(), [gpu.id().clone()]);
        assert_eq!(gpu.transfers(), before, "nothing was moved");
        let thrice = |value: &f32| 3.0 * value;
        let expected: Vec<f32> = one.host().unwrap().iter().map(thrice).collect();
        assert_eq!(sum.host().unwrap(), &expected[..]);
    }

    #[test]
    fn a_first_batch_goes_by_the_stated_work_and_the_measured_peaks() {
        let Some(gpu) = first_gpu() else { return };
        let manager = manager(&gpu);
        let (a, b) = (images(1), images(1));
        let edges = Conv2d::new(Tensor::new(&SOBEL_X, &[3, 3]).unwrap(), 1, 1).unwrap();
        let peaks = manager.measure_peaks().unwrap();
        let devices: Vec<&str> = peaks.iter().map(|peak| peak.device.as_str()).collect();
        assert_eq!(devices, ["cpu", gpu.id().as_str()]);
        let decision = manager.run(&VectorAdd, &[&a, &b]).unwrap().decision;
        let input = images(64);
        let beforehand = manager.operation(edges.name()).decide_run(&edges, &input);
        let first = manager.run(&edges, &input).unwrap().decision;
        assert_eq!(beforehand.unwrap().candidates, first.candidates);
        assert_eq!(decision.basis, Basis::Model, "{:?}", decision.reasons());
        assert_eq!(first.evidence(), breakeven::plan::Evidence::Heuristic);
        assert!(
            first
                .candidates
                .iter()
                .all(|each| each.predicted_ns.is_some())
        );
    }

    #[test]
    fn parameters_are_sent_once() {
        let Some(gpu) = first_gpu() else { return };
        let manager = manager(&gpu).with_strategy(ExecutionStrategy::GpuOnly);
        let edges = Conv2d::new(Tensor::new(&SOBEL_X, &[3, 3]).unwrap(), 1, 1).unwrap();
        let input = images(8);
        let sent = || {
            let before = gpu.transfers().uploaded_bytes;
            drop(manager.run(&edges, &input).unwrap());
            gpu.transfers().uploaded_bytes - before
        };
        let (first, second) = (sent(), sent());
        assert_eq!(second, 4 * 8 * 400, "the images alone");
        assert!(first > second, "and the filter before them: {first}");
    }
}
