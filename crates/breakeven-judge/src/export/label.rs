//! Labels of devices and operations in an export.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use breakeven_profile::profile::{Device, Operation, OperationKey, Profile};

/// What labels depend on, looked up once.
pub(super) struct Labels<'a> {
    profile: &'a Profile,
    /// Pairs of name and device with operations of several sizes.
    sized: HashSet<(&'a str, &'a str)>,
}

impl<'a> Labels<'a> {
    pub(super) fn of(profile: &'a Profile) -> Self {
        let (mut first, mut sized) = (HashMap::new(), HashSet::new());
        for operation in &profile.operations {
            let name = (operation.name.as_str(), operation.device.as_str());
            if *first.entry(name).or_insert(operation.size) != operation.size {
                sized.insert(name);
            }
        }
        Self { profile, sized }
    }

    /// The label of a device; a software GPU is always marked.
    pub(super) fn device(&self, id: &str) -> String {
        self.profile.device_label(id)
    }

    /// An operation's name, with its size if the device has several sizes of that name.
    pub(super) fn operation(&self, operation: &Operation) -> String {
        let name = (operation.name.as_str(), operation.device.as_str());
        let size = operation.size.filter(|_| self.sized.contains(&name));
        OperationKey::sized(&operation.name, size)
    }

    /// A call of a timeline, with its device if that is not the CPU.
    pub(super) fn call<'n>(&self, name: &'n str, device: Option<&str>) -> Cow<'n, str> {
        match device.filter(|id| Device::of(id) != Device::Cpu) {
            Some(id) => Cow::Owned(format!("{name} on {}", self.device(id))),
            None => Cow::Borrowed(name),
        }
    }
}

/// Texts, each once, in the order in which they came.
#[derive(Default)]
pub(super) struct Texts {
    pub(super) all: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Texts {
    /// The number of a text; assigns one if it is new.
    pub(super) fn number(&mut self, text: &str) -> usize {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.all.len();
        self.all.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}
