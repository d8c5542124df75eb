//! What devices and operations are called in an export.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use breakeven_profile::profile::{Operation, Profile};

/// The id of a device that an event does not name.
pub(super) const CPU: &str = "cpu";

/// What a label depends on beside the thing itself, looked up once.
pub(super) struct Labels<'a> {
    /// Whether the GPU of an id is a program on the CPU.
    software: HashMap<&'a str, bool>,
    /// Names on devices of which there are operations of several sizes.
    sized: HashSet<(&'a str, &'a str)>,
}

impl<'a> Labels<'a> {
    pub(super) fn of(profile: &'a Profile) -> Self {
        let gpus = profile.environment.gpus.iter();
        // Of several of one id the first counts: it is inserted last.
        let software = gpus.rev().map(|gpu| (gpu.id.as_str(), gpu.is_software()));
        let (mut first, mut sized) = (HashMap::new(), HashSet::new());
        for operation in &profile.operations {
            let name = (operation.name.as_str(), operation.device.as_str());
            if *first.entry(name).or_insert(operation.size) != operation.size {
                sized.insert(name);
            }
        }
        Self {
            software: software.collect(),
            sized,
        }
    }

    /// The id of a device; a GPU that is a program on the CPU is always named so.
    pub(super) fn device(&self, id: &str) -> String {
        match self.software.get(id) {
            Some(true) => format!("{id} (software)"),
            _ => id.to_owned(),
        }
    }

    /// An operation's name, with its size where there are several of that name
    /// on that device.
    pub(super) fn operation(&self, operation: &Operation) -> String {
        let name = (operation.name.as_str(), operation.device.as_str());
        match operation.size.filter(|_| self.sized.contains(&name)) {
            Some(size) => format!("{} (size {size})", operation.name),
            None => operation.name.clone(),
        }
    }

    /// A call of a timeline, with its device where that is not the CPU.
    pub(super) fn call<'n>(&self, name: &'n str, device: Option<&str>) -> Cow<'n, str> {
        match device.filter(|id| *id != CPU) {
            Some(id) => Cow::Owned(format!("{name} on {}", self.device(id))),
            None => Cow::Borrowed(name),
        }
    }
}
