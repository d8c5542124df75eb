//! A device's memory: what is counted, what is reused, and the limit.

use std::sync::Arc;

use breakeven::execute::{RayonCpu, StrategyManager};
use breakeven::gpu::{Gpu, Output};
use breakeven::kernels::VectorAdd;
use breakeven::plan::ExecutionStrategy;
use breakeven::{Costs, DeviceErrorKind, Tensor};

use crate::device::first_gpu;

const LEN: usize = 100_000;
const BYTES: u64 = 4 * LEN as u64;

fn numbers() -> Tensor<'static> {
    Tensor::new(vec![1.0; LEN], &[100, LEN / 100]).unwrap()
}

fn sums(gpu: &Gpu, ones: &Tensor<'_>) {
    let sum = gpu
        .start(&VectorAdd, &[ones, ones], Output::OnHost)
        .unwrap();
    let sum = sum.wait().unwrap();
    assert!(sum.host().unwrap().iter().all(|value| *value == 2.0));
}

#[test]
fn calls_find_what_the_calls_before_them_freed() {
    let Some(gpu) = first_gpu() else {
        return;
    };
    let before = gpu.memory().get_stats();
    assert_eq!((before.calls, before.hit_rate()), (0, None));
    let ones = numbers();
    for _ in 0..20 {
        sums(&gpu, &ones);
    }
    // What a lane looks at after its call is the next one's business.
    gpu.synchronize().unwrap();
    let stats = gpu.memory().get_stats();
    assert_eq!(
        stats.allocations - before.allocations,
        60,
        "two inputs and an output each"
    );
    assert_eq!((stats.bytes_in_use, stats.active_allocations), (0, 0));
    assert!(
        (2 * BYTES..=6 * BYTES).contains(&stats.peak_bytes),
        "{stats:?}"
    );
    assert!(stats.bytes_reserved >= 2 * BYTES, "{stats:?}");
    assert!(
        stats.calls >= 19 && stats.hits + 2 >= stats.calls,
        "{stats:?}"
    );

    let resident = ones.to(&gpu).unwrap();
    assert_eq!(gpu.memory().get_stats().bytes_in_use, BYTES);
    drop((resident, ones));
    assert_eq!(gpu.memory().get_stats().bytes_in_use, 0);
    gpu.memory().trim();
    let trimmed = gpu.memory().get_stats();
    assert!(trimmed.bytes_reserved < stats.bytes_reserved, "{trimmed:?}");
}

#[test]
fn beyond_the_limit_is_an_error_and_smaller_launches_fit() {
    let Some(gpu) = first_gpu() else {
        return;
    };
    gpu.memory().set_limit(Some(2 * BYTES));
    assert_eq!(gpu.memory().limit(), Some(2 * BYTES));
    let ones = numbers();
    let kind = |started: Result<_, breakeven::DeviceError>| started.map(drop).unwrap_err().kind;
    let start = || gpu.start(&VectorAdd, &[&ones, &ones], Output::OnHost);
    assert_eq!(kind(start()), DeviceErrorKind::NeverFits);
    gpu.memory().set_limit(Some(4 * BYTES));
    let held = [numbers().to(&gpu).unwrap(), numbers().to(&gpu).unwrap()];
    let error = start().map(drop).unwrap_err();
    assert_eq!(error.kind, DeviceErrorKind::OutOfMemory);
    let said = format!("{} bytes more than the {} in use: ", 3 * BYTES, 2 * BYTES);
    assert!(error.to_string().contains(&said), "{error}");

    // The executor makes smaller launches, in the memory that is left.
    let manager = StrategyManager::new(Arc::new(RayonCpu::current()), Arc::new(gpu.clone()))
        .with_strategy(ExecutionStrategy::GpuOnly)
        .with_costs(Arc::new(Costs::new()));
    let result = manager.run(&VectorAdd, &[&ones, &ones]).unwrap();
    assert!(
        result.outputs[0]
            .host()
            .unwrap()
            .iter()
            .all(|value| *value == 2.0)
    );
    assert!(result.gpu.tasks > 0, "{}", result.explain());
    drop(held);
    gpu.memory().set_limit(None);
    sums(&gpu, &ones);
}

#[test]
fn threads_share_a_device_and_a_trim_disturbs_nobody() {
    let Some(gpu) = first_gpu() else {
        return;
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let gpu = gpu.clone();
            scope.spawn(move || {
                let ones = numbers();
                let resident = ones.to(&gpu).unwrap();
                for _ in 0..10 {
                    sums(&gpu, &ones);
                    sums(&gpu, &resident);
                }
            });
        }
        for _ in 0..20 {
            gpu.memory().trim();
        }
    });
    assert_eq!(gpu.memory().get_stats().bytes_in_use, 0);
}
