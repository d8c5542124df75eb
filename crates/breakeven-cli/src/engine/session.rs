//! Joins the partial profiles of worker processes, each of one cell, to one profile.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use breakeven::hardware::{AbsentBackend, HardwareCapabilities, SystemLoad};
use breakeven_profile::file::{self, FileError};
use breakeven_profile::profile::{
    Environment, Failure, JoinError, Operation, OperationKey, Profile, Run,
};

pub(crate) use crate::engine::protocol::Machine;
use crate::engine::protocol::{Cell, Message, Request};
use crate::engine::supervisor::{self, Ended};
use crate::exit::Interrupted;

/// Collects the measurements. Operations are in the order of the cells; each cell adds a run to
/// those that it measures.
#[derive(Default)]
pub(crate) struct Session {
    pub(crate) profile: Profile,
    /// Failures that are not an operation's.
    pub(crate) notes: Vec<String>,
    /// Notes that are no failures.
    pub(crate) warnings: Vec<String>,
    /// The cost model has learned from the executions.
    pub(crate) has_learned: bool,
    /// Kernels and the devices that cannot run them, with what those lack.
    unsupported: BTreeMap<[String; 2], String>,
    /// What the cell in progress has measured so far.
    current: Profile,
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

    /// Runs all cells of a request and reports each message of one, with true if it is its last.
    pub(crate) fn run(
        &mut self,
        request: &Request,
        on_message: &mut dyn FnMut(&Cell, bool),
    ) -> Result<Ended> {
        let mut joined = Ok(());
        let ended = supervisor::run(request, &mut |index, message| {
            let cell = &request.cells[index];
            let is_last = matches!(message, Message::End | Message::Failed(_));
            if let Err(error) = self.take(cell, message) {
                joined = Err(error);
            }
            on_message(cell, is_last);
        });
        joined?;
        self.settle()?;
        ended
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

    fn take(&mut self, cell: &Cell, message: Message) -> Result<(), JoinError> {
        match message {
            Message::Measured(profile) => self.current = *profile,
            Message::Warning(warning) => self.warn(warning),
            Message::Learned => self.has_learned = true,
            Message::Unsupported(lacking) => {
                self.current = Profile::default();
                if let Some((kernel, device)) = cell.kernel() {
                    let known = [kernel.to_owned(), device.to_owned()];
                    self.unsupported.insert(known, lacking);
                }
            }
            Message::Failed(failure) => {
                self.settle()?;
                self.failed(cell, failure);
            }
            Message::End => self.settle()?,
            Message::Begin(_) | Message::Machine(_) => {}
        }
        Ok(())
    }

    /// Adds what the cell has measured to the profile.
    fn settle(&mut self) -> Result<(), JoinError> {
        let mut current = std::mem::take(&mut self.current);
        for operation in &mut current.operations {
            // A kernel that fails at once has none.
            operation.runs.retain(|run| *run != Run::default());
        }
        self.profile = Profile::join([std::mem::take(&mut self.profile), current])?;
        Ok(())
    }

    /// Added once, however often it is reported.
    pub(crate) fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    fn failed(&mut self, cell: &Cell, failure: Failure) {
        let announced = cell.operations().pop();
        match (cell, announced) {
            (Cell::Peak { device }, _) => {
                let label = self.profile.device_label(device);
                let note = format!("{label}: its peaks could not be measured: {failure}");
                self.notes.push(note);
            }
            (_, None) => self.notes.push(failure.to_string()),
            (_, Some(announced)) => {
                // Of a batch on several devices it is the last one.
                let measured = self.of(cell).next_back();
                let at = measured.unwrap_or_else(|| {
                    self.profile.operations.push(announced);
                    self.profile.operations.len() - 1
                });
                self.profile.operations[at].failure = Some(failure);
            }
        }
    }

    /// The places of the cell's operations in the profile.
    fn of(&self, cell: &Cell) -> impl DoubleEndedIterator<Item = usize> + use<'_> {
        let announced: Vec<OperationKey> = (cell.operations().iter()).map(Operation::key).collect();
        let operations = self.profile.operations.iter().enumerate();
        operations
            .filter(move |(_, known)| announced.contains(&known.key()))
            .map(|(at, _)| at)
    }

    /// True if a further run of the cell is pointless: it failed, or its device cannot run it.
    pub(crate) fn failed_at(&self, cell: &Cell) -> bool {
        let operations = &self.profile.operations;
        let mut cannot = self.unsupported.keys();
        self.of(cell).any(|at| operations[at].failure.is_some())
            || cannot.any(|[kernel, device]| cell.kernel() == Some((kernel, device)))
    }

    /// A remark on each kernel that a device cannot run.
    pub(crate) fn unsupported(&self) -> impl Iterator<Item = String> {
        let each = self.unsupported.iter();
        each.map(|([kernel, device], lacking)| {
            let label = self.profile.device_label(device);
            format!("{kernel} on {label}: unsupported: {lacking}")
        })
    }
}

/// Detects the machine in a separate process, so that a GPU driver that crashes costs only the
/// GPUs. An interruption becomes an [`Interrupted`] with `said`.
pub(crate) fn detect(device_timeout_s: u32, said: &'static str) -> Result<Machine> {
    let request = Request {
        cells: vec![Cell::Detect],
        device_timeout_s,
        ..Request::default()
    };
    let mut found = None;
    let ended = supervisor::run(&request, &mut |_, message| match message {
        Message::Machine(machine) => found = Some(Ok(*machine)),
        Message::Failed(failure) => found = Some(Err(failure)),
        _ => {}
    })?;
    if ended == Ended::Interrupted {
        return Err(Interrupted(said).into());
    }
    let broke = match found {
        Some(Ok(machine)) => return Ok(machine),
        Some(Err(failure)) => Some(failure),
        None => None,
    };
    let mut hardware = HardwareCapabilities::detect_without_gpu();
    if let Some(Failure { message, .. }) = broke {
        hardware.absent = vec![AbsentBackend {
            backend: None,
            reason: format!("a GPU driver failed while the GPUs were listed: {message}"),
            remedy: "reinstall or remove the driver; the CPU is used meanwhile".to_owned(),
        }];
    }
    Ok(Machine {
        hardware,
        load: SystemLoad::sample_without_gpu(),
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
