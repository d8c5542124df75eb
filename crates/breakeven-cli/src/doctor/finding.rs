//! What is found of a machine, as data.

use std::fmt;

use breakeven_machine::Fact;
use serde::Serialize;

use super::facts::{Container, Facts, Setting};

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Subject {
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
    pub(crate) fn name(self) -> &'static str {
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
pub(crate) enum Standing {
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
pub(crate) enum Remedy {
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
    /// like it, if there are several.
    pub(crate) fn write(setting: &Setting, files: &str, value: &str, facts: &Facts) -> Self {
        let write = |sudo: &str, value: &str| format!("echo {} | {sudo}tee {files}", quoted(value));
        let sudo = facts.sudo();
        match setting.writable {
            false if facts.in_container() => Remedy::Elsewhere {
                why: "the container may not change it; whoever runs its host can".to_owned(),
                command: Some(write("sudo ", value)),
            },
            false if sudo.is_empty() => {
                Remedy::elsewhere(format!("{} is not writable, even for root", setting.file))
            }
            _ => Remedy::Command {
                command: write(sudo, value),
                undo: Some(write(sudo, &setting.value)),
            },
        }
    }

    /// A command that changes nothing that lasts.
    pub(crate) fn command(command: String) -> Self {
        let undo = None;
        Remedy::Command { command, undo }
    }

    /// Something that no command does.
    pub(crate) fn act(what: impl Into<String>) -> Self {
        Remedy::Act { what: what.into() }
    }

    /// What cannot be changed from here, nor by a command elsewhere.
    pub(crate) fn elsewhere(why: impl Into<String>) -> Self {
        let (why, command) = (why.into(), None);
        Remedy::Elsewhere { why, command }
    }
}

impl Facts {
    /// What a command that changes a setting begins with.
    pub(crate) fn sudo(&self) -> &'static str {
        match self.settings.root {
            Fact::Known(true) => "",
            _ => "sudo ",
        }
    }

    /// Whether the process is known to be in a container.
    pub(crate) fn in_container(&self) -> bool {
        let container = self.settings.virtualisation.container.known();
        matches!(container, Some(Container::By(_)))
    }

    /// Whether a hypervisor is known to run below.
    pub(crate) fn in_virtual_machine(&self) -> bool {
        self.settings.virtualisation.hypervisor == Fact::Known(true)
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
pub(crate) struct Finding {
    /// What it is about.
    pub(crate) subject: Subject,
    /// What it means.
    pub(crate) standing: Standing,
    /// What was seen.
    pub(crate) seen: String,
    /// The file or the driver that told; none where nothing did.
    pub(crate) source: Option<String>,
    /// What it does to measured times; empty where it does nothing.
    pub(crate) effect: &'static str,
    /// What changes it.
    pub(crate) remedy: Remedy,
}

impl Finding {
    /// A finding that leaves nothing to do.
    pub(crate) fn new(subject: Subject, standing: Standing, seen: impl Into<String>) -> Self {
        Self {
            subject,
            standing,
            seen: seen.into(),
            source: None,
            effect: "",
            remedy: Remedy::Nothing,
        }
    }

    pub(crate) fn good(subject: Subject, seen: impl Into<String>) -> Self {
        Self::new(subject, Standing::Good, seen)
    }

    pub(crate) fn unknown(subject: Subject, seen: impl Into<String>) -> Self {
        Self::new(subject, Standing::Unknown, seen)
    }

    pub(crate) fn from(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }

    pub(crate) fn does(mut self, effect: &'static str) -> Self {
        self.effect = effect;
        self
    }

    pub(crate) fn change(mut self, remedy: Remedy) -> Self {
        self.remedy = remedy;
        self
    }
}
