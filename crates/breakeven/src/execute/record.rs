//! An execution in the profile: the operations that docs/guide.md lists under "In the
//! profile", with its [`Executions`].
//!
//! The size is the number of tasks where that is round (two digits and zeros, or
//! a power of two), else the next power of two: every size is an operation of its
//! own, and a service whose batches are all of other sizes is to have few.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use breakeven_profile::profile::{Device, Executions};
use breakeven_profile::recorder::{Guard, is_on};

use super::ended::Ended;
use super::published;
use super::result::ExecutionResult;
use super::shared::Shared;
use crate::locked;
use crate::plan::{Basis, ExecutionStrategy};

/// What spans of one execution are recorded as.
#[derive(Debug)]
pub(super) struct SpanRecord {
    operation: String,
    devices: Vec<String>,
}

impl SpanRecord {
    /// None while recording is off.
    pub(super) fn of(operation: &str, devices: &[String]) -> Option<Self> {
        is_on().then(|| Self {
            operation: [operation, ":span"].concat(),
            devices: devices.to_vec(),
        })
    }

    /// A worker begins a span.
    #[inline]
    pub(super) fn cpu(&self) -> Guard {
        let call = Guard::enter_named(&self.operation, None, None);
        call.within_execution();
        call
    }

    /// A launch has ended.
    pub(super) fn gpu(
        &self,
        index: usize,
        tasks: usize,
        took: Duration,
        in_use: impl FnOnce() -> Option<f64>,
    ) {
        let device = self.devices[index].as_str();
        let mut call = Guard::enter_named(&self.operation, Some(device), None);
        call.within_execution();
        call.items(tasks);
        if let Some(part) = now_and_then(device, in_use) {
            call.gpu_use(part);
        }
        call.began_ago(took);
    }
}

/// How often the use of a GPU is asked for: the driver's figure is of the last sixth of a
/// second or more.
const USE_ASKED_EVERY: Duration = Duration::from_millis(100);

/// What a device is asked, if it was not asked just before.
fn now_and_then(device: &str, ask: impl FnOnce() -> Option<f64>) -> Option<f64> {
    static ASKED: Mutex<BTreeMap<String, Instant>> = Mutex::new(BTreeMap::new());
    let mut asked = locked(&ASKED);
    asked.retain(|_, at| at.elapsed() < USE_ASKED_EVERY);
    if asked.contains_key(device) {
        return None;
    }
    asked.insert(device.to_owned(), Instant::now());
    drop(asked);
    ask()
}

/// Counts, logs and records an execution that has ended.
/// `items` are those of the batch, if a task has several.
pub(super) fn batch(ended: &Ended, items: Option<usize>, operation: &str, manager: &Shared) {
    locked(&manager.stats).count(ended, usize::MAX);
    published::batch(ended, operation);
    #[cfg(feature = "metrics")]
    super::emitted::batch(ended, operation);
    let (counts, decision, tasks) = (&ended.counts, &ended.decision, ended.tasks);
    let fallen = ended.fallen();
    if let Some(error) = counts.first_error().filter(|_| fallen > 0) {
        log::warn!(
            "{operation}: the CPU does {fallen} of {tasks} tasks in the GPU's place: {error}"
        );
    }
    if !is_on() {
        return;
    }
    let items = |count: usize| match items {
        Some(items) => (count as u128 * items as u128 / tasks.max(1) as u128) as usize,
        None => count,
    };
    let tasks = items(tasks);
    let (device, size) = (ended.ran_on(), recorded_size(tasks));
    let mut call = match ended.is_whole() {
        true => Guard::enter_named(operation, Some(&device), Some(size)),
        false => {
            let name = [operation, ":incomplete"].concat();
            Guard::enter_named(&name, Some(&device), None)
        }
    };
    call.items(items(ended.done));
    let by_program = decision.basis == Basis::Program;
    let is_cpus = device == "cpu" && decision.strategy == ExecutionStrategy::CpuOnly;
    let is_rounded = ended.is_whole() && size != tasks as u64;
    let on_gpus: usize = counts.gpus.iter().map(|gpu| gpu.tasks).sum();
    let is_shared = on_gpus > 0 && counts.cpu.tasks > 0;
    let mut device_tasks = BTreeMap::new();
    if let ([_, _, ..], true) = (&ended.names[..], on_gpus > 0) {
        let gpus = (ended.names.iter().map(String::as_str)).zip(&counts.gpus);
        let all = gpus.chain([(Device::CPU, &counts.cpu)]);
        device_tasks.extend(all.map(|(name, share)| (name.to_owned(), items(share.tasks) as u64)));
    }
    call.executions(Executions {
        decided: (!by_program).then(|| decision.basis.name().to_owned()),
        strategy: (!is_cpus).then(|| decision.strategy.to_string()),
        tasks: is_rounded.then_some(tasks as u64),
        // Of one side alone all are.
        gpu_tasks: is_shared.then_some(items(on_gpus) as u64),
        device_tasks,
        predicted_ns: decision.predicted_ns().filter(|_| !by_program),
        recalled: (ended.recalled > 0).then_some(items(ended.recalled) as u64),
        device_error: counts.first_error().map(|error| error.to_string()),
        ..Executions::default()
    });
    call.began_ago(ended.took);
    drop(call);
    if fallen > 0 {
        let devices = match &ended.names[..] {
            [] => "gpu".to_owned(),
            names => names.join("+"),
        };
        let name = [operation, ":fallback"].concat();
        let mut call = Guard::enter_named(&name, Some(&devices), None);
        call.within_execution();
        call.items(items(fallen));
        call.began_ago(counts.fallback.delay.unwrap_or_default());
    }
}

/// Counts a device that failed in a batch of this operation and is quarantined.
pub(super) fn quarantine(device: &str, operation: &str, manager: &Shared) {
    locked(&manager.stats).quarantines += 1;
    published::quarantine(device, operation);
    #[cfg(feature = "metrics")]
    super::emitted::quarantine(device, operation);
}

/// Records a chain that ran in parts; each part is an execution of its own.
pub(super) fn chain<T>(result: &ExecutionResult<T>) {
    if !is_on() {
        return;
    }
    let (tasks, size) = (result.tasks, recorded_size(result.tasks));
    let device = result.ran_on();
    let mut call = Guard::enter_named(&result.operation, Some(&device), Some(size));
    call.items(tasks);
    call.executions(Executions {
        decided: Some(result.decision.basis.name().to_owned()),
        strategy: Some(result.decision.strategy.to_string()),
        tasks: (size != tasks as u64).then_some(tasks as u64),
        predicted_ns: result.decision.predicted_ns(),
        ..Executions::default()
    });
    call.began_ago(result.execution_time);
}

/// The size that a profile has a batch of so many tasks under: their number where
/// that is round (two digits and zeros, or a power of two), else the next power of two.
pub fn recorded_size(tasks: usize) -> u64 {
    let tasks = u64::try_from(tasks).unwrap_or(u64::MAX);
    let zeros = 10_u64.pow(tasks.checked_ilog10().unwrap_or(0).saturating_sub(1));
    if tasks.is_multiple_of(zeros) {
        return tasks;
    }
    tasks.checked_next_power_of_two().unwrap_or(tasks)
}

#[cfg(test)]
mod tests {
    use super::recorded_size;

    #[test]
    fn round_sizes_are_kept_and_others_have_few() {
        for size in [0, 1, 7, 99, 100, 150, 256, 1000, 1024, 42_000, 1 << 40] {
            assert_eq!(recorded_size(size), size as u64);
        }
        assert_eq!((recorded_size(101), recorded_size(1025)), (128, 2048));
        let mut all: Vec<u64> = (0..100_000).map(recorded_size).collect();
        all.sort_unstable();
        all.dedup();
        assert!(all.len() < 400, "{}", all.len());
        assert_eq!(recorded_size(usize::MAX), u64::MAX);
    }
}
