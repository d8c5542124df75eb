//! Joins the partial profiles of worker processes, each of one cell, to one profile.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use breakeven::hardware::{AbsentBackend, HardwareCapabilities, SystemLoad};
use breakeven_profile::file::{self, FileError};
use breakeven_profile::profile::{
    Environment, Failure, JoinError, Operation, OperationKey, Profile, Run,
};

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
    /// Whether the cost model's data was saved, if there is any.
    pub(crate) learned: Option<bool>,
    /// Kernels and the devices that cannot run them, with what those lack.
    unsupported: BTreeMap<[String; 2], String>,
    /// What the cell in progress has measured so far.
    current: Profile,
}

/// What happened to a cell.
pub(crate) struct Step {
    /// The number of calls since the last step.
    pub(crate) calls: u64,
    /// It is done or failed.
    pub(crate) is_last: bool,
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

    /// Runs all cells of a request and reports every step.
    pub(crate) fn run(
        &mut self,
        request: &Request,
        on_step: &mut dyn FnMut(&Cell, Step),
    ) -> Result<Ended> {
        let mut joined = Ok(());
        let ended = supervisor::run(request, &mut |index, message| {
            let cell = &request.cells[index];
            let is_last = matches!(message, Message::End | Message::Failed(_));
            let calls = calls(&self.current);
            if let Err(error) = self.take(cell, message) {
                joined = Err(error);
            }
            let calls = self::calls(&self.current).saturating_sub(calls);
            on_step(cell, Step { calls, is_last });
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
            // The cost model alone gets its times.
            Message::Measured(_) if matches!(cell, Cell::Batch(batch) if batch.item.is_some()) => {}
            Message::Measured(profile) => self.current = *profile,
            Message::Warning(warning) => self.warn(warning),
            Message::Learned { kept } => self.learned = Some(kept),
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
            Message::Begin(_) | Message::Hardware(_) | Message::Load(_) => {}
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
    fn warn(&mut self, warning: String) {
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
            (Cell::Batch(batch), _) if batch.item.is_some() => {
                let (kernel, on) = (&batch.kernel, &batch.strategy);
                self.warnings.push(format!(
                    "the cost model learned nothing of {kernel} by {on}: {failure}"
                ));
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

/// The number of calls that a profile has, warm-up included; parts of an execution are no calls.
fn calls(profile: &Profile) -> u64 {
    let whole = (profile.operations.iter()).filter(|operation| !operation.within_execution);
    let runs = whole.flat_map(|operation| &operation.runs);
    runs.map(|run| {
        u64::from(run.first_call_ns.is_some()) + run.warmup_ns.len() as u64 + run.calls()
    })
    .sum()
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
