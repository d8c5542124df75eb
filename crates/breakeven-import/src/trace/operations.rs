//! The operations of a trace: names by number, samples, what is told of them.

use std::collections::{BTreeMap, HashMap};

use breakeven_profile::profile::{Operation, Run};

use super::nesting::Own;
use crate::kept::Kept;
use crate::note::{Note, Notes};

/// The longest name that a profile file holds, bytes.
const LONGEST_NAME: usize = 65_536;

/// Operations that are told apart. Names with numbers in them could be one per event.
const OPERATIONS: usize = 1 << 16;

/// The longest time that counts, ns: 2^53, a hundred days, as in every importer.
const MOST_NS: f64 = 9_007_199_254_740_992.0;

/// Devices that are told apart; those beyond are one.
const DEVICES: usize = 1 << 10;

/// Where operations past the limit are counted.
const OTHERS: &str = "(other operations)";

/// What a trace tells of an operation beside its times.
#[derive(Debug, Default)]
pub(crate) struct LaunchFacts {
    /// Bytes that a call moved.
    pub(crate) bytes: Option<u64>,
    /// Blocks or work items of a launch, in three dimensions.
    pub(crate) grid: Option<[u64; 3]>,
    /// Threads of a block or items of a work group, in three dimensions.
    pub(crate) block: Option<[u64; 3]>,
}

#[derive(Debug, Default)]
struct Each {
    name: String,
    device: u32,
    size: Option<u64>,
    category: String,
    runs: Vec<Kept>,
    not_times: u64,
    is_range: bool,
    bytes: Option<u64>,
    told: u64,
    grid: Shape,
    block: Shape,
}

/// A launch's shape, as long as all launches have the same.
#[derive(Debug, Default, PartialEq)]
enum Shape {
    #[default]
    Unknown,
    Same([u64; 3]),
    Varies,
}

impl Shape {
    fn see(&mut self, shape: Option<[u64; 3]>) {
        *self = match (&self, shape) {
            (Self::Unknown, Some(shape)) => Self::Same(shape),
            (Self::Same(known), Some(shape)) if *known != shape => Self::Varies,
            _ => return,
        };
    }

    fn text(&self) -> Option<String> {
        match self {
            Self::Unknown => None,
            Self::Same([x, y, z]) => Some(format!("{x}×{y}×{z}")),
            Self::Varies => Some("varies".to_owned()),
        }
    }
}

/// All operations, by number.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    all: Vec<Each>,
    devices: Vec<String>,
    by_name: Vec<HashMap<String, u32>>,
    shortened: u64,
    others: u64,
}

impl Operations {
    /// The number of a device.
    pub(crate) fn device(&mut self, id: &str) -> u32 {
        let mut known = self.devices.iter().position(|device| device == id);
        if known.is_none() && self.devices.len() >= DEVICES {
            known = Some(DEVICES - 1);
        }
        let number = known.unwrap_or_else(|| {
            self.devices.push(id.to_owned());
            self.by_name.push(HashMap::new());
            self.devices.len() - 1
        });
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    /// The number of an operation; `category` is what the tracer calls its kind.
    pub(crate) fn number(&mut self, name: &str, device: u32, category: &str) -> u32 {
        self.sized(name, device, category, None)
    }

    /// [`number`](Self::number) of an operation with a size.
    pub(crate) fn sized(
        &mut self,
        name: &str,
        device: u32,
        category: &str,
        size: Option<u64>,
    ) -> u32 {
        let name = match name {
            "" => "(unnamed)",
            name => self.shortened(name),
        };
        let keyed;
        let key = match size {
            None => name,
            Some(size) => {
                keyed = format!("{name}\0{size}");
                &keyed
            }
        };
        let at = usize::try_from(device).unwrap_or(usize::MAX);
        let Some(known) = self.by_name.get_mut(at) else {
            return 0;
        };
        if let Some(number) = known.get(key) {
            return *number;
        }
        let is_other = self.all.len() >= OPERATIONS;
        self.others += u64::from(is_other);
        let (name, key) = if is_other {
            (OTHERS, OTHERS)
        } else {
            (name, key)
        };
        if let Some(number) = known.get(key) {
            return *number;
        }
        let number = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        known.insert(key.to_owned(), number);
        self.all.push(Each {
            name: name.to_owned(),
            device,
            size: size.filter(|_| !is_other),
            category: category.to_owned(),
            ..Each::default()
        });
        number
    }

    fn shortened<'n>(&mut self, name: &'n str) -> &'n str {
        if name.len() <= LONGEST_NAME {
            return name;
        }
        self.shortened += 1;
        &name[..name.floor_char_boundary(LONGEST_NAME)]
    }

    /// Gives an operation another name, which no other of its device has.
    pub(crate) fn rename(&mut self, operation: u32, name: &str) {
        let name = self.shortened(name).to_owned();
        if let Some(each) = self.get_mut(operation) {
            each.name = name;
        }
    }

    /// Gives devices whose ids begin so another beginning.
    pub(crate) fn rename_devices(&mut self, from: &str, to: &str) {
        for device in &mut self.devices {
            if let Some(rest) = device.strip_prefix(from) {
                *device = format!("{to}{rest}");
            }
        }
    }

    fn get(&self, operation: u32) -> Option<&Each> {
        self.all.get(usize::try_from(operation).ok()?)
    }

    fn get_mut(&mut self, operation: u32) -> Option<&mut Each> {
        self.all.get_mut(usize::try_from(operation).ok()?)
    }

    /// A time of an operation in a run, counted from 0; false for what is no time.
    pub(crate) fn sample(&mut self, operation: u32, run: usize, ns: f64) -> bool {
        let Some(each) = self.get_mut(operation) else {
            return false;
        };
        if !(0.0..=MOST_NS).contains(&ns) {
            each.not_times += 1;
            return false;
        }
        // Runs follow each other; a gap would be an invented run.
        let run = run.min(each.runs.len());
        if run == each.runs.len() {
            each.runs.push(Kept::default());
        }
        each.runs[run].push(ns).is_ok()
    }

    /// Marks an operation that is around others and does nothing itself.
    pub(crate) fn mark_range(&mut self, operation: u32) {
        if let Some(each) = self.get_mut(operation) {
            each.is_range = true;
        }
    }

    /// What is told of one of its calls.
    pub(crate) fn add_facts(&mut self, operation: u32, facts: &LaunchFacts) {
        let Some(each) = self.get_mut(operation) else {
            return;
        };
        if let Some(bytes) = facts.bytes {
            each.told += 1;
            each.bytes = Some(each.bytes.unwrap_or(0).saturating_add(bytes));
        }
        each.grid.see(facts.grid);
        each.block.see(facts.block);
    }

    pub(super) fn device_of(&self, operation: u32) -> u32 {
        self.get(operation).map_or(0, |each| each.device)
    }

    pub(super) fn device_name(&self, device: u32) -> &str {
        let index = usize::try_from(device).ok();
        index
            .and_then(|index| self.devices.get(index))
            .map_or("cpu", String::as_str)
    }

    pub(super) fn device_name_of(&self, operation: u32) -> &str {
        self.device_name(self.device_of(operation))
    }

    /// An operation's name.
    pub(crate) fn name_of(&self, operation: u32) -> &str {
        self.get(operation).map_or("", |each| &each.name)
    }

    /// All with samples, those that take most of the time first.
    pub(super) fn into_operations(
        mut self,
        own: &HashMap<u32, Own>,
        notes: &mut Notes,
    ) -> Vec<Operation> {
        notes.left_out(
            self.shortened,
            "name(s)",
            format!("their ends: a profile's names have at most {LONGEST_NAME} bytes"),
        );
        notes.left_out(
            self.others,
            "event(s)",
            format!(
                "their names: the trace has more than {OPERATIONS} operations, so they count as \
                 {OTHERS}"
            ),
        );
        let all = std::mem::take(&mut self.all);
        let mut operations = Vec::new();
        for (number, each) in (0..).zip(all) {
            if each.not_times > 0 {
                notes.add(Note::NotTimes {
                    operation: each.name.clone(),
                    values: each.not_times,
                });
            }
            let device = self.device_name(each.device);
            let own = own.get(&number).copied();
            let operation = each.into_operation(device, own);
            if !operation.runs.is_empty() {
                operations.push(operation);
            }
        }
        operations.sort_by(|a, b| b.total_ns().total_cmp(&a.total_ns()));
        operations
    }
}

impl Each {
    fn into_operation(self, device: &str, own: Option<Own>) -> Operation {
        let mut runs: Vec<Run> = self.runs.into_iter().map(Kept::into_run).collect();
        for run in &mut runs {
            // A trace is a program's calls: those inside a call are known, if only as none.
            run.nested_calls = Some(0);
            run.self_ns = self.is_range.then_some(0.0);
        }
        if let (Some(own), [run]) = (own, &mut runs[..]) {
            run.self_ns = Some((own.ns as f64).min(run.total_ns()));
            run.nested_calls = Some(own.nested);
        }
        let mut attributes = BTreeMap::new();
        let texts = [
            (
                "category",
                Some(self.category).filter(|kind| !kind.is_empty()),
            ),
            ("grid", self.grid.text()),
            ("block", self.block.text()),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                attributes.insert(name.to_owned(), text.into());
            }
        }
        Operation {
            size: self.size,
            bytes: self.bytes.map(|bytes| bytes / self.told.max(1)),
            attributes,
            runs,
            ..Operation::new(self.name, device)
        }
    }
}
