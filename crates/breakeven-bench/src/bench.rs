//! What a bench's functions get: benchmarks by name, as criterion has them.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt::Display;
use std::rc::Rc;

use breakeven_profile::profile::{Device, Operation, OperationKey};

use crate::args::Args;
use crate::bencher::Bencher;
use crate::runs::Measuring;
use crate::{WRONG, Wrong, report, say};

/// Measures benchmarks, lists them or calls them once, as the command line says. A group is one
/// too: the names of its benchmarks begin with its own.
#[derive(Debug)]
pub struct Bench {
    shared: Rc<RefCell<Shared>>,
    /// What its benchmarks have in common: the first part of the name, what a call processes.
    group: Operation,
}

#[derive(Debug)]
struct Shared {
    args: Args,
    /// `None` unless this process measures a run.
    measuring: Option<Measuring>,
    keys: HashSet<OperationKey>,
}

/// The name of a benchmark, and the size of its input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct BenchmarkId {
    name: String,
    size: Option<u64>,
}

/// What one call processes; the profile has the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Throughput {
    /// Bytes read and written.
    Bytes(u64),
    /// Items.
    Elements(u64),
}

impl BenchmarkId {
    /// A function and its parameter. A whole number is the size of the input, anything else a part
    /// of the name.
    pub fn new(function: impl Into<String>, parameter: impl Display) -> Self {
        let Self { name, size } = Self::from_parameter(parameter);
        let name = joined(&function.into(), &name);
        Self { name, size }
    }

    /// A parameter alone, of the function that the group is named after.
    pub fn from_parameter(parameter: impl Display) -> Self {
        let name = parameter.to_string();
        let size = name.parse().ok();
        let name = size.map_or(name, |_: u64| String::new());
        Self { name, size }
    }
}

impl<T: Into<String>> From<T> for BenchmarkId {
    fn from(name: T) -> Self {
        let name = name.into();
        Self { name, size: None }
    }
}

/// Two parts of a name, of which one may be empty.
fn joined(first: &str, second: &str) -> String {
    let parts = [first, second].into_iter();
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("/")
}

impl Bench {
    pub(crate) fn new(args: Args) -> Result<Self, Wrong> {
        let shared = Shared {
            measuring: args.measure.then(Measuring::begin).transpose()?,
            args,
            keys: HashSet::new(),
        };
        Ok(Self {
            shared: Rc::new(RefCell::new(shared)),
            group: Operation::new("", Device::CPU),
        })
    }

    /// Measures the calls of a function.
    pub fn bench<R>(&mut self, id: impl Into<BenchmarkId>, function: impl FnMut() -> R) {
        self.bench_function(id, |bencher| bencher.iter(function));
    }

    /// Calls `function`, which gives [`Bencher::iter`] or [`Bencher::iter_batched`] what will be
    /// measured.
    pub fn bench_function(
        &mut self,
        id: impl Into<BenchmarkId>,
        function: impl FnOnce(&mut Bencher),
    ) -> &mut Self {
        let BenchmarkId { name, size } = id.into();
        let operation = Operation {
            name: joined(&self.group.name, &name),
            size,
            ..self.group.clone()
        };
        self.shared.borrow_mut().run(operation, function);
        self
    }

    /// As [`bench_function`](Self::bench_function), with an input.
    pub fn bench_with_input<I: ?Sized>(
        &mut self,
        id: BenchmarkId,
        input: &I,
        function: impl FnOnce(&mut Bencher, &I),
    ) -> &mut Self {
        self.bench_function(id, |bencher| function(bencher, input))
    }

    /// A group of benchmarks, within this one if it is a group.
    pub fn benchmark_group(&mut self, name: impl Into<String>) -> Self {
        Self {
            shared: Rc::clone(&self.shared),
            group: Operation::new(joined(&self.group.name, &name.into()), Device::CPU),
        }
    }

    /// States what one call of the following benchmarks processes.
    pub fn throughput(&mut self, throughput: Throughput) -> &mut Self {
        (self.group.bytes, self.group.items) = match throughput {
            Throughput::Bytes(bytes) => (Some(bytes), None),
            Throughput::Elements(items) => (None, Some(items)),
        };
        self
    }

    /// Ends a group; dropping it does the same.
    pub fn finish(self) {}
}

impl Shared {
    fn run(&mut self, operation: Operation, function: impl FnOnce(&mut Bencher)) {
        let id = id(&operation);
        if !self.args.matches(&id) {
            return;
        }
        if !self.keys.insert(operation.key()) {
            stop(format!("two benchmarks are named {id:?}; rename one"));
        }
        match &mut self.measuring {
            Some(measuring) => measuring.run(operation, function, &self.args),
            None if self.args.list => say(format!("{id}: benchmark")),
            None => {
                function(&mut Bencher::default());
                say(format!("test {id} ... ok"));
            }
        }
    }
}

/// The name of a benchmark for the filters: `sort/1000`.
pub(crate) fn id(operation: &Operation) -> String {
    let size = operation.size.map(|size| size.to_string());
    joined(&operation.name, &size.unwrap_or_default())
}

/// Ends a process that cannot go on.
pub(crate) fn stop(wrong: impl Display) -> ! {
    report(wrong);
    std::process::exit(WRONG.into())
}
