//! Tensors on a real device: what is copied when, views, and flights.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use breakeven::execute::GpuExecutor;
use breakeven::gpu::{DeviceForm, Gpu, Launch, OperatorExecutor, Output, Transfers};
use breakeven::kernels::{Conv2d, PixelEntropy, SOBEL_X, VectorAdd};
use breakeven::{DeviceError, DeviceErrorKind, Error, Operator, Tensor, View};

use crate::device::first_gpu;

fn numbers(shape: &[usize], step: usize) -> Tensor<'static> {
    let len: usize = shape.iter().product();
    let values: Vec<f32> = (0..len).map(|at| ((at * step) % 97) as f32).collect();
    Tensor::new(values, shape).unwrap()
}

/// What was copied meanwhile: up, then down.
fn moved(gpu: &Gpu, before: Transfers) -> [u64; 2] {
    let now = gpu.transfers();
    [
        now.uploaded_bytes - before.uploaded_bytes,
        now.downloaded_bytes - before.downloaded_bytes,
    ]
}

#[test]
fn what_is_on_the_device_is_not_sent_again() {
    let Some(gpu) = first_gpu() else {
        return;
    };
    let edges = Conv2d::new(Tensor::new(&SOBEL_X, &[3, 3]).unwrap(), 1, 1).unwrap();
    let images = numbers(&[2, 16, 16], 7);
    let start = gpu.transfers();
    let resident = images.to(&gpu).unwrap();
    assert_eq!(images.devices(), [gpu.id().clone()], "clones share it");
    assert_eq!(moved(&gpu, start), [2 * 1024, 0]);
    images.to(&gpu).unwrap();
    let run = || {
        gpu.start(&edges, &resident, Output::OnDevice)
            .unwrap()
            .wait()
            .unwrap()
    };
    let output = run();
    assert_eq!(moved(&gpu, start), [2 * 1024 + 36, 0], "and the filter");

    let again = gpu.transfers();
    // The second run, and one on the first one's output, which stayed there.
    let second = run();
    let chained = gpu
        .start(&edges, &output, Output::OnDevice)
        .unwrap()
        .wait()
        .unwrap();
    assert_eq!(moved(&gpu, again), [0, 0]);

    let once = edges.on_cpu(&images).unwrap();
    assert_eq!(second.host().unwrap(), once.host().unwrap());
    let twice = edges.on_cpu(&once).unwrap();
    assert_eq!(chained.host().unwrap(), twice.host().unwrap());
    chained.host().unwrap();
    assert_eq!(
        moved(&gpu, again),
        [0, 2 * 2 * 1024],
        "downloaded once each"
    );
    assert_eq!(chained.into_vec().unwrap(), twice.into_vec().unwrap());
}

#[test]
fn a_pinned_tensor_is_like_any_other() {
    let Some(gpu) = first_gpu() else {
        return;
    };
    let values: Vec<f32> = (0..3 << 20).map(|at| (at % 1000) as f32).collect();
    let shape = [3, 1 << 20];
    let fill = |pinned: &mut [f32]| {
        assert!(pinned.iter().all(|value| *value == 0.0));
        pinned.copy_from_slice(&values);
    };
    let pinned = Tensor::pinned(&gpu, &shape, fill).unwrap();
    let sum = gpu.run(&VectorAdd, &[&pinned, &pinned]).unwrap();
    let twice: Vec<f32> = values.iter().map(|value| 2.0 * value).collect();
    assert!(sum.host().unwrap() == twice);
    assert!(pinned.items(1..2).unwrap().host().unwrap() == &values[1 << 20..2 << 20]);
    assert!(pinned.into_vec().unwrap() == values);

    let none = Tensor::<u32>::pinned(&gpu, &[0, 5], |values| assert!(values.is_empty())).unwrap();
    assert_eq!(none.host(), Ok(&[][..]));
    let refused = |shape: &[usize]| {
        let filled = |_: &mut [f32]| panic!("filled");
        Tensor::pinned(&gpu, shape, filled).unwrap_err().kind
    };
    assert_eq!(refused(&[]), DeviceErrorKind::Refused);
    assert_eq!(refused(&[1 << 50]), DeviceErrorKind::NeverFits);
}

#[test]
fn views_begin_wherever_they_like() {
    let Some(gpu) = first_gpu() else {
        return;
    };
    // Items of 12 bytes, of which hardly one begins where a device can bind memory.
    let (a, b) = (numbers(&[500, 3], 7), numbers(&[500, 3], 11));
    let (on_device, before) = (a.to(&gpu).unwrap(), gpu.transfers());
    for range in [0..500, 0..7, 1..2, 64..500, 128..129, 499..500, 7..7] {
        let (a, b) = (
            a.items(range.clone()).unwrap(),
            b.items(range.clone()).unwrap(),
        );
        assert_eq!(on_device.items(range).unwrap().devices().len(), 1);
        let sum = gpu.run(&VectorAdd, &[&a, &b]).unwrap();
        assert_eq!(
            sum.host().unwrap(),
            VectorAdd.on_cpu(&[&a, &b]).unwrap().host().unwrap()
        );
    }
    let of_b = [500, 7, 1, 436, 1, 1, 0].iter().sum::<u64>() * 12;
    assert_eq!(moved(&gpu, before), [of_b, of_b], "a was there");
}

/// Counts how often it was woken, and wakes its thread.
struct Woken {
    thread: Thread,
    times: AtomicUsize,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.times.fetch_add(1, Ordering::SeqCst);
        self.thread.unpark();
    }
}

#[test]
fn a_flight_is_a_future_that_wakes_its_task() {
    let Some(gpu) = first_gpu() else {
        return;
    };
    let (a, b) = (numbers(&[4, 1000], 7), numbers(&[4, 1000], 11));
    let woken = Arc::new(Woken {
        thread: std::thread::current(),
        times: AtomicUsize::new(0),
    });
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    let mut flight = pin!(gpu.start(&VectorAdd, &[&a, &b], Output::OnHost).unwrap());
    let mut polls = 0;
    let sum = loop {
        polls += 1;
        match flight.as_mut().poll(&mut context) {
            Poll::Ready(sum) => break sum.unwrap(),
            Poll::Pending => std::thread::park(),
        }
    };
    assert_eq!(
        sum.host().unwrap(),
        VectorAdd.on_cpu(&[&a, &b]).unwrap().host().unwrap()
    );
    assert!(
        polls <= 1 + woken.times.load(Ordering::SeqCst),
        "{polls} polls"
    );
}

#[test]
fn what_an_operator_refuses_never_reaches_the_device() {
    let Some(gpu) = first_gpu() else {
        return;
    };
    let (a, b) = (numbers(&[2, 3], 7), numbers(&[2, 4], 7));
    let before = gpu.transfers();
    let error = gpu.run(&VectorAdd, &[&a, &b]).unwrap_err();
    assert_eq!(error.kind, DeviceErrorKind::Refused);
    assert_eq!(
        error.message,
        "vector_add: a is 2×3 and b 2×4; give both one shape"
    );
    assert_eq!(moved(&gpu, before), [0, 0]);
    let none = numbers(&[0, 3], 1);
    let sum = gpu
        .start(&VectorAdd, &[&none, &none], Output::OnDevice)
        .unwrap()
        .wait()
        .unwrap();
    assert_eq!((sum.shape(), sum.host().unwrap()), (&[0, 3][..], &[][..]));
}

#[test]
fn what_is_given_up_does_no_harm_and_a_slow_device_times_out() {
    let Some(mut gpu) = first_gpu() else {
        return;
    };
    let entropy = PixelEntropy::new(33).unwrap();
    for seed in 0..4 {
        drop(
            gpu.start(&entropy, &numbers(&[1, 256, 256], seed), Output::OnHost)
                .unwrap(),
        );
    }
    gpu.set_timeout(Duration::ZERO);
    let late = gpu.start(&entropy, &numbers(&[1, 256, 256], 4), Output::OnHost);
    let error = late.and_then(|late| late.wait()).unwrap_err();
    assert_eq!(error.kind, DeviceErrorKind::Timeout);
    gpu.set_timeout(breakeven::gpu::DEFAULT_TIMEOUT);
    let pair = [numbers(&[1, 8], 3), numbers(&[1, 8], 5)];
    let sum = gpu
        .start(&VectorAdd, &pair, Output::OnHost)
        .unwrap()
        .wait()
        .unwrap();
    assert_eq!(
        sum.host().unwrap(),
        VectorAdd.on_cpu(&pair).unwrap().host().unwrap()
    );
}

#[test]
fn launches_that_wait_for_each_other_do_not_time_out() {
    let Some(mut gpu) = first_gpu() else {
        return;
    };
    let entropy = PixelEntropy::new(33).unwrap();
    let mut images = 1;
    let (input, took) = loop {
        let input = numbers(&[images, 256, 256], 7);
        gpu.run(&entropy, &input).unwrap();
        let begun = Instant::now();
        gpu.run(&entropy, &input).unwrap();
        if begun.elapsed() > Duration::from_millis(100) || images > 2_000 {
            break (input, begun.elapsed());
        }
        images *= 2;
    };
    gpu.set_timeout(4 * took + Duration::from_millis(500));
    let start = || gpu.start(&entropy, &input, Output::OnHost).unwrap();
    let flights: Vec<_> = (0..20).map(|_| start()).collect();
    for (number, flight) in flights.into_iter().enumerate() {
        let output = flight.wait().map(|output| output.batch());
        assert_eq!(output, Ok(images), "{number}");
    }
}

/// An operator whose output is more than any device has memory for.
struct Huge;

impl Operator for Huge {
    type In = f32;
    type Out = f32;

    fn name(&self) -> &str {
        "huge"
    }

    fn output_shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, Error> {
        Ok(vec![inputs[0][0], 1 << 48])
    }

    fn cpu(&self, _: &[View<'_, f32>], _: &mut [f32]) -> Result<(), Error> {
        unreachable!("it is for a device that refuses it");
    }

    fn device(&self) -> Option<&dyn DeviceForm> {
        Some(self)
    }
}

impl DeviceForm for Huge {
    fn launch(&self, _: &Launch<'_>) -> Result<(), DeviceError> {
        unreachable!("it fits no device");
    }
}

#[test]
fn a_batch_that_never_fits_is_refused_at_once() {
    let Some(gpu) = first_gpu() else {
        return;
    };
    let task = numbers(&[1, 1], 1);
    let error = gpu.start(&Huge, &task, Output::OnHost).unwrap_err();
    assert_eq!(error.kind, DeviceErrorKind::NeverFits);
    let executor = OperatorExecutor::new(&gpu, Arc::new(Huge));
    let tasks = [task.clone(), task];
    let error = executor.start(&tasks).unwrap_err();
    assert_eq!(error.kind, DeviceErrorKind::NeverFits);
    assert_eq!(executor.batch_bytes(&tasks), Some(2 * (4 + (4 << 48))));
}
