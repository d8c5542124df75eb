//! A GPU slot: a device of the engine whose launches are processes.

use std::fs;
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

/// Variables that choose devices. ROCR_VISIBLE_DEVICES stays the user's: HIP numbers the devices
/// that it leaves visible (ROCm documentation, "GPU isolation techniques").
const CHOOSING: [&str; 3] = [
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",
];

/// The devices that the jobs of one slot see.
pub(super) type Visible = Vec<(&'static str, String)>;

/// The devices of this machine, without asking a driver.
#[derive(Debug, Default)]
pub(super) struct Devices {
    /// The devices that the user's variables allow, by variable.
    lists: Vec<(&'static str, Vec<String>)>,
    /// Their number, if known.
    count: Option<usize>,
}

impl Devices {
    pub(super) fn find() -> Self {
        let set = |name: &str| std::env::var(name).ok();
        let rocr = set("ROCR_VISIBLE_DEVICES").map(|list| entries(&list).len());
        let found = rocr.or_else(nvidia).or_else(amd);
        Self::of(set, found)
    }

    fn of(set: impl Fn(&str) -> Option<String>, found: Option<usize>) -> Self {
        let lists = CHOOSING.into_iter();
        let lists = lists.filter_map(|name| Some((name, entries(&set(name)?))));
        let lists: Vec<_> = lists.collect();
        let listed = lists
            .iter()
            .map(|(_, list)| list.len())
            .find(|length| *length > 0);
        Self {
            count: listed.or(found).filter(|count| *count > 0),
            lists,
        }
    }

    /// Number of known devices; 1 if none.
    pub(super) fn count(&self) -> usize {
        self.count.unwrap_or(1)
    }

    /// The devices for the jobs of a slot; further slots share devices.
    pub(super) fn visible(&self, slot: usize) -> Visible {
        let number = slot % self.count.unwrap_or(usize::MAX);
        let chosen = |name: &'static str| {
            let list = self.lists.iter().find(|(listed, _)| *listed == name);
            let device = match list {
                // An empty list hides all devices.
                Some((_, list)) => list.get(slot % list.len().max(1)).cloned(),
                None => Some(number.to_string()),
            };
            (name, device.unwrap_or_default())
        };
        CHOOSING.into_iter().map(chosen).collect()
    }
}

fn entries(list: &str) -> Vec<String> {
    let entries = list.split(',').map(str::trim);
    let entries = entries.filter(|entry| !entry.is_empty());
    entries.map(str::to_owned).collect()
}

/// GPUs of NVIDIA's driver, by the kernel.
fn nvidia() -> Option<usize> {
    Some(fs::read_dir("/proc/driver/nvidia/gpus").ok()?.count())
}

/// GPUs of AMD's driver, by the kernel: nodes whose GPU has an id.
fn amd() -> Option<usize> {
    let nodes = fs::read_dir("/sys/class/kfd/kfd/topology/nodes").ok()?;
    let is_gpu = |id: String| id.trim() != "0";
    let ids = nodes
        .flatten()
        .map(|node| fs::read_to_string(node.path().join("gpu_id")));
    Some(ids.flatten().filter(|id| is_gpu(id.clone())).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(devices: &Devices, slot: usize) -> String {
        let seen = devices.visible(slot).into_iter().map(|(_, device)| device);
        seen.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn slots_have_devices_in_turn() {
        let of = |cuda: Option<&str>, found| {
            let cuda = cuda.map(str::to_owned);
            Devices::of(|name| cuda.clone().filter(|_| name == CHOOSING[0]), found)
        };
        let seen = |devices: Devices| {
            let seen: Vec<_> = (0..3).map(|slot| seen(&devices, slot)).collect();
            (devices.count(), seen.join(", "))
        };
        assert_eq!(seen(of(None, None)), (1, "0 0 0, 1 1 1, 2 2 2".to_owned()));
        assert_eq!(
            seen(of(None, Some(2))),
            (2, "0 0 0, 1 1 1, 0 0 0".to_owned())
        );
        let listed = of(Some("3, GPU-7"), Some(8));
        assert_eq!(seen(listed), (2, "3 0 0, GPU-7 1 1, 3 0 0".to_owned()));
        let hidden = of(Some(""), Some(1));
        assert_eq!(seen(hidden), (1, " 0 0,  0 0,  0 0".to_owned()));
    }
}
