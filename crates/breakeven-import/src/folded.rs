//! Samples of call stacks, folded: how much of the weight each path has. A sampling
//! profiler sees no calls, so an operation's one sample is its time in the run.

use std::collections::BTreeMap;

use breakeven_profile::file::FileError;
use breakeven_profile::profile::Profile;

use crate::gather::{Gather, MOST_NS, Own};
use crate::note::Notes;
use crate::paths::Paths;

/// The samples of a profile, by paths of operations: frames of one name are one.
#[derive(Default)]
pub(crate) struct Folded {
    operations: Gather,
    paths: Paths,
    /// Samples that came one by one, not summed by the writer.
    counted: u64,
    empty: u64,
    not_times: u64,
}

impl Folded {
    /// The path that goes on from another with a frame of that name.
    pub(crate) fn step(&mut self, parent: Option<u32>, name: &str) -> u32 {
        let cpu = self.operations.device("cpu");
        let operation = self.operations.number(name, cpu, "");
        self.paths.step(parent, operation)
    }

    /// Adds a sample of a path.
    pub(crate) fn sample(&mut self, path: Option<u32>, ns: f64) {
        self.counted += 1;
        self.sum_of(path, ns);
    }

    /// Adds what a writer summed up for a path.
    pub(crate) fn sum_of(&mut self, path: Option<u32>, ns: f64) {
        if !(0.0..=MOST_NS).contains(&ns) {
            self.not_times += 1;
            return;
        }
        let Some(path) = path else {
            self.empty += 1;
            return;
        };
        let path = self.paths.get_mut(path);
        path.calls = path.calls.saturating_add(1);
        path.self_ns = (path.self_ns + ns).min(MOST_NS);
    }

    /// The profile of all.
    pub(crate) fn profile(mut self, notes: &mut Notes) -> Result<Profile, FileError> {
        let why = "they are not times (NaN, infinite, negative, or over 2^63 ns)";
        notes.left_out(self.not_times, "weight(s)", why);
        notes.left_out(self.empty, "sample(s)", "they have no frames");
        let sums = self.sums();
        self.add_up();
        let mut operations = self.operations;
        let name = |operation: u32| &*operations.get(operation).operation.name;
        let stacks = self.paths.stacks(name, notes);
        for (operation, sum) in sums {
            let operation = operations.get_mut(operation);
            operation.sample(0, sum.ns);
            let (ns, nested) = (Some(sum.own_ns), 0);
            operation.own = Some(Own { ns, nested });
            if self.counted > 0 {
                operation.attribute("stack_samples", sum.samples);
            }
        }
        let operations = operations.ranked(notes);
        if operations.is_empty() {
            let message = "the file holds no samples; look whether the program ran long enough";
            return Err(notes.nothing(message));
        }
        Ok(Profile {
            operations,
            stacks,
            ..Profile::default()
        })
    }

    /// Adds to every path what goes on from it.
    fn add_up(&mut self) {
        for number in (0..self.paths.all.len()).rev() {
            let path = &mut self.paths.all[number];
            path.total_ns = (path.total_ns + path.self_ns).min(MOST_NS);
            let (calls, ns) = (path.calls, path.total_ns);
            if let Some(parent) = path.parent {
                let parent = self.paths.get_mut(parent);
                parent.calls = parent.calls.saturating_add(calls);
                parent.total_ns = (parent.total_ns + ns).min(MOST_NS);
            }
        }
    }

    /// What each operation's samples add up to: every path's weight counts for the
    /// operations on it, once for one that is there twice.
    fn sums(&self) -> BTreeMap<u32, Sum> {
        let mut sums: BTreeMap<u32, Sum> = BTreeMap::new();
        let seen = self.paths.all.iter().filter(|path| path.calls > 0);
        for (mark, path) in (1_u64..).zip(seen) {
            for each in self.paths.outwards(path) {
                let sum = sums.entry(each.frame).or_default();
                if sum.mark != mark {
                    sum.mark = mark;
                    sum.samples = sum.samples.saturating_add(path.calls);
                    sum.ns = (sum.ns + path.self_ns).min(MOST_NS);
                }
                if std::ptr::eq(each, path) {
                    sum.own_ns = (sum.own_ns + path.self_ns).min(MOST_NS);
                }
            }
        }
        sums
    }
}

/// What an operation's samples add up to.
#[derive(Default)]
struct Sum {
    /// The last path that was added.
    mark: u64,
    samples: u64,
    ns: f64,
    own_ns: f64,
}
