//! What a chain counts while its stages are measured, on a device that is the host in disguise.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use breakeven::execute::{
    Device, ExecuteError, FallbackPolicy, RayonCpu, StrategyManager, TensorDevice, TensorFlight,
    TensorFuture,
};
use breakeven::hardware::Fact;
use breakeven::plan::GpuSpec;
use breakeven::{
    Chain, Costs, DeviceError, DeviceErrorKind, Element, Error, Operator, Tensor, View,
};

/// Doubles numbers; what is negative is refused.
struct Double;

impl Operator for Double {
    type In = f32;
    type Out = f32;

    fn name(&self) -> &str {
        "double"
    }

    fn cpu(&self, inputs: &[View<'_, f32>], out: &mut [f32]) -> Result<(), Error> {
        for (value, out) in inputs[0].values.iter().zip(out) {
            if *value < 0.0 {
                return Err(Error::invalid("a negative number"));
            }
            *out = 2.0 * value;
        }
        Ok(())
    }
}

struct HostDevice {
    spec: GpuSpec,
    /// Calls until one that fails.
    fails_in: Mutex<usize>,
    is_broken: bool,
    calls: AtomicUsize,
}

/// What is there already.
struct There<E: Element>(Option<Tensor<'static, E>>);

impl<E: Element> Future for There<E> {
    type Output = Result<Tensor<'static, E>, DeviceError>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let gone = || DeviceError::new(DeviceErrorKind::Other, "polled again");
        Poll::Ready(self.0.take().ok_or_else(gone))
    }
}

impl<E: Element> Unpin for There<E> {}

impl<E: Element> TensorFuture<E> for There<E> {}

impl TensorDevice for HostDevice {
    fn device(&self) -> Option<&dyn Device> {
        Some(&self.spec)
    }

    fn call_bytes<O: Operator + ?Sized>(&self, _: &O, inputs: &[&[usize]]) -> Option<u64> {
        Some(8 * inputs[0][0] as u64)
    }

    fn start_call<O: Operator + ?Sized>(
        &self,
        operator: &O,
        inputs: &[Tensor<'_, O::In>],
        _: bool,
    ) -> Result<TensorFlight<O::Out>, DeviceError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let mut left = self.fails_in.lock().unwrap();
        *left = left.wrapping_sub(1);
        if *left == usize::MAX || self.is_broken {
            return Err(DeviceError::new(DeviceErrorKind::Other, "a fault"));
        }
        let inputs: Vec<&Tensor<'_, O::In>> = inputs.iter().collect();
        Ok(Box::pin(There(Some(operator.on_cpu(&&inputs[..])?))))
    }
}

const NEVER: usize = usize::MAX;

type Manager = StrategyManager<RayonCpu, HostDevice>;

fn manager(name: &str, memory: Fact<u64>, fails_in: usize) -> Manager {
    with_device(device(name, memory, fails_in))
}

fn device(name: &str, memory_bytes: Fact<u64>, fails_in: usize) -> HostDevice {
    HostDevice {
        spec: GpuSpec {
            memory_bytes,
            ..GpuSpec::named(name)
        },
        fails_in: Mutex::new(fails_in),
        is_broken: false,
        calls: AtomicUsize::new(0),
    }
}

fn with_device(device: impl Into<Arc<HostDevice>>) -> Manager {
    let device = device.into();
    StrategyManager::new(Arc::new(RayonCpu::current()), device).with_costs(Arc::new(Costs::new()))
}

fn chain() -> Chain<f32, f32> {
    Double.then(Double).then(Double)
}

fn numbers(first: f32) -> Tensor<'static> {
    let mut values = vec![1.0; 100];
    values[0] = first;
    Tensor::new(values, &[100, 1]).unwrap()
}

/// Runs the chain some times; each counts 100 items of three stages, and reports them.
fn counts_once(manager: &Manager) {
    for run in 0..8 {
        let reported = Mutex::new(Vec::new());
        let report = |done: usize, all: usize| reported.lock().unwrap().push((done, all));
        let batch = manager.operation("counted").progress(&report);
        let result = batch.run(&chain(), &numbers(1.0)).unwrap();
        // As one operator, or stage by stage.
        let done = result.cpu.tasks + result.gpu.tasks;
        assert!([100, 300].contains(&done), "run {run}: {done}");
        let reported = reported.into_inner().unwrap();
        let is_within = |(done, all): &(usize, usize)| *all == 100 && done <= all;
        assert!(reported.iter().all(is_within), "run {run}: {reported:?}");
        assert!(reported.is_sorted(), "run {run} goes back: {reported:?}");
        assert_eq!(reported.last(), Some(&(100, 100)), "run {run}");
        assert_eq!(result.into_output().host().unwrap(), [8.0; 100]);
    }
}

#[test]
fn what_was_measured_on_some_of_the_items_is_not_counted_with_all() {
    // A call of all takes 800 bytes.
    counts_once(&manager("measured: in part", Fact::Known(400), NEVER));
}

#[test]
fn a_measurement_that_failed_is_not_counted_with_what_ran_instead() {
    for fails_in in 0..6 {
        let name = format!("measured: fails in {fails_in}");
        let manager = manager(&name, Fact::Unknown, fails_in);
        // So that the measurement ends there.
        counts_once(&manager.with_fallback(FallbackPolicy::Deny));
    }
}

#[test]
fn an_item_that_an_operator_refuses_costs_no_device_its_standing() {
    let manager = manager("measured: refused", Fact::Unknown, NEVER);
    // The first one measures the CPU.
    let first = manager.operation("refused").run(&chain(), &numbers(1.0));
    assert_eq!(first.unwrap().gpu.tasks, 0);
    for _ in 0..3 {
        let outcome = manager.operation("refused").run(&chain(), &numbers(-1.0));
        match outcome {
            Err(ExecuteError::Task { index: 0, .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(manager.stats().quarantines, 0);
    let results = (0..4).map(|_| manager.operation("refused").run(&chain(), &numbers(1.0)));
    let results: Vec<_> = results.map(Result::unwrap).collect();
    assert!(results.iter().all(|result| result.left_out.is_empty()));
    assert!(
        results.iter().any(|result| result.gpu.tasks > 0),
        "it is never used"
    );
}

#[test]
fn a_device_that_fails_at_a_stage_is_left_alone_by_the_chain() {
    let broken = Arc::new(HostDevice {
        is_broken: true,
        ..device("measured: broken", Fact::Unknown, NEVER)
    });
    let manager = with_device(Arc::clone(&broken));
    for _ in 0..30 {
        let result = manager.operation("broken").run(&chain(), &numbers(1.0));
        assert_eq!(result.unwrap().into_output().host().unwrap(), [8.0; 100]);
    }
    let calls = broken.calls.load(Ordering::Relaxed);
    // As one operator, and at its first stage.
    assert!(calls <= 6, "{calls} calls in 30 runs");
    let decided = manager
        .operation("broken")
        .decide_run(&chain(), &numbers(1.0));
    let placement = decided.unwrap().placement;
    let placement = placement.expect("the CPU was measured");
    assert_eq!(placement.devices(), ["cpu"]);
}
