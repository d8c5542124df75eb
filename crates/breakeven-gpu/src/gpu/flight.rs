//! A way through the device that does not wait: [`Gpu::start`] sends and starts, and
//! the [`Flight`] has the output once it is there.
//!
//! Bringing a buffer to the host blocks: on CUDA it waits for all that is before it and
//! for the copy, and on every backend starting it waits until CubeCL's own thread
//! has compiled and submitted all that is before it. So a batch in flight has a
//! *lane*: a stream of CubeCL's, and a thread that owns the handles and waits.
//! A lane is one batch's at a time, so that an error on its stream is that
//! batch's; then it is used again.
//!
//! How far two batches overlap is up to the backend. CUDA has two streams for
//! them. wgpu has one queue, on which the second batch's copies and kernel wait for
//! the first one's kernel.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::faults::{Mark, OnDevice as _};
use super::form::Output;
use super::run::{Plan, parameter_bytes};
use super::{Buffer, Gpu, caught, with_client};
use crate::device::TensorFuture;
use crate::error::{DeviceError, DeviceErrorKind};
use crate::operator::Operator;
use crate::tensor::{Element, Inputs, Tensor};
use cubecl::stream_id::StreamId;

/// Work on its way through a device: a future of its output, for any runtime.
/// Dropping it gives it up: what the device still does for it is thrown away.
///
/// It fails with whatever went wrong on the device since it was started, by it or by
/// another one that was on the device at the same time: after a fault no output is
/// trusted. [`DeviceErrorKind::Timeout`] once the device's
/// [timeout](Gpu::set_timeout) is over.
#[must_use = "a flight that is dropped is given up"]
pub struct Flight<T> {
    gpu: Gpu,
    reply: Arc<Reply<T>>,
    /// None if there is nothing to compute.
    lane: Option<Lane>,
    /// Faults after it are this flight's, or may be.
    mark: Mark,
    started: Instant,
}

/// Transfers of less than this are not timed: CubeCL makes them after the host's part.
const TIMED_FROM: u64 = 1 << 20;

/// Where a lane's thread stores the result of a flight.
struct Reply<T> {
    state: Mutex<State<T>>,
    arrived: Condvar,
}

struct State<T> {
    outcome: Option<Result<T, DeviceError>>,
    /// What sending the inputs and bringing the outputs to the host took, once both are done.
    transfer_time: Option<Duration>,
    waker: Option<Waker>,
}

impl<T> Reply<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, outcome: Result<T, DeviceError>) {
        let mut state = self.state();
        state.outcome = Some(outcome);
        self.arrived.notify_all();
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }
}

/// What a lane's thread does for a flight: it waits for the outputs and leaves them.
type Job = Box<dyn FnOnce() + Send>;

/// A stream, and the thread that waits for it; the thread ends with the lane.
struct Lane {
    stream: StreamId,
    jobs: Sender<Job>,
}

/// The lanes that no flight uses now.
#[derive(Default)]
pub(super) struct Lanes(Mutex<Vec<Lane>>);

impl Lanes {
    fn idle(&self) -> MutexGuard<'_, Vec<Lane>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lane {
    /// A lane with a stream of its own. CubeCL numbers the streams of threads
    /// from 0; these go down from the other end.
    fn open(gpu: &Gpu) -> Result<Self, DeviceError> {
        static OPENED: AtomicU64 = AtomicU64::new(0);
        let stream = StreamId {
            value: u64::MAX - OPENED.fetch_add(1, Ordering::Relaxed),
        };
        let (jobs, queue) = mpsc::channel::<Job>();
        std::thread::Builder::new()
            .name("breakeven-read".to_owned())
            .spawn(move || stream.executes(|| queue.iter().for_each(|job| job())))
            .map_err(|error| {
                let message = format!("no thread to wait for {}: {error}", gpu.id());
                DeviceError::new(DeviceErrorKind::Other, message)
            })?;
        Ok(Self { stream, jobs })
    }
}

impl Gpu {
    /// [`start`](Gpu::start) with the output on the host. Several may be in flight, each on a
    /// stream of its own; [`Flight::wait`] waits for it, and has its error.
    ///
    /// # Errors
    ///
    /// As `start`.
    pub fn launch_async<O: Operator + ?Sized>(
        &self,
        operator: &O,
        inputs: &dyn Inputs<O::In>,
    ) -> Result<Flight<Tensor<'static, O::Out>>, DeviceError> {
        self.start(operator, inputs, Output::OnHost)
    }

    /// Sends and starts, and returns without waiting for the output, which the flight has. Blocks
    /// no longer than copying the inputs takes, and, for large ones or once CubeCL's queue has 32
    /// commands, submitting what was started before.
    ///
    /// # Errors
    ///
    /// As [`prepare`](Gpu::prepare); what the operator's form knows before the device
    /// runs; a device that is gone.
    pub fn start<O: Operator + ?Sized>(
        &self,
        operator: &O,
        inputs: &dyn Inputs<O::In>,
        output: Output,
    ) -> Result<Flight<Tensor<'static, O::Out>>, DeviceError> {
        let plan = Plan::new(operator, inputs.tensors())?;
        let one = |mut outputs: Vec<Tensor<'static, O::Out>>| outputs.remove(0);
        start(self, operator, vec![plan], output, one)
    }
}

/// Starts calls of an operator that go through the device together; `finish` makes of
/// their outputs what the flight is for.
pub(super) fn start<O: Operator + ?Sized, T: Send + 'static>(
    gpu: &Gpu,
    operator: &O,
    plans: Vec<Plan<'_, '_, O>>,
    output: Output,
    finish: impl FnOnce(Vec<Tensor<'static, O::Out>>) -> T + Send + 'static,
) -> Result<Flight<T>, DeviceError> {
    let shared = &gpu.shared;
    let mark = shared.faults.mark();
    shared.faults.lost()?;
    let mut flight = Flight {
        gpu: gpu.clone(),
        reply: Arc::new(Reply {
            state: Mutex::new(State {
                outcome: None,
                transfer_time: None,
                waker: None,
            }),
            arrived: Condvar::new(),
        }),
        lane: None,
        mark,
        started: Instant::now(),
    };
    let is_empty = |plan: &Plan<'_, '_, O>| plan.output_shape().contains(&0);
    if plans.iter().all(is_empty) {
        let none = |plan: &Plan<'_, '_, O>| Tensor::new(Vec::new(), plan.output_shape());
        let outputs = plans.iter().map(none).collect::<Result<_, _>>()?;
        flight.reply.set(Ok(finish(outputs)));
        return Ok(flight);
    }
    let mut sizes: Vec<u64> = plans.iter().flat_map(Plan::sizes).collect();
    sizes.push(parameter_bytes(operator));
    gpu.check_fits(&sizes)?;
    let new_bytes = plans.iter().map(|plan| plan.new_bytes(gpu));
    let new_bytes = new_bytes.fold(0, u64::saturating_add);
    gpu.check_limit(new_bytes)?;
    let is_timed = output == Output::OnHost && new_bytes >= TIMED_FROM;
    let parameters = gpu.parameters(operator)?;
    let idle = shared.lanes.idle().pop();
    let lane = idle.map_or_else(|| Lane::open(gpu), Ok)?;
    let mut has_returned = false;
    let mut sending = Duration::ZERO;
    let started = caught(|| {
        let started = lane.stream.executes(|| {
            // All is sent before anything starts: on CUDA what is sent later would wait for it.
            let begun = Instant::now();
            let plans = plans.into_iter();
            let calls = plans.map(|plan| plan.send(gpu, parameters.clone()));
            let calls = calls.collect::<Result<Vec<_>, _>>()?;
            sending = begun.elapsed();
            let outputs = calls.into_iter().map(|call| {
                call.start()?;
                Ok(call.output())
            });
            outputs.collect::<Result<Vec<_>, _>>()
        });
        has_returned = true;
        started
    });
    let outputs = match shared.faults.since(mark).and(started) {
        Ok(outputs) => outputs,
        Err(error) => {
            // After a panic the stream's state is anyone's guess: the lane goes too.
            shared.lanes.idle().extend(has_returned.then_some(lane));
            return Err(error);
        }
    };
    let (reply, gpu) = (Arc::clone(&flight.reply), gpu.clone());
    let started = flight.started;
    let sending = is_timed.then_some(sending);
    let job = Box::new(move || {
        let outcome = caught(|| land(&gpu, outputs, output, started, sending, &reply));
        let has_ended = outcome.is_ok();
        reply.set(outcome.map(finish));
        if has_ended {
            gpu.call_has_ended();
        }
    });
    lane.jobs.send(job).map_err(|_| {
        let message = format!("the thread that waits for {} is gone", flight.gpu.id());
        DeviceError::new(DeviceErrorKind::Other, message)
    })?;
    flight.lane = Some(lane);
    Ok(flight)
}

/// Waits for the outputs, unless the flight was dropped. If the upload time is given, the download
/// is timed too.
fn land<E: Element, T>(
    gpu: &Gpu,
    outputs: Vec<(Buffer, Vec<usize>)>,
    to: Output,
    started: Instant,
    sending: Option<Duration>,
    reply: &Arc<Reply<T>>,
) -> Result<Vec<Tensor<'static, E>>, DeviceError> {
    let patience = || {
        gpu.shared.faults.lost()?;
        match Arc::strong_count(reply) {
            1 => Err(DeviceError::new(DeviceErrorKind::Other, "given up")),
            _ => gpu.patience(started),
        }
    };
    let outputs = outputs.into_iter();
    if to == Output::OnDevice {
        with_client!(gpu, client => client.flush()).on_device()?;
        gpu.settle(patience)?;
        let tensors = outputs.map(|(buffer, shape)| Tensor::on_device(gpu, buffer, &shape));
        return Ok(tensors.collect());
    }
    let outputs: Vec<_> = outputs.collect();
    let buffers: Vec<_> = outputs.iter().map(|(buffer, _)| buffer).collect();
    let (found, computed) = gpu.bring(&buffers, patience)?;
    let tensors = found.into_iter().zip(&outputs);
    let tensors = tensors
        .map(|(found, (_, shape))| Ok(Tensor::new(found, shape)?))
        .collect();
    reply.state().transfer_time = sending.map(|sending| sending + computed.elapsed());
    tensors
}

impl<T> Flight<T> {
    /// Waits for the output.
    ///
    /// # Errors
    ///
    /// As awaiting it.
    pub fn wait(mut self) -> Result<T, DeviceError> {
        loop {
            if let Poll::Ready(outcome) = self.look() {
                return outcome;
            }
            self.sleep(Duration::MAX);
        }
    }

    /// Returns, once the output is available, the time of the upload and the download, by the
    /// host's clock. Copies that the device makes on its own after the host's part are not
    /// included. None for less than a MiB.
    pub fn transfer_time(&self) -> Option<Duration> {
        self.reply.state().transfer_time
    }

    /// The output, if it is there; never blocks. Not to be called again after it was.
    pub(super) fn look(&mut self) -> Poll<Result<T, DeviceError>> {
        let faults = &self.gpu.shared.faults;
        let outcome = self.reply.state().outcome.take();
        let Some(outcome) = outcome else {
            // A lost device may never answer, nor a hung one.
            faults.lost()?;
            self.gpu.patience(self.started)?;
            return Poll::Pending;
        };
        // Its thread has nothing to do any more: on to the next one.
        self.gpu.shared.lanes.idle().extend(self.lane.take());
        // The device's own word goes before what it led to.
        Poll::Ready(faults.since(self.mark).and(outcome))
    }

    /// Sleeps until [`look`](Flight::look) may have something to say, `at_most` so long.
    pub(super) fn sleep(&self, at_most: Duration) {
        let state = self.reply.state();
        if state.outcome.is_none()
            && let Ok(patience) = self.gpu.patience(self.started)
        {
            // Woken early or late: the caller looks.
            let _ = self
                .reply
                .arrived
                .wait_timeout(state, at_most.min(patience));
        }
    }
}

impl<T> Future for Flight<T> {
    type Output = Result<T, DeviceError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // Before looking: what arrives in between wakes.
        self.reply.state().waker = Some(context.waker().clone());
        self.look()
    }
}

impl<E: Element> TensorFuture<E> for Flight<Tensor<'static, E>> {
    fn transfer_time(&self) -> Option<Duration> {
        Flight::transfer_time(self)
    }
}

impl<T> std::fmt::Debug for Flight<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Flight")
            .field("gpu", &self.gpu)
            .finish_non_exhaustive()
    }
}
