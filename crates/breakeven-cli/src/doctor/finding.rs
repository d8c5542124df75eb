//! Findings about a machine, as data.

use std::fmt;

use breakeven_machine::Fact;
use serde::Serialize;

use super::facts::{Container, Facts, Setting};

/// The subject of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Subject {
    /// The governor that chooses clocks.
    Governor,
    /// Clocks above the base clock.
    Boost,
    /// Battery or mains supply.
    PowerSupply,
    /// Temperatures, and clocks throttled because of them.
    Heat,
    /// Logical cores that share a physical one.
    HyperThreads,
    /// Cores kept free of other work.
    Isolation,
    /// A limit on CPU time.
    Quota,
    /// Other load on the machine.
    Load,
    /// A process that uses CPU time.
    Process,
    /// Hypervisors and containers.
    Virtualisation,
    /// CPU time that a hypervisor gave to other machines.
    Steal,
    /// The clock that measures times.
    Clock,
    /// Memory that was swapped out.
    Swap,
    /// Placement of memory from run to run.
    Addresses,
    /// A GPU.
    Gpu,
}

impl Subject {
    /// The name that is printed.
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
    /// Nothing to change.
    Good,
    /// The system does not report it.
    Unknown,
    /// Times vary more than necessary.
    Doubtful,
    /// Times are wrong, or vary for a reason unrelated to the work.
    Bad,
}

/// How to change a finding. Commands are for a person to run; breakeven does not run them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub(crate) enum Remedy {
    /// There is nothing to change.
    Nothing,
    /// A command.
    Command {
        /// The command to run.
        command: String,
        /// The command that undoes it; none if it changes nothing permanent.
        undo: Option<String>,
    },
    /// An instruction that is not a command.
    Act {
        /// What to do.
        what: String,
    },
    /// It cannot be changed from here.
    Elsewhere {
        /// Why, and who can change it.
        why: String,
        /// The command to run there, if known.
        command: Option<String>,
    },
}

impl Remedy {
    /// Writes a value to a system file. `files` names the setting's file, or all similar ones.
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

    /// A command without permanent effect.
    pub(crate) fn command(command: String) -> Self {
        let undo = None;
        Remedy::Command { command, undo }
    }

    /// An instruction that is not a command.
    pub(crate) fn act(what: impl Into<String>) -> Self {
        Remedy::Act { what: what.into() }
    }

    /// Something that cannot be changed from here, and for which no command is known.
    pub(crate) fn elsewhere(why: impl Into<String>) -> Self {
        let (why, command) = (why.into(), None);
        Remedy::Elsewhere { why, command }
    }
}

impl Facts {
    /// Prefix of a command that changes a setting.
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

/// Quotes a text as one shell word.
fn quoted(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match !value.is_empty() && value.chars().all(is_plain) {
        true => value.to_owned(),
        false => format!("'{}'", value.replace('\'', "'\\''")),
    }
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// The subject.
    pub(crate) subject: Subject,
    /// What it means.
    pub(crate) standing: Standing,
    /// What was observed.
    pub(crate) seen: String,
    /// The file or the driver that reported it; none if nothing did.
    pub(crate) source: Option<String>,
    /// Its effect on measured times; empty without effect.
    pub(crate) effect: &'static str,
    /// How to change it.
    pub(crate) remedy: Remedy,
}

impl Finding {
    /// Creates a finding with nothing to change.
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
