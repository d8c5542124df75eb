//! Operations while a file is read: samples by operation and run.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem;

use breakeven_profile::file::FileError;
use breakeven_profile::profile::{Counter, Failure, Operation, Profile, Run};
use breakeven_profile::stats::{Moments, StatsError};
use rand::{RngExt as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::name::{bounded, one_line};
use crate::note::Notes;
use crate::unit::is_rate;

/// The longest time that counts, ns: 2^53, a hundred days, as in a profile file.
pub(crate) const MOST_NS: f64 = 9_007_199_254_740_992.0;

/// Operations of a trace that are kept apart. Names with numbers in them could be one per
/// event.
const OPERATIONS: usize = 1 << 16;

/// Where operations past the limit are counted.
const OTHERS: &str = "(other operations)";

/// Figures that are more than a counter of the tool's name and unit: how a tool writes them,
/// and the name and unit that they have here. Another one is a row.
const METRICS: [(&str, &str, &str); 10] = [
    ("B/op", MEMORY, "B"),
    ("byte", MEMORY, "B"),
    ("max_bytes_used", MEMORY, "B"),
    ("max alloc bytes", MEMORY, "B"),
    ("gc.alloc.rate.norm", MEMORY, "B"),
    ("allocs/op", "allocations", "allocs"),
    ("allocs_per_iter", "allocations", "allocs"),
    ("alloc", "allocations", "allocs"),
    ("bytes_per_second", "bytes_per_second", "B/s"),
    ("items_per_second", "items_per_second", "1/s"),
];

/// The memory of a run, which is no counter.
const MEMORY: &str = "memory";

/// The operations of a file by number, in the order in which it names them first.
#[derive(Default)]
pub(crate) struct Gather {
    /// What the file says beside its operations: when, by what and on which machine.
    pub(crate) about: Profile,
    operations: Vec<Gathered>,
    devices: Vec<String>,
    device_numbers: HashMap<String, u32>,
    /// By device: operations by name, with their size if they have one.
    numbers: Vec<HashMap<String, u32>>,
    /// By name and device: the marks of the entries of that name, and their numbers.
    marks: HashMap<(String, String), HashMap<String, usize>>,
    /// The first name that was there before.
    twice: Option<String>,
    long_names: u64,
    is_trace: bool,
    others: u64,
}

/// One operation while its samples come in.
pub(crate) struct Gathered {
    /// What the file says of it besides its samples. Its runs are made at the end.
    pub(crate) operation: Operation,
    /// What its calls have inside them, if that is known.
    pub(crate) own: Option<Own>,
    runs: Vec<Kept>,
    /// Runs by the process that each is of.
    processes: HashMap<String, usize>,
    not_times: u64,
    is_skipped: bool,
    /// Its runs have figures and may have no times.
    pub(crate) is_timeless: bool,
    /// Bytes that calls moved, and of how many calls they are.
    moved: (u64, u64),
    grid: Shape,
    block: Shape,
}

/// What the calls of an operation have inside them.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Own {
    /// Own time, ns.
    pub(crate) ns: Option<f64>,
    /// Calls inside, at any depth.
    pub(crate) nested: u64,
}

/// What a trace says of an operation besides its times.
#[derive(Debug, Default)]
pub(crate) struct LaunchFacts {
    /// Bytes that a call moved.
    pub(crate) bytes: Option<u64>,
    /// Blocks or work items of a launch, in three dimensions.
    pub(crate) grid: Option<[u64; 3]>,
    /// Threads of a block or items of a work group, in three dimensions.
    pub(crate) block: Option<[u64; 3]>,
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

impl Gather {
    /// For a trace: operations are bounded in number, and have no calls inside unless
    /// [`Gathered::own`] says so.
    pub(crate) fn of_trace() -> Self {
        Self {
            is_trace: true,
            ..Self::default()
        }
    }

    /// The number of a device.
    pub(crate) fn device(&mut self, id: &str) -> u32 {
        if let Some(known) = self.device_numbers.get(id) {
            return *known;
        }
        let number = self.devices.len() as u32;
        self.device_numbers.insert(id.to_owned(), number);
        self.devices.push(id.to_owned());
        self.numbers.push(HashMap::new());
        number
    }

    /// The number of an operation; `category` is what a tracer calls its kind.
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
        let long = bounded(name);
        let (mut name, mut size) = (&*long.text, size);
        let mut key = match size {
            None => Cow::Borrowed(name),
            Some(size) => Cow::Owned(format!("{name}\0{size}")),
        };
        let numbers = &mut self.numbers[device as usize];
        if let Some(number) = numbers.get(&*key) {
            return *number;
        }
        if self.is_trace && self.operations.len() >= OPERATIONS {
            self.others += 1;
            (name, size, key) = (OTHERS, None, Cow::Borrowed(OTHERS));
            if let Some(number) = numbers.get(OTHERS) {
                return *number;
            }
        }
        self.long_names += u64::from(long.is_shortened);
        let number = self.operations.len() as u32;
        numbers.insert(key.into_owned(), number);
        let mut operation = Operation::new(name, &self.devices[device as usize]);
        operation.size = size;
        if !category.is_empty() {
            operation
                .attributes
                .insert("category".to_owned(), category.into());
        }
        self.operations.push(Gathered {
            operation,
            own: self.is_trace.then(Own::default),
            runs: Vec::new(),
            processes: HashMap::new(),
            not_times: 0,
            is_skipped: false,
            is_timeless: false,
            moved: (0, 0),
            grid: Shape::Unknown,
            block: Shape::Unknown,
        });
        number
    }

    /// The operation of that number.
    pub(crate) fn get(&self, number: u32) -> &Gathered {
        &self.operations[number as usize]
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> &mut Gathered {
        &mut self.operations[number as usize]
    }

    /// The id of a device.
    pub(crate) fn device_name(&self, device: u32) -> &str {
        &self.devices[device as usize]
    }

    /// What a tracer calls the kinds of what devices other than the CPU did.
    pub(crate) fn categories(&self) -> String {
        let devices = self.operations.iter().map(|each| &each.operation);
        let devices = devices.filter(|operation| operation.device != "cpu");
        let kinds = devices.filter_map(|operation| operation.attributes.get("category")?.as_str());
        let kinds: BTreeSet<&str> = kinds.collect();
        kinds.into_iter().collect::<Vec<_>>().join(", ")
    }

    /// Gives devices whose ids begin so another beginning.
    pub(crate) fn rename_devices(&mut self, from: &str, to: &str) {
        let operations = self
            .operations
            .iter_mut()
            .map(|each| &mut each.operation.device);
        for device in self.devices.iter_mut().chain(operations) {
            if let Some(rest) = device.strip_prefix(from) {
                *device = format!("{to}{rest}");
            }
        }
    }

    /// The operation of that name on that device.
    pub(crate) fn on(&mut self, name: &str, device: &str, size: Option<u64>) -> &mut Gathered {
        let device = bounded(device);
        let known = self.devices.len();
        let number = self.device(&device.text);
        self.long_names += u64::from(device.is_shortened && self.devices.len() > known);
        let number = self.sized(name, number, "", size);
        self.get_mut(number)
    }

    /// The operation of that name on the CPU.
    pub(crate) fn operation(&mut self, name: &str) -> &mut Gathered {
        self.on(name, "cpu", None)
    }

    /// The operation of an entry of a file in which others may have its name: the second
    /// is `name #2`. Entries with the same mark are one; without a mark each is another.
    pub(crate) fn entry(
        &mut self,
        name: &str,
        device: &str,
        mark: Option<String>,
    ) -> &mut Gathered {
        let marks = self.marks.entry((name.to_owned(), device.to_owned()));
        let marks = marks.or_default();
        let next = marks.len();
        let number = *(marks.entry(mark.unwrap_or_else(|| next.to_string()))).or_insert(next);
        match number {
            0 => self.on(name, device, None),
            number => {
                self.twice.get_or_insert_with(|| one_line(name));
                self.on(&format!("{name} #{}", number + 1), device, None)
            }
        }
    }

    /// The profile of a benchmark's file; one without a single sample or failure is an error.
    pub(crate) fn profile(mut self, notes: &mut Notes) -> Result<Profile, FileError> {
        let about = mem::take(&mut self.about);
        let mut operations = self.into_operations(notes);
        let is_nothing = |each: &Operation| each.runs.is_empty() && each.failure.is_none();
        if operations.iter().all(is_nothing) {
            let message = "the file holds no times; look whether its benchmarks ran";
            return Err(notes.nothing(message));
        }
        // What the file names and has no time of was asked for and gave none.
        for nothing in operations.iter_mut().filter(|each| is_nothing(each)) {
            nothing.failure = Some(Failure {
                kind: "no result".to_owned(),
                message: "the file has no time of it; see the tool's output".to_owned(),
            });
        }
        Ok(Profile {
            operations,
            benchmark: true,
            ..about
        })
    }

    /// The operations with samples, those that take most of the time first.
    pub(crate) fn ranked(self, notes: &mut Notes) -> Vec<Operation> {
        let mut operations = self.into_operations(notes);
        operations.retain(|each| !each.runs.is_empty());
        operations.sort_by(|a, b| b.total_ns().total_cmp(&a.total_ns()));
        operations
    }

    fn into_operations(self, notes: &mut Notes) -> Vec<Operation> {
        if self.long_names > 0 {
            let count = self.long_names;
            notes.add(format!(
                "{count} name(s) longer than 65536 bytes are shortened"
            ));
        }
        if let Some(operation) = self.twice {
            notes.add(format!(
                "entries have the same name, such as {operation}: they are distinguished by their \
                 order in the file, as in \"#2\"; rename them"
            ));
        }
        let why = format!(
            "their names: the trace has more than {OPERATIONS} operations, so they count as \
             {OTHERS}"
        );
        notes.left_out(self.others, "event(s)", &why);
        let operations = self.operations.into_iter();
        let operations = operations.filter(|each| !each.is_skipped || !each.runs.is_empty());
        operations.map(|each| each.into_operation(notes)).collect()
    }
}

impl Gathered {
    /// A call's time in a run, counted from 0, ns. What is no time is counted apart.
    pub(crate) fn sample(&mut self, run: usize, ns: f64) {
        // Not -0.0, which a difference of equal times may give.
        if !(0.0..=MOST_NS).contains(&ns) || self.run(run).push(ns + 0.0).is_err() {
            self.not_times += 1;
        }
    }

    /// A new run behind those that there are: its number. One without samples is dropped
    /// at the end.
    pub(crate) fn new_run(&mut self) -> usize {
        self.runs.push(Kept::default());
        self.runs.len() - 1
    }

    /// The run of a process, by any mark of the process; a new one behind the others.
    pub(crate) fn run_of(&mut self, process: impl ToString) -> usize {
        let next = self.runs.len();
        let run = *self.processes.entry(process.to_string()).or_insert(next);
        if run == next {
            self.runs.push(Kept::default());
        }
        run
    }

    /// Takes a figure of the samples, which the file does not have.
    pub(crate) fn summary(&mut self, run: usize, ns: f64, figure: &str, notes: &mut Notes) {
        self.sample(run, ns);
        if !ns.is_nan() {
            notes.summary_only(figure);
        }
    }

    /// The number of runs.
    pub(crate) fn runs(&self) -> usize {
        self.runs.len()
    }

    // Runs follow each other in every format; a gap would be an invented run.
    fn run(&mut self, run: usize) -> &mut Kept {
        let run = run.min(self.runs.len());
        if run == self.runs.len() {
            self.runs.push(Kept::default());
        }
        &mut self.runs[run]
    }

    /// A figure beside the time of a call, in a run. Of rates more is better, of all else
    /// less, unless the caller knows more of the counter, which is returned.
    pub(crate) fn counter(
        &mut self,
        run: usize,
        name: &str,
        unit: &str,
        value: f64,
    ) -> &mut Counter {
        if value.is_finite() {
            self.run(run).count(bounded(name).text.into_owned(), value);
        }
        let name = bounded(name).text.into_owned();
        self.operation
            .counters
            .entry(name)
            .or_insert_with_key(|name| Counter {
                unit: one_line(unit),
                higher_is_better: is_rate(name, unit),
            })
    }

    /// A figure of each call as a tool writes it: what [`METRICS`] says that it is, else a
    /// counter of that name.
    pub(crate) fn figure(&mut self, run: usize, name: &str, unit: &str, value: f64) {
        match METRICS.iter().find(|(written, ..)| *written == name) {
            Some((_, MEMORY, _)) => self.memory(run, value),
            Some((_, name, unit)) => drop(self.counter(run, name, unit, value)),
            None => drop(self.counter(run, name, unit, value)),
        }
    }

    /// The memory that a call holds or allocates in a run, bytes.
    #[expect(clippy::cast_sign_loss, reason = "the range begins at zero")]
    pub(crate) fn memory(&mut self, run: usize, bytes: f64) {
        if (0.0..9e15).contains(&bytes) {
            let memory = &mut self.run(run).memory_bytes;
            *memory = (*memory).max(Some(bytes.round() as u64));
        }
    }

    /// Something that the file says and a profile has no field for.
    pub(crate) fn attribute(&mut self, name: &str, value: impl Into<serde_json::Value>) {
        self.operation
            .attributes
            .insert(name.to_owned(), value.into());
    }

    /// Why the operation has no (or not all) samples: the kind in a word, and the tool's
    /// own words. The first reason stays.
    pub(crate) fn failed(&mut self, kind: &str, message: &str) {
        self.operation.failure.get_or_insert_with(|| Failure {
            kind: kind.to_owned(),
            message: one_line(message),
        });
    }

    /// The tool left it out on purpose: it is not there, which is noted, unless other entries
    /// measured it.
    pub(crate) fn skipped(&mut self, message: Option<&str>, notes: &mut Notes) {
        self.is_skipped = true;
        let place = format!(
            "{}: {}",
            self.operation.name,
            message.unwrap_or("without a reason")
        );
        notes.leave_out("benchmark(s)", "their tool skipped them", &place);
    }

    /// What a tracer says of one of its calls.
    pub(crate) fn add_facts(&mut self, facts: &LaunchFacts) {
        if let Some(bytes) = facts.bytes {
            let (sum, calls) = self.moved;
            self.moved = (sum.saturating_add(bytes), calls + 1);
        }
        self.grid.see(facts.grid);
        self.block.see(facts.block);
    }

    /// It is around others and does nothing itself.
    pub(crate) fn mark_range(&mut self) {
        let (ns, nested) = (Some(0.0), 0);
        self.own = Some(Own { ns, nested });
    }

    fn into_operation(mut self, notes: &mut Notes) -> Operation {
        let what = format!("value(s) of {}", one_line(&self.operation.name));
        let why = "they are not times (NaN, infinite, negative or more than 104 days)";
        notes.left_out(self.not_times, &what, why);
        let shapes = [("grid", self.grid.text()), ("block", self.block.text())];
        for (name, shape) in shapes {
            if let Some(shape) = shape {
                self.attribute(name, shape);
            }
        }
        if let (bytes, calls @ 1..) = self.moved {
            self.operation.bytes = Some(bytes / calls);
        }
        let runs = self.runs.into_iter().map(Kept::into_run);
        let has_figures = |run: &Run| run.memory_bytes.is_some() || !run.counters.is_empty();
        let is_kept =
            |run: &Run| !run.samples_ns.is_empty() || self.is_timeless && has_figures(run);
        let mut runs: Vec<Run> = runs.filter(is_kept).collect();
        // Own times are those of all runs together.
        let own = match runs.len() {
            1 => self.own,
            _ => self.own.map(|_| Own::default()),
        };
        for (run, own) in runs.iter_mut().zip(own.into_iter().cycle()) {
            run.nested_calls = Some(own.nested);
            run.self_ns = own.ns.map(|ns| ns.min(run.total_ns()));
        }
        Operation {
            runs,
            ..self.operation
        }
    }
}

/// Samples that a run keeps; of more, an even draw of them (Vitter 1985, "Random sampling
/// with a reservoir", algorithm R) beside the exact moments of all.
const CAPACITY: usize = 4_096;

/// The samples of a run while they come in.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    samples: Vec<f64>,
    moments: Moments,
    /// Once it is needed.
    random: Option<Xoshiro256PlusPlus>,
    /// Of each counter the sum of its values and how many they are.
    counters: BTreeMap<String, (f64, f64)>,
    pub(crate) memory_bytes: Option<u64>,
}

impl Kept {
    pub(crate) fn push(&mut self, ns: f64) -> Result<(), StatsError> {
        self.moments.push(ns)?;
        if self.samples.len() < CAPACITY {
            self.samples.push(ns);
            return Ok(());
        }
        // The same file gives the same profile.
        let new = || Xoshiro256PlusPlus::seed_from_u64(0x6b65_7074);
        let random = self.random.get_or_insert_with(new);
        let slot = random.random_range(0..self.moments.count());
        let slot = usize::try_from(slot).ok();
        if let Some(kept) = slot.and_then(|slot| self.samples.get_mut(slot)) {
            *kept = ns;
        }
        Ok(())
    }

    /// A value of a counter.
    pub(crate) fn count(&mut self, counter: String, value: f64) {
        let (sum, values) = self.counters.entry(counter).or_default();
        *sum += value;
        *values += 1.0;
    }

    /// The run; with moments where they count more than what was kept.
    pub(crate) fn into_run(self) -> Run {
        let all = self.moments.count() == self.samples.len() as u64;
        let means = (self.counters.into_iter()).map(|(name, (sum, values))| (name, sum / values));
        Run {
            memory_bytes: self.memory_bytes,
            // A sum of finite values need not be finite.
            counters: means.filter(|(_, mean)| mean.is_finite()).collect(),
            moments: (!all).then_some(self.moments),
            samples_ns: self.samples,
            ..Run::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_an_even_draw_is_kept() {
        let mut kept = Kept::default();
        for value in 0..100_000 {
            kept.push(f64::from(value)).expect("finite");
        }
        let run = kept.into_run();
        assert_eq!(run.samples_ns.len(), CAPACITY);
        assert_eq!(run.calls(), 100_000);
        let late = run.samples_ns.iter().filter(|ns| **ns >= 50_000.0).count();
        // Half of 4 096, six standard deviations of 32 around it.
        assert!((1_856..2_240).contains(&late), "{late}");
    }
}
