//! Times are bounded from below only: a busy machine makes them longer.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll};
use std::time::Duration;

use super::*;

const MS: Duration = Duration::from_millis(1);
const KINDS: [DeviceErrorKind; 3] = [
    DeviceErrorKind::Compile,
    DeviceErrorKind::OutOfMemory,
    DeviceErrorKind::Unavailable { until: None },
];

fn doubling(spec: SimulatedSpec) -> SimulatedGpu<u64, u64> {
    SimulatedGpu::new(spec, |task| task * 2).with_wrong(|output| *output += 1)
}

fn faulty(script: FaultScript) -> SimulatedGpu<u64, u64> {
    doubling(SimulatedSpec::default()).with_faults(script)
}

fn outputs(batch: SimulatedInFlight<u64>) -> Result<Vec<u64>, DeviceErrorKind> {
    batch.wait().map_err(|error| error.kind)
}

fn run(gpu: &SimulatedGpu<u64, u64>, tasks: &[u64]) -> Result<Vec<u64>, DeviceErrorKind> {
    outputs(gpu.start(tasks).map_err(|error| error.kind)?)
}

#[test]
fn outputs_are_the_functions_and_take_the_devices_time() {
    let spec = SimulatedSpec::new(MS * 3, MS).with_transfer(1_000.0, 1, 1);
    let gpu = doubling(spec);
    let start = Instant::now();
    let mut batch = gpu.start(&[1, 2, 3]).expect("nothing is scripted");
    assert!(batch.look().is_none());
    // Upload 3, launch 3, tasks 3, download 3.
    assert_eq!(outputs(batch), Ok(vec![2, 4, 6]));
    assert!(start.elapsed() >= MS * 12);
    assert_eq!(run(&gpu, &[]), Ok(vec![]));
    let counts = gpu.counts();
    assert_eq!((counts.submits, counts.launches), (2, 2));
    assert_eq!((counts.tasks, counts.finished), (3, 2));
    assert!(counts.faults.is_empty());
}

#[test]
fn batches_run_one_after_another() {
    let gpu = doubling(SimulatedSpec::new(MS * 5, Duration::ZERO));
    let start = Instant::now();
    let batches: Vec<_> = (0..3).map(|task| gpu.start(&[task])).collect();
    for batch in batches {
        outputs(batch.expect("nothing is scripted")).expect("nothing is scripted");
    }
    assert!(start.elapsed() >= MS * 15);
}

#[test]
fn a_future_is_woken_when_the_device_is_done_and_not_before() {
    let gpu = doubling(SimulatedSpec::new(MS * 20, Duration::ZERO));
    let start = Instant::now();
    let batch = gpu.start(&[1]).expect("nothing is scripted");
    assert_eq!(block_on(batch), Ok(vec![2]));
    assert!(start.elapsed() >= MS * 20);
}

/// Waits for a future as a small runtime does.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
    let mut context = Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn the_device_may_slow_down() {
    let script = FaultScript::none().at(1, Fault::SlowDown { factor: 10.0 });
    let gpu = doubling(SimulatedSpec::new(Duration::ZERO, MS)).with_faults(script);
    run(&gpu, &[1]).expect("the first is not slowed");
    let start = Instant::now();
    run(&gpu, &[1]).expect("slow is no error");
    assert!(start.elapsed() >= MS * 10);
    assert_eq!(gpu.counts().faults_of(FaultKind::SlowDown), 1);
}

#[test]
fn memory_is_held_until_the_outputs_are_taken_or_the_batch_is_dropped() {
    let spec = SimulatedSpec::default()
        .with_transfer(f64::INFINITY, 6, 4)
        .with_memory(100, 30);
    let gpu = doubling(spec);
    let kind = |tasks: usize| gpu.start(&vec![0; tasks]).err().map(|error| error.kind);
    assert_eq!(kind(11), Some(DeviceErrorKind::NeverFits));
    assert_eq!(kind(8), Some(DeviceErrorKind::OutOfMemory));
    assert_eq!(kind(7), None);
    let five = gpu.start(&[0; 5]).expect("it fits");
    assert_eq!(gpu.memory_used(), Fact::Known(80));
    assert_eq!(kind(3), Some(DeviceErrorKind::OutOfMemory));
    outputs(five).expect("nothing is scripted");
    assert_eq!(gpu.memory_used(), Fact::Known(30));
    assert_eq!(gpu.batch_bytes(&[0; 7]), Some(70));
    assert_eq!(gpu.counts().launches, 2);
    assert_eq!(gpu.spec().free_bytes(), Some(70));
}

#[test]
fn errors_come_when_they_are_scripted() {
    for kind in KINDS {
        let script = FaultScript::none()
            .at(1, Fault::SubmitError(kind))
            .at(3, Fault::PollError(kind));
        let gpu = faulty(script);
        let results: Vec<_> = (0..5).map(|task| run(&gpu, &[task])).collect();
        let expected = [Ok(vec![0]), Err(kind), Ok(vec![4]), Err(kind), Ok(vec![8])];
        assert_eq!(results, expected);
        let counts = gpu.counts();
        assert_eq!(counts.faults_of(FaultKind::SubmitError), 1);
        assert_eq!(counts.faults_of(FaultKind::PollError), 1);
        let done = [counts.submits, counts.launches, counts.finished];
        assert_eq!(done, [5, 4, 3]);
    }
}

#[test]
fn panics_leave_the_device_usable() {
    let script = FaultScript::none()
        .at(0, Fault::SubmitPanic)
        .at(1, Fault::PollPanic);
    let gpu = faulty(script);
    for _ in 0..2 {
        assert!(catch_unwind(AssertUnwindSafe(|| run(&gpu, &[1]))).is_err());
    }
    assert_eq!(run(&gpu, &[1]), Ok(vec![2]));
    assert_eq!(gpu.counts().faults.values().sum::<u64>(), 2);

    let gpu = SimulatedGpu::new(SimulatedSpec::default(), |task: &u64| 6 / task);
    assert!(catch_unwind(AssertUnwindSafe(|| gpu.start(&[0]))).is_err());
    assert_eq!(run(&gpu, &[3]), Ok(vec![2]));
    assert_eq!(gpu.memory_used(), Fact::Known(0));
}

#[test]
fn a_batch_that_hangs_is_never_ready_and_others_are() {
    let gpu = faulty(FaultScript::none().at(0, Fault::Hang));
    let mut stuck = gpu.start(&[1]).expect("the submission is good");
    assert_eq!(run(&gpu, &[1]), Ok(vec![2]));
    std::thread::sleep(MS * 2);
    assert!(stuck.look().is_none());
    assert_eq!(gpu.counts().faults_of(FaultKind::Hang), 1);
}

#[test]
fn results_are_wrong_where_the_script_says() {
    let script = FaultScript::none()
        .at(0, Fault::Wrong { first: 1, every: 2 })
        .at(1, Fault::Wrong { first: 6, every: 0 })
        .at(2, Fault::TooFew { by: 3 })
        .at(3, Fault::TooFew { by: 9 })
        .at(4, Fault::TooMany { by: 6 });
    let results = |gpu: &SimulatedGpu<u64, u64>| {
        [(); 5].map(|()| run(gpu, &[0, 1, 2, 3, 4]).expect("no error is scripted"))
    };
    let gpu = faulty(script.clone());
    let expected = [
        vec![0, 3, 4, 7, 8],
        vec![0, 3, 4, 6, 8],
        vec![0, 2],
        vec![],
        vec![0, 2, 4, 6, 8, 0, 2, 4, 6, 8, 0],
    ];
    assert_eq!(results(&gpu), expected);
    let plain = SimulatedGpu::new(SimulatedSpec::default(), |task| task * 2).with_faults(script);
    assert_eq!(results(&plain)[0], [2, 4, 6, 8, 0]);
}

#[test]
fn a_lost_device_loses_what_is_in_flight_until_it_is_back() {
    let lost = |recovers_after| Fault::Lost { recovers_after };
    let gpu = faulty(FaultScript::none().at(1, lost(Some(1))));
    let before = gpu.start(&[1]).expect("the device is there");
    let gone = Err(DeviceErrorKind::DeviceLost);
    assert_eq!(run(&gpu, &[2]), gone);
    assert_eq!(outputs(before), gone);
    assert_eq!(run(&gpu, &[3]), gone);
    assert_eq!(run(&gpu, &[4]), Ok(vec![8]));
    assert_eq!(gpu.counts().faults_of(FaultKind::Lost), 3);

    let gpu = faulty(FaultScript::none().at(0, lost(None)));
    assert!((0..100).all(|task| run(&gpu, &[task]) == gone));
}

#[test]
fn memory_runs_out_above_a_number_of_tasks_from_a_launch_on() {
    let gpu = faulty(FaultScript::none().at(1, Fault::OutOfMemoryAbove { tasks: 2 }));
    assert!(run(&gpu, &[1, 2, 3]).is_ok());
    let refused = Err(DeviceErrorKind::OutOfMemory);
    assert_eq!(run(&gpu, &[1, 2, 3]), refused);
    assert!(run(&gpu, &[1, 2]).is_ok());
    assert_eq!(run(&gpu, &[1, 2, 3]), refused);
    assert_eq!(gpu.counts().faults_of(FaultKind::OutOfMemoryAbove), 2);
}
