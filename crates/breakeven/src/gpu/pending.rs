//! A way through the device that does not wait: [`Gpu::submit`] sends and
//! starts, [`Gpu::poll`] looks.
//!
//! CubeCL's read of a buffer blocks: on CUDA the first poll of its future waits
//! for the copy, and on every backend starting it waits until CubeCL's own thread
//! has compiled and submitted all that is before it. So a batch in flight has a
//! *lane*: a stream of CubeCL's, and a thread that owns the handles and waits.
//! A lane is one batch's at a time, so that an error on its stream is that
//! batch's; then it is used again.
//!
//! How far two batches overlap is up to the backend. CUDA has two streams for
//! them. wgpu 29 holds a lock while it waits for the device that a further
//! submission needs: the second batch is copied meanwhile, and its kernel starts
//! once the first one's output is there.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use cubecl::stream_id::StreamId;

use super::faults::{self, Faults, Mark};
use super::wait::{LOOK, timed_out, until_ready};
use super::{Buffer, Client, Gpu, elements};
use crate::error::{DeviceError, DeviceErrorKind};
use crate::kernels::{Element, Kernel};

/// A problem on its way through a device. Dropping it gives it up: what the
/// device still does for it is thrown away.
#[derive(Debug)]
pub struct Pending<E>(Flight<E>);

/// Problems that go through a device together; one output each.
#[derive(Debug)]
pub(super) struct Flight<E> {
    reply: Arc<Reply<E>>,
    /// None where there is nothing to compute.
    lane: Option<Lane>,
    /// Faults after it are this flight's, or may be.
    mark: Mark,
    submitted: Instant,
}

type Outputs<E> = Result<Vec<Vec<E>>, DeviceError>;

/// Where a lane's thread leaves what it read.
#[derive(Debug)]
struct Reply<E> {
    outputs: Mutex<Option<Outputs<E>>>,
    arrived: Condvar,
    waker: Mutex<Option<Waker>>,
}

impl<E> Reply<E> {
    fn new() -> Self {
        Self {
            outputs: Mutex::new(None),
            arrived: Condvar::new(),
            waker: Mutex::new(None),
        }
    }

    fn outputs(&self) -> MutexGuard<'_, Option<Outputs<E>>> {
        self.outputs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, outputs: Outputs<E>) {
        *self.outputs() = Some(outputs);
        self.arrived.notify_all();
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<E> Flight<E> {
    /// Has that waker woken when the outputs are there.
    pub(super) fn wakes(&self, waker: &Waker) {
        *self.reply.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker.clone());
    }
}

/// What a lane's thread is to do for a batch, of elements of any kind: read its
/// outputs and leave them in its reply.
type Job = Box<dyn FnOnce(&Client, &Faults) + Send>;

/// A stream, and the thread that reads from it; the thread ends with the lane.
#[derive(Debug)]
struct Lane {
    stream: StreamId,
    jobs: Sender<Job>,
}

/// The lanes that no batch uses now.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    idle: Mutex<Vec<Lane>>,
}

impl Lanes {
    fn idle(&self) -> MutexGuard<'_, Vec<Lane>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
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
        let (jobs, queue) = mpsc::channel();
        let (client, faults) = (gpu.client.clone(), gpu.faults.clone());
        std::thread::Builder::new()
            .name("breakeven-read".to_owned())
            .spawn(move || stream.executes(|| serve(&client, &faults, &queue)))
            .map_err(|error| {
                DeviceError::new(
                    DeviceErrorKind::Other,
                    format!("no thread to wait for {}: {error}", gpu.id),
                )
            })?;
        Ok(Self { stream, jobs })
    }
}

/// A lane's thread: reads until the lane is dropped.
fn serve(client: &Client, faults: &Faults, queue: &Receiver<Job>) {
    for job in queue {
        job(client, faults);
    }
}

/// The job of reading outputs.
fn reading<E: Element>(outputs: Vec<Buffer>, reply: Arc<Reply<E>>) -> Job {
    Box::new(move |client, faults| {
        let read = || read(client, faults, &outputs, &reply);
        let read = faults::quietly(|| catch_unwind(AssertUnwindSafe(read)));
        // Memory goes back to the stream's pool before the lane does.
        drop(outputs);
        reply.set(read.unwrap_or_else(|panic| Err(faults::from_panic(&*panic))));
    })
}

/// Waits for the outputs, unless nobody does any more.
fn read<E: Element>(
    client: &Client,
    faults: &Faults,
    outputs: &[Buffer],
    reply: &Arc<Reply<E>>,
) -> Outputs<E> {
    let handles = outputs.iter().map(Buffer::handle).collect();
    let patience = || {
        faults.lost()?;
        match Arc::strong_count(reply) {
            1 => Err(DeviceError::new(DeviceErrorKind::Other, "given up")),
            _ => Ok(LOOK),
        }
    };
    let bytes = match client {
        Client::Wgpu(client) => {
            client.flush()?;
            until_ready(client.read_async(handles), patience)?
        }
        Client::Cuda(client) => {
            client.flush()?;
            until_ready(client.read_async(handles), patience)?
        }
    };
    let sizes = outputs.iter().map(Buffer::bytes);
    let bytes = bytes.iter().map(|bytes| &bytes[..]);
    sizes
        .zip(bytes.chain(std::iter::repeat(&[][..])))
        .map(|(size, bytes)| elements(bytes, size))
        .collect()
}

impl Gpu {
    /// Sends a problem to the device and starts it, without waiting for its
    /// output: [`poll`](Gpu::poll) has that. Copies the inputs; blocks no longer
    /// than that, but where CubeCL's queue of 32 commands is full.
    ///
    /// # Errors
    ///
    /// [`DeviceErrorKind::NeverFits`] before anything is allocated; what the
    /// kernel knows before the device runs; a device that is gone.
    pub fn submit<E: Element>(
        &self,
        problem: &dyn Kernel<Element = E>,
    ) -> Result<Pending<E>, DeviceError> {
        self.submit_all(&[problem]).map(Pending)
    }

    /// The output, once it is there. Never blocks. Not to be called again after
    /// it was ready.
    ///
    /// # Errors
    ///
    /// Whatever went wrong on the device since the problem was submitted, by this
    /// problem or by another one that was on the device at the same time: after a
    /// fault no output is trusted. [`DeviceErrorKind::Timeout`] once the device's
    /// [timeout](Gpu::set_timeout) is over.
    pub fn poll<E>(&self, pending: &mut Pending<E>) -> Poll<Result<Vec<E>, DeviceError>> {
        self.poll_all(&mut pending.0)
            .map_ok(|mut outputs| outputs.pop().unwrap_or_default())
    }

    /// Sleeps until [`poll`](Gpu::poll) has something to say, for `at_most` that long.
    pub fn wait_for<E>(&self, pending: &Pending<E>, at_most: Duration) {
        self.wait_for_all(&pending.0, at_most);
    }

    /// [`submit`](Gpu::submit) for several problems; one read brings all outputs.
    pub(super) fn submit_all<E: Element>(
        &self,
        problems: &[&dyn Kernel<Element = E>],
    ) -> Result<Flight<E>, DeviceError> {
        let mark = self.faults.mark();
        self.faults.lost()?;
        let mut flight = Flight {
            reply: Arc::new(Reply::new()),
            lane: None,
            mark,
            submitted: Instant::now(),
        };
        if problems.iter().all(|problem| problem.output_len() == 0) {
            flight.reply.set(Ok(vec![Vec::new(); problems.len()]));
            return Ok(flight);
        }
        let mut sizes = Vec::new();
        for problem in problems {
            sizes.extend(super::buffer_sizes(*problem));
        }
        self.check_fits(&sizes)?;
        let lane = match self.lanes.idle().pop() {
            Some(lane) => lane,
            None => Lane::open(self)?,
        };
        let start = || lane.stream.executes(|| self.start_all(problems));
        let started = faults::quietly(|| catch_unwind(AssertUnwindSafe(start)));
        // After a panic the stream's state is anyone's guess: the lane goes too.
        let started = started.map_err(|panic| faults::from_panic(&*panic))?;
        let outputs = match self.faults.since(mark).and(started) {
            Ok(outputs) => outputs,
            Err(error) => {
                self.lanes.idle().push(lane);
                return Err(error);
            }
        };
        let job = reading(outputs, Arc::clone(&flight.reply));
        lane.jobs.send(job).map_err(|_| {
            DeviceError::new(
                DeviceErrorKind::Other,
                format!("the thread that waits for {} is gone", self.id),
            )
        })?;
        flight.lane = Some(lane);
        Ok(flight)
    }

    /// Copies the inputs and starts the kernels; the buffers of the outputs.
    fn start_all<E: Element>(
        &self,
        problems: &[&dyn Kernel<Element = E>],
    ) -> Result<Vec<Buffer>, DeviceError> {
        problems
            .iter()
            .map(|problem| {
                let buffers = self.send(*problem);
                if problem.output_len() > 0 {
                    problem.launch(self, &buffers.inputs, &buffers.output)?;
                }
                Ok(buffers.output)
            })
            .collect()
    }

    pub(super) fn poll_all<E>(&self, flight: &mut Flight<E>) -> Poll<Outputs<E>> {
        let outputs = flight.reply.outputs().take();
        let Some(outputs) = outputs else {
            // A lost device may never answer, nor a hung one.
            self.faults.lost()?;
            if flight.submitted.elapsed() > self.timeout {
                return Poll::Ready(Err(timed_out(&self.id, self.timeout)));
            }
            return Poll::Pending;
        };
        // Its thread has nothing to do any more: on to the next batch.
        self.lanes.idle().extend(flight.lane.take());
        // The device's own word goes before what it led to.
        Poll::Ready(self.faults.since(flight.mark).and(outputs))
    }

    pub(super) fn wait_for_all<E>(&self, flight: &Flight<E>, at_most: Duration) {
        let outputs = flight.reply.outputs();
        if outputs.is_none() {
            // Woken early or late: the caller polls.
            let _ = flight.reply.arrived.wait_timeout(outputs, at_most);
        }
    }
}

#[cfg(test)]
#[path = "pending_tests.rs"]
mod tests;
