//! A GPU slot: a device of the engine whose launches are processes.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use breakeven::execute::GpuExecutor;
use breakeven::hardware::Fact;
use breakeven::plan::GpuSpec;
use breakeven::{DeviceError, DeviceErrorKind};
use rustix::process::Pid;

use super::jobs::{Device, Jobs, lock};
use super::process::{Ended, How};
use super::window::{Slot, Ticket};

/// Exit codes of a shell that cannot run a command: it must not, or it is not there.
const NOT_RUN: [i32; 2] = [126, 127];

/// A GPU slot.
pub(super) struct GpuSlot {
    jobs: Arc<Jobs>,
    slot: usize,
    spec: GpuSpec,
    most: usize,
}

impl GpuSlot {
    /// A slot whose commands take at most so many inputs.
    pub(super) fn new(jobs: Arc<Jobs>, slot: usize, most: usize) -> Self {
        let mut spec = GpuSpec::named(Device::Gpu(slot).to_string());
        if most == 1 {
            // What a process costs is a part of every task then.
            spec.launch = Fact::Known(Duration::ZERO);
        }
        Self {
            jobs,
            slot,
            spec,
            most,
        }
    }
}

/// What is known of a launch.
#[derive(Debug, Default)]
struct State {
    outcome: Option<Result<usize, DeviceError>>,
    waker: Option<Waker>,
}

/// A process that runs for a GPU.
pub(super) struct Launch {
    jobs: Arc<Jobs>,
    group: Pid,
    state: Arc<(Mutex<State>, Condvar)>,
}

impl GpuExecutor<Ticket, ()> for GpuSlot {
    type Flight = Launch;

    fn start(&self, tickets: &[Ticket]) -> Result<Launch, DeviceError> {
        let device = Device::Gpu(self.slot);
        let slots: Vec<Arc<Slot>> = tickets.iter().filter_map(Ticket::slot).cloned().collect();
        let jobs = Arc::clone(&self.jobs);
        let process = jobs.start(device, &slots);
        let process = process.map_err(|ended| failed(&jobs, &slots, &ended))?;
        let launch = Launch {
            jobs: Arc::clone(&jobs),
            group: process.group,
            state: Arc::default(),
        };
        slots.iter().for_each(|slot| slot.launched());
        let state = Arc::clone(&launch.state);
        let wait = move || {
            let ended = process.wait(&jobs.running);
            let outcome = match ended.how.is_good() {
                true => {
                    jobs.ended(device, &slots, &ended);
                    Ok(slots.len())
                }
                false => Err(failed(&jobs, &slots, &ended)),
            };
            slots.iter().for_each(|slot| slot.is_over(outcome.is_ok()));
            let mut known = lock(&state.0);
            known.outcome = Some(outcome);
            if let Some(waker) = known.waker.take() {
                waker.wake();
            }
            state.1.notify_all();
        };
        if let Err(error) = std::thread::Builder::new().spawn(wait) {
            let message = format!("no thread waits for its end: {error}");
            let error = DeviceError::new(DeviceErrorKind::Other, message);
            // Nobody will tell how it ended.
            lock(&launch.state.0).outcome = Some(Err(error.clone()));
            self.jobs.running.end(launch.group);
            return Err(error);
        }
        Ok(launch)
    }

    fn device(&self) -> Option<&GpuSpec> {
        Some(&self.spec)
    }

    fn most_tasks(&self) -> Option<usize> {
        Some(self.most)
    }

    fn depth(&self) -> usize {
        1
    }
}

/// A GPU's command failed: the CPU's runs in its place.
fn failed(jobs: &Jobs, slots: &[Arc<Slot>], ended: &Ended) -> DeviceError {
    let how = &ended.how;
    let said = ended.stderr.last_line();
    if *how != How::Unwanted {
        lock(&jobs.summary).fell(how, said.as_deref(), slots.len() as u64);
    }
    let kind = match how {
        How::TooLong => DeviceErrorKind::Refused,
        How::NotStarted(_) => DeviceErrorKind::Unavailable { until: None },
        How::Exit(code) if NOT_RUN.contains(code) => DeviceErrorKind::Unavailable { until: None },
        // One input that takes too long must not cost the others the device, as a hung driver
        // does; three in a row do.
        How::TimedOut => DeviceErrorKind::Other,
        _ => DeviceErrorKind::Launch,
    };
    let message = match said {
        Some(line) => format!("{how}: {line}"),
        None => how.to_string(),
    };
    DeviceError::new(kind, message)
}

impl Future for Launch {
    type Output = Result<Vec<()>, DeviceError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = lock(&self.state.0);
        match &state.outcome {
            Some(outcome) => Poll::Ready(outcome.clone().map(|tasks| vec![(); tasks])),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// Given up, the process is ended, unless it is to end by itself; nothing else runs its
/// inputs before.
impl Drop for Launch {
    fn drop(&mut self) {
        let state = lock(&self.state.0);
        if state.outcome.is_none() && !self.jobs.lets_end.load(Ordering::SeqCst) {
            self.jobs.running.end(self.group);
        }
        let ended = self
            .state
            .1
            .wait_while(state, |state| state.outcome.is_none());
        drop(ended.unwrap_or_else(PoisonError::into_inner));
    }
}
