//! The sources of a view: the sensors, and the programs that publish.

use std::fs;

use breakeven::hardware::sensors::{Reading, Sensors};
use breakeven_judge::page::clean;
use thiserror::Error;

use crate::engine::programs::{Programs, ProgramsReading};

/// The sensors and the programs.
pub(super) struct Sources {
    sensors: Sensors,
    programs: Programs,
    attached: Option<u32>,
}

/// Why a program cannot be attached to.
#[derive(Debug, Error)]
pub(super) enum AttachError {
    #[error("there is no process {pid}{}", others(.publish))]
    NoProcess { pid: u32, publish: Vec<u32> },
    #[error(
        "process {pid}{name} does not publish its figures: a program that uses breakeven does \
         so where BREAKEVEN_MONITOR=1 is in its environment when it starts, or when it calls \
         `breakeven::monitor::publish()`; both need the same user and XDG_RUNTIME_DIR{}",
        others(.publish)
    )]
    NotPublished {
        pid: u32,
        /// Its name in parentheses, if the system reports it.
        name: String,
        publish: Vec<u32>,
    },
    #[error("process {pid}: {why}")]
    Unread { pid: u32, why: String },
}

impl Sources {
    pub(super) fn open(attached: Option<u32>) -> Result<Self, AttachError> {
        let mut programs = Programs::open();
        if let Some(pid) = attached {
            check(pid, &programs.read())?;
        }
        Ok(Self {
            sensors: Sensors::open(),
            programs,
            attached,
        })
    }

    /// All sensors, the GPUs' users, and the programs.
    pub(super) fn read(&mut self) -> (Reading, ProgramsReading) {
        let mut reading = self.sensors.read();
        self.sensors.add_processes(&mut reading);
        let mut programs = self.programs.read();
        if let Some(pid) = self.attached {
            programs.programs.retain(|program| program.pid == pid);
            programs.left_out.retain(|program| program.pid == pid);
            programs.beyond = 0;
        }
        (reading, programs)
    }
}

fn check(pid: u32, found: &ProgramsReading) -> Result<(), AttachError> {
    if let Some(unread) = found.left_out.iter().find(|unread| unread.pid == pid) {
        let why = unread.why.clone();
        return Err(AttachError::Unread { pid, why });
    }
    let publish: Vec<u32> = found.programs.iter().map(|program| program.pid).collect();
    match publish.contains(&pid) {
        true => Ok(()),
        false if !is_there(pid) => Err(AttachError::NoProcess { pid, publish }),
        false => {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            let name = match name.trim_end() {
                "" => String::new(),
                name => format!(" ({})", clean(name)),
            };
            Err(AttachError::NotPublished { pid, name, publish })
        }
    }
}

#[cfg(unix)]
fn is_there(pid: u32) -> bool {
    use rustix::process::{Pid, test_kill_process};
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
fn is_there(_pid: u32) -> bool {
    true
}

/// The programs that publish.
fn others(publish: &[u32]) -> String {
    let pids: Vec<String> = publish.iter().map(u32::to_string).collect();
    match pids.is_empty() {
        true => String::new(),
        false => format!("; these publish: {}", pids.join(", ")),
    }
}
