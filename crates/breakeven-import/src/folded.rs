//! Samples of call stacks, folded: how much of the weight each path has. A sampling
//! profiler sees no calls, so an operation's one sample is its time in the run.

use std::collections::{BTreeMap, HashMap};

use breakeven_profile::file::{FileError, FileErrorKind};
use breakeven_profile::profile::{Profile, Stack};

use crate::gather::{Gather, MOST_NS, Own};
use crate::note::Notes;

/// Paths that are told apart; samples of others count for the path that they go on from.
const PATHS: usize = 1 << 20;

/// Bytes of all call paths as the profile has them: each with the names on it.
const PATH_BYTES: usize = 32 << 20;

struct Path {
    parent: Option<usize>,
    frame: usize,
    depth: usize,
    samples: u64,
    ns: f64,
}

/// The paths of a profile, of frames by number.
#[derive(Default)]
pub(crate) struct Folded {
    paths: Vec<Path>,
    by_step: HashMap<(Option<usize>, usize), usize>,
    /// Samples that were told one by one, not summed by the writer.
    counted: u64,
    cut: u64,
    empty: u64,
    not_times: u64,
}

impl Folded {
    /// The path that goes on from another with a frame; the other where there is no room.
    pub(crate) fn step(&mut self, parent: Option<usize>, frame: usize) -> Option<usize> {
        if let Some(known) = self.by_step.get(&(parent, frame)) {
            return Some(*known);
        }
        if self.paths.len() >= PATHS {
            self.cut += 1;
            return parent;
        }
        let depth = parent.and_then(|parent| self.paths.get(parent));
        self.by_step.insert((parent, frame), self.paths.len());
        self.paths.push(Path {
            parent,
            frame,
            depth: depth.map_or(0, |above| above.depth + 1),
            samples: 0,
            ns: 0.0,
        });
        Some(self.paths.len() - 1)
    }

    /// Adds a sample of a path.
    pub(crate) fn sample(&mut self, path: Option<usize>, ns: f64) {
        self.counted += 1;
        self.sum_of(path, ns);
    }

    /// Adds what a writer summed up for a path.
    pub(crate) fn sum_of(&mut self, path: Option<usize>, ns: f64) {
        if !(0.0..=MOST_NS).contains(&ns) {
            self.not_times += 1;
            return;
        }
        match path.and_then(|path| self.paths.get_mut(path)) {
            Some(path) => {
                path.samples = path.samples.saturating_add(1);
                path.ns = (path.ns + ns).min(MOST_NS);
            }
            None => self.empty += 1,
        }
    }

    /// The profile of all; frames of one name are one operation.
    pub(crate) fn profile(self, names: &[String], notes: &mut Notes) -> Result<Profile, FileError> {
        for (count, what, why) in [
            (
                self.not_times,
                "weight(s)",
                "they are not times (NaN, infinite, negative, or over 2^63 ns)",
            ),
            (self.empty, "sample(s)", "they have no frames"),
            (
                self.cut,
                "frame(s)",
                "there are more than 1048576 call paths; what goes on from there counts for the \
                 path before",
            ),
        ] {
            notes.left_out(count, what, why);
        }
        let mut operations = Gather::default();
        let cpu = operations.device("cpu");
        let of_frame: Vec<u32> = (names.iter())
            .map(|name| operations.number(name, cpu, ""))
            .collect();
        let stacks = self.stacks(&of_frame, &operations, notes);
        for (operation, sum) in self.sums(&of_frame) {
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
            let told = "the file holds no samples; look whether the program ran long enough";
            return Err(FileError::new(FileErrorKind::Empty, told));
        }
        Ok(Profile {
            operations,
            stacks,
            ..Profile::default()
        })
    }

    /// What each operation's samples add up to: every path's weight counts for the
    /// operations on it, once for one that is there twice.
    fn sums(&self, of_frame: &[u32]) -> BTreeMap<u32, Sum> {
        let mut sums: BTreeMap<u32, Sum> = BTreeMap::new();
        let seen = self.paths.iter().filter(|path| path.samples > 0);
        for (mark, path) in (1_u64..).zip(seen) {
            let mut above = Some(path);
            while let Some(each) = above {
                let sum = sums.entry(of_frame[each.frame]).or_default();
                if sum.mark != mark {
                    sum.mark = mark;
                    sum.samples = sum.samples.saturating_add(path.samples);
                    sum.ns = (sum.ns + path.ns).min(MOST_NS);
                }
                if std::ptr::eq(each, path) {
                    sum.own_ns = (sum.own_ns + path.ns).min(MOST_NS);
                }
                above = each.parent.map(|parent| &self.paths[parent]);
            }
        }
        sums
    }

    fn stacks(&self, of_frame: &[u32], operations: &Gather, notes: &mut Notes) -> Vec<Stack> {
        // Every path comes behind the one that it goes on from.
        let mut totals: Vec<(u64, f64)> = (self.paths.iter())
            .map(|path| (path.samples, path.ns))
            .collect();
        for (number, path) in self.paths.iter().enumerate().rev() {
            let (samples, ns) = totals[number];
            if let Some(parent) = path.parent {
                let (all, total) = &mut totals[parent];
                *all = all.saturating_add(samples);
                *total = (*total + ns).min(MOST_NS);
            }
        }
        let name = |frame: usize| &operations.get(of_frame[frame]).told.name;
        let (mut stacks, mut room, mut without) = (Vec::new(), PATH_BYTES, 0);
        for (path, (samples, ns)) in self.paths.iter().zip(totals) {
            if samples == 0 {
                continue;
            }
            let mut frames = Vec::with_capacity(path.depth + 1);
            let mut bytes = 0;
            let mut above = Some(path);
            while let Some(path) = above.filter(|_| bytes <= room) {
                bytes += name(path.frame).len() + 24;
                frames.push(path.frame);
                above = path.parent.map(|parent| &self.paths[parent]);
            }
            if bytes > room {
                without += 1;
                continue;
            }
            room -= bytes;
            let frames = frames.iter().rev().map(|frame| name(*frame).clone());
            stacks.push(Stack {
                frames: frames.collect(),
                calls: samples,
                total_ns: whole(ns),
                self_ns: whole(path.ns),
            });
        }
        notes.left_out(
            without,
            "call path(s)",
            "they are limited to 32 MiB; the operations have all of the time",
        );
        stacks
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

#[expect(clippy::cast_sign_loss, reason = "a weight is not negative")]
fn whole(ns: f64) -> u64 {
    ns.round() as u64
}
