//! What is found of a machine, as data.

use std::fmt;

use serde::Serialize;

use super::facts::Setting;
use super::rights::Rights;

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Subject {
    /// The rule by which clocks are chosen.
    Governor,
    /// Clocks above the base clock.
    Boost,
    /// Battery or mains.
    PowerSupply,
    /// Temperatures and clocks lowered for them.
    Heat,
    /// Logical cores that share a physical one.
    HyperThreads,
    /// Cores kept free of other work.
    Isolation,
    /// A limit on CPU time.
    Quota,
    /// What else runs.
    Load,
    /// A process that takes CPU time.
    Process,
    /// Hypervisors and containers.
    Virtualisation,
    /// CPU time that a hypervisor gave to others.
    Steal,
    /// The clock that takes times.
    Clock,
    /// Memory on a disk.
    Swap,
    /// Where memory is placed from run to run.
    Addresses,
    /// A GPU.
    Gpu,
}

impl Subject {
    /// Its name as it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Subject::Governor => "governor",
            Subject::Boost => "boost",
            Subject::PowerSupply => "power supply",
            Subject::Heat => "heat",
            Subject::HyperThreads => "hyper-threads",
            Subject::Isolation => "isolation",
            Subject::Quota => "quota",
            Subject::Load => "load",
            Subject::Process => "process",
            Subject::Virtualisation => "virtualisation",
            Subject::Steal => "steal",
            Subject::Clock => "clock",
            Subject::Swap => "swap",
            Subject::Addresses => "addresses",
            Subject::Gpu => "gpu",
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a finding means for measured times, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// As it should be.
    Good,
    /// The system does not tell.
    Unknown,
    /// Times may differ more than they need to.
    Doubtful,
    /// Times are wrong, or differ for a reason that has nothing to do with the work.
    Bad,
}

/// How a finding is changed. Commands are for a person to type; nobody runs them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Remedy {
    /// There is nothing to change.
    Nothing,
    /// A command.
    Command {
        /// What to type.
        command: String,
        /// What undoes it; none where it changes nothing that lasts.
        undo: Option<String>,
    },
    /// Something that no command does.
    Act {
        /// What to do.
        what: String,
    },
    /// It cannot be changed from here.
    Elsewhere {
        /// Why, and who could.
        why: String,
        /// What to type there, where that is known.
        command: Option<String>,
    },
}

impl Remedy {
    /// Writes a value to a file of the system. `files` names the setting's file and those
    /// like it, where there are several.
    pub(super) fn write(setting: &Setting, files: &str, value: &str, rights: Rights) -> Self {
        let write = |tee: &str, value: &str| format!("echo {} | {tee} {files}", quoted(value));
        let tee = match rights.root {
            true => "tee",
            false => "sudo tee",
        };
        match (setting.writable, rights) {
            (
                false,
                Rights {
                    container: true, ..
                },
            ) => Remedy::Elsewhere {
                why: "the container may not change it; whoever runs its host can".to_owned(),
                command: Some(write("sudo tee", value)),
            },
            (false, Rights { root: true, .. }) => Remedy::Elsewhere {
                why: format!("{} is not writable, even for root", setting.file),
                command: None,
            },
            _ => Remedy::Command {
                command: write(tee, value),
                undo: Some(write(tee, &setting.value)),
            },
        }
    }

    /// Something that no command does.
    pub(super) fn act(what: impl Into<String>) -> Self {
        Remedy::Act { what: what.into() }
    }
}

/// As a shell takes it for one word.
fn quoted(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match !value.is_empty() && value.chars().all(is_plain) {
        true => value.to_owned(),
        false => format!("'{}'", value.replace('\'', "'\\''")),
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it is about.
    pub subject: Subject,
    /// What it means.
    pub standing: Standing,
    /// What was seen.
    pub seen: String,
    /// The file or the driver that told; none where nothing did.
    pub source: Option<String>,
    /// What it does to measured times; empty where it does nothing.
    pub effect: &'static str,
    /// What changes it.
    pub remedy: Remedy,
}

impl Finding {
    /// A finding that leaves nothing to do.
    pub(super) fn new(subject: Subject, standing: Standing, seen: impl Into<String>) -> Self {
        Self {
            subject,
            standing,
            seen: seen.into(),
            source: None,
            effect: "",
            remedy: Remedy::Nothing,
        }
    }

    pub(super) fn good(subject: Subject, seen: impl Into<String>) -> Self {
        Self::new(subject, Standing::Good, seen)
    }

    pub(super) fn unknown(subject: Subject, seen: impl Into<String>) -> Self {
        Self::new(subject, Standing::Unknown, seen)
    }

    pub(super) fn from(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }

    pub(super) fn does(mut self, effect: &'static str) -> Self {
        self.effect = effect;
        self
    }

    pub(super) fn change(mut self, remedy: Remedy) -> Self {
        self.remedy = remedy;
        self
    }
}
