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
use breakeven::{DeviceError, DeviceErrorKind, execute};
use rustix::process::Pid;

use super::jobs::{Device, Jobs};
use super::process::{Ended, How};
use super::running::lock;
use super::window::{Slot, Ticket};

/// A shell's exit codes for a command that cannot run: not executable, or not found.
const NOT_RUN: [i32; 2] = [126, 127];

/// A GPU slot.
pub(super) struct GpuSlot {
    jobs: Arc<Jobs>,
    slot: usize,
    spec: GpuSpec,
    most: usize,
    /// Whose command runs: if windows overlap, one waits for the other.
    turn: Arc<Mutex<()>>,
}

impl GpuSlot {
    /// A slot with at most `most` inputs per command.
    pub(super) fn new(jobs: Arc<Jobs>, slot: usize, most: usize) -> Self {
        let mut spec = GpuSpec::named(Device::Gpu(slot).to_string());
        if most == 1 {
            // The cost of a process is then divided over its tasks.
            spec.launch = Fact::Known(Duration::ZERO);
        }
        Self {
            jobs,
            slot,
            spec,
            most,
            turn: Arc::default(),
        }
    }
}

/// State of a launch.
#[derive(Debug, Default)]
struct State {
    /// The group of its process, once started.
    group: Option<Pid>,
    /// Nobody waits for it any more.
    is_given_up: bool,
    outcome: Option<Result<usize, DeviceError>>,
    waker: Option<Waker>,
}

/// A process that runs for a GPU, or waits for its turn.
pub(super) struct Launch {
    jobs: Arc<Jobs>,
    state: Arc<(Mutex<State>, Condvar)>,
}

impl GpuExecutor<Ticket, ()> for GpuSlot {
    type Flight = Launch;

    fn start(&self, tickets: &[Ticket]) -> Result<Launch, DeviceError> {
        let device = Device::Gpu(self.slot);
        let launch = Launch {
            jobs: Arc::clone(&self.jobs),
            state: Arc::default(),
        };
        let (jobs, turn) = (Arc::clone(&self.jobs), Arc::clone(&self.turn));
        let (state, tickets) = (Arc::clone(&launch.state), tickets.to_vec());
        let run = move || {
            let _turn = lock(&turn);
            let mut known = lock(&state.0);
            if known.is_given_up || jobs.stop.get().is_some() {
                return;
            }
            let slots: Vec<Arc<Slot>> = tickets.iter().filter_map(Ticket::slot).cloned().collect();
            slots.iter().for_each(|slot| slot.launched());
            let started = jobs.start(device, &slots);
            known.group = started.as_ref().ok().map(|process| process.group);
            drop(known);
            let ended = match started {
                Ok(process) => process.wait(&jobs.running),
                Err(ended) => *ended,
            };
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
        std::thread::Builder::new().spawn(run).map_err(|error| {
            let message = format!("no thread waits for its end: {error}");
            DeviceError::new(DeviceErrorKind::Other, message)
        })?;
        Ok(launch)
    }

    fn device(&self) -> Option<&dyn execute::Device> {
        Some(&self.spec)
    }

    fn most_tasks(&self) -> Option<usize> {
        Some(self.most)
    }

    fn depth(&self) -> usize {
        1
    }
}

/// A GPU's command failed: the CPU's command runs instead.
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
        // One slow input must not quarantine the device, as a hung driver does; three in a row do.
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

/// When a launch is given up, its process is ended, unless it may finish; its inputs run elsewhere
/// only after that.
impl Drop for Launch {
    fn drop(&mut self) {
        let mut state = lock(&self.state.0);
        state.is_given_up = true;
        let Some(group) = state.group else { return };
        if state.outcome.is_none() && !self.jobs.lets_end.load(Ordering::SeqCst) {
            self.jobs.running.end(group);
        }
        let ended = self
            .state
            .1
            .wait_while(state, |state| state.outcome.is_none());
        drop(ended.unwrap_or_else(PoisonError::into_inner));
    }
}
