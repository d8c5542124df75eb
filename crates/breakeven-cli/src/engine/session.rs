//! Builds a profile from the messages of worker processes.

use std::path::Path;

use anyhow::Result;
use batches::Batches;
use breakeven::hardware::{AbsentBackend, HardwareCapabilities, SystemLoad};
use breakeven_profile::file::{self, FileError};
use breakeven_profile::profile::{Environment, Failure, Operation, Profile, Run};

use crate::engine::protocol::{Cell, Message, Request};
use crate::engine::suite::Event;
use crate::engine::supervisor::{self, Ended};
use crate::exit::Interrupted;

mod batches;

/// Collects the measurements. Operations are in the order of the cells; a run is added to an
/// operation when one of its cells begins.
#[derive(Default)]
pub(crate) struct Session {
    pub(crate) profile: Profile,
    /// Failures that are not an operation's.
    pub(crate) notes: Vec<String>,
    /// Notes that are no failures.
    pub(crate) warnings: Vec<String>,
    /// Whether the cost model's data was saved, if there is any.
    pub(crate) learned: Option<bool>,
    operations: Vec<(Cell, usize)>,
    batches: Batches,
}

/// The current time, RFC 3339 in UTC.
pub(crate) fn now() -> String {
    let now = jiff::Timestamp::now();
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// This program and its version, the profile's generator.
pub(crate) fn generator() -> String {
    format!("breakeven {}", env!("CARGO_PKG_VERSION"))
}

/// Message after an interruption.
const INTERRUPTED: Interrupted = Interrupted("interrupted: the measurements so far are above");

impl Session {
    pub(crate) fn new(hardware: &HardwareCapabilities) -> Self {
        let profile = Profile {
            created: Some(now()),
            generator: Some(generator()),
            environment: environment(hardware),
            ..Profile::default()
        };
        Self {
            profile,
            ..Self::default()
        }
    }

    /// Sets the number of the measuring process, from 0.
    pub(crate) fn begin_run(&mut self, run: u32) {
        self.batches.run = run;
    }

    /// Writes the measurements. If nothing was measured before an interruption, an earlier file
    /// stays unchanged and an error says so.
    ///
    /// # Errors
    ///
    /// Those of [`file::write()`].
    pub(crate) fn keep(&self, output: Option<&Path>) -> Result<Interrupted, FileError> {
        let profile = &self.profile;
        let mut operations = profile.operations.iter();
        let is_empty = profile.evidence.peaks.is_empty()
            && operations.all(|operation| operation.samples_ns().next().is_none());
        match output {
            Some(_) if profile.interrupted && is_empty => {
                let said = "interrupted before anything was measured: no file is written";
                Ok(Interrupted(said))
            }
            Some(path) => file::write(profile, path).map(|()| INTERRUPTED),
            None => Ok(INTERRUPTED),
        }
    }

    pub(crate) fn take(&mut self, cell: &Cell, message: Message) {
        match message {
            Message::Clock(clock) => self.profile.environment.clock = Some(clock),
            Message::Peak(peak) => self.profile.evidence.peaks.push(*peak),
            Message::Operation(operation) => {
                let operation = self.operation(cell, *operation);
                operation.runs.push(Run::default());
            }
            Message::KernelClock(clock) => {
                let gpus = &mut self.profile.environment.gpus;
                if let Some(gpu) = gpus.iter_mut().find(|gpu| Some(&*gpu.id) == cell.gpu()) {
                    gpu.kernel_clock = Some(clock);
                }
            }
            Message::Event(Event::EnergyUnknown(why)) => {
                if let Some(index) = self.index(cell) {
                    let key = self.profile.operations[index].key();
                    let who = key.label(self.profile.is_software_gpu(&key.device));
                    self.warn(format!("the energy of {who} is not known: {why}"));
                }
            }
            Message::Event(event) => {
                if let Some(index) = self.index(cell) {
                    event.record(&mut self.profile.operations[index]);
                }
            }
            Message::Execution(execution) => {
                if let Cell::Batch(cell) = cell {
                    self.batches.executed(&mut self.profile, cell, &execution);
                }
            }
            Message::Recorded(recorded) => {
                if let Cell::Batch(cell) = cell {
                    self.batches.recorded(&mut self.profile, cell, *recorded);
                }
            }
            Message::Warning(warning) => self.warn(warning),
            Message::Learned { kept } => self.learned = Some(kept),
            Message::Failed(failure) => self.failed(cell, failure),
            Message::Begin(_) | Message::Hardware(_) | Message::Load(_) | Message::End => {}
        }
    }

    /// Added once, however often it is reported.
    fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    fn failed(&mut self, cell: &Cell, failure: Failure) {
        match (cell, cell.operation()) {
            (Cell::Batch(cell), _) => batches::failed(&mut self.profile, cell, failure),
            (Cell::Lesson(cell), _) => {
                let (kernel, on) = (&cell.kernel, &cell.strategy);
                self.warnings.push(format!(
                    "the cost model learned nothing of {kernel} by {on}: {failure}"
                ));
            }
            // A cell can fail before its operation was announced.
            (_, Some(announced)) => {
                let operation = self.operation(cell, announced);
                operation.failure = Some(failure);
                operation.runs.retain(|run| *run != Run::default());
            }
            (Cell::Peak { device }, None) => {
                let label = self.profile.device_label(device);
                let note = format!("{label}: its peaks could not be measured: {failure}");
                self.notes.push(note);
            }
            (_, None) => self.notes.push(failure.to_string()),
        }
    }

    /// The cell's operation in the profile; for a batch, that of its last execution.
    fn index(&self, cell: &Cell) -> Option<usize> {
        if let Cell::Batch(_) = cell {
            let last = self.batches.last.as_ref()?;
            let mut operations = self.profile.operations.iter();
            return operations.position(|operation| operation.key() == *last);
        }
        let known = self.operations.iter().find(|(known, _)| known == cell);
        known.map(|(_, index)| *index)
    }

    /// The cell's operation, added if it is missing.
    fn operation(&mut self, cell: &Cell, operation: Operation) -> &mut Operation {
        let index = self.index(cell).unwrap_or_else(|| {
            let index = self.profile.operations.len();
            self.operations.push((cell.clone(), index));
            self.profile.operations.push(operation);
            index
        });
        &mut self.profile.operations[index]
    }

    pub(crate) fn failed_at(&self, cell: &Cell) -> bool {
        if let Cell::Batch(cell) = cell {
            return batches::has_failed(&self.profile, cell);
        }
        self.index(cell)
            .is_some_and(|index| self.profile.operations[index].failure.is_some())
    }
}

pub(crate) struct Machine {
    pub(crate) hardware: HardwareCapabilities,
    pub(crate) load: SystemLoad,
    /// Detection crashed the worker: a driver's library failed.
    pub(crate) load_broke: bool,
}

/// Detects the machine in a separate process, so that a GPU driver that crashes costs only the
/// GPUs. An interruption becomes an [`Interrupted`] with `said`.
pub(crate) fn detect(device_timeout_s: u32, said: &'static str) -> Result<Machine> {
    let request = Request {
        cells: vec![Cell::Detect, Cell::Load],
        device_timeout_s,
        ..Request::default()
    };
    let (mut hardware, mut load, mut broke, mut load_broke) = (None, None, None, false);
    let ended = supervisor::run(&request, &mut |cell, message| match message {
        Message::Hardware(found) => hardware = Some(*found),
        Message::Load(found) => load = Some(*found),
        Message::Failed(failure) if request.cells[cell] == Cell::Detect => broke = Some(failure),
        Message::Failed(_) => load_broke = true,
        _ => {}
    })?;
    if ended == Ended::Interrupted {
        return Err(Interrupted(said).into());
    }
    let hardware = hardware.unwrap_or_else(|| {
        let mut hardware = HardwareCapabilities::detect_without_gpu();
        if let Some(Failure { message, .. }) = broke {
            hardware.absent = vec![AbsentBackend {
                backend: None,
                reason: format!("a GPU driver failed while the GPUs were listed: {message}"),
                remedy: "reinstall or remove the driver; the CPU is used meanwhile".to_owned(),
            }];
        }
        hardware
    });
    Ok(Machine {
        hardware,
        load: load.unwrap_or_else(SystemLoad::sample_without_gpu),
        load_broke,
    })
}

fn environment(hardware: &HardwareCapabilities) -> Environment {
    let build = match cfg!(debug_assertions) {
        true => "debug",
        false => "release",
    };
    let mut environment = Environment {
        revision: option_env!("BREAKEVEN_REVISION").map(str::to_owned),
        build_profile: Some(build.to_owned()),
        ..Environment::default()
    };
    hardware.describe(&mut environment);
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_good_file_is_not_replaced_by_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("good.json");
        let kept = |session: &Session| {
            std::fs::write(&path, "good").unwrap();
            session.keep(Some(&path)).unwrap();
            std::fs::read_to_string(&path).unwrap() == "good"
        };
        let mut session = Session::default();
        assert!(!kept(&session));
        session.profile.interrupted = true;
        assert!(kept(&session));
        session.profile.operations.push(Operation::new("f", "cpu"));
        assert!(kept(&session));
        let samples_ns = vec![1.0];
        session.profile.operations[0].runs.push(Run {
            samples_ns,
            ..Run::default()
        });
        assert!(!kept(&session));
    }
}
