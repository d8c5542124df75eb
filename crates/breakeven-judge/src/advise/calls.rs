//! Decides whether the samples are calls of a program or of a benchmark, and which calls follow one
//! another.
//!
//! BATCHING and CACHING apply to calls that a program makes. A benchmark repeats a call in order to
//! measure it, so caching the result would be pointless. The content of the file distinguishes the
//! two:
//!
//! - **Program**: only a recorder inside a running program writes its own cost, call paths, a
//!   timeline, own times or nested calls. One of these is enough: a benchmark that runs under a
//!   recorder runs the program's own calls.
//! - **Benchmark**: the file says so (`benchmark`), as files of benchmark tools do. Otherwise, only
//!   a benchmark separates warm-ups or the first call, times the phases of a call (`upload`,
//!   `kernel`, …) one by one, or does the same work on two devices. A program does it once.
//! - **Unmarked**: neither, as in the five-line file. The samples may be either. Both rules still
//!   apply, because a user who writes times from a program in five lines has no other advice; but
//!   a caveat says so.

use std::collections::{BTreeMap, BTreeSet};

use breakeven_profile::profile::Profile;
use serde::Serialize;

/// Who made the calls that the samples measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[must_use]
pub enum CallsOf {
    /// Calls that a program made, recorded while it ran.
    Program,
    /// Iterations of a measurement.
    Benchmark,
    /// The file does not say.
    Unmarked,
}

/// Phases that a benchmark times in separate calls.
const TIMED_APART: [&str; 4] = ["upload", "launch", "kernel", "download"];

impl CallsOf {
    /// Determines who made the calls, from what a recorder writes and a benchmark does not.
    pub fn in_profile(profile: &Profile) -> Self {
        let mut runs = profile.operations.iter().flat_map(|each| &each.runs);
        let recorded = profile.environment.recorder.is_some()
            || !profile.stacks.is_empty()
            || profile.timeline.is_some()
            || runs
                .clone()
                .any(|run| run.self_ns.is_some() || run.nested_calls.is_some());
        let mut done = BTreeSet::new();
        let mut operations = profile.operations.iter();
        let twice = operations.any(|each| !done.insert((&each.name, each.size)));
        let measured = runs.any(|run| {
            !run.warmup_ns.is_empty()
                || run.first_call_ns.is_some()
                || TIMED_APART
                    .iter()
                    .any(|phase| run.phases_ns.contains_key(*phase))
        });
        match (recorded, profile.benchmark || measured || twice) {
            (true, _) => Self::Program,
            (false, true) => Self::Benchmark,
            (false, false) => Self::Unmarked,
        }
    }
}

/// Calls in sequence from which batching is suggested.
pub(super) const LEAST_SEQUENCE: f64 = 10.0;

/// Calls of an operation that follow one another.
#[derive(Clone, Copy)]
pub(super) struct Sequence {
    /// True if the call paths show it; else the calls of a run are taken for one sequence.
    pub(super) in_paths: bool,
    /// Calls in a sequence, on average.
    pub(super) length: f64,
    /// Fraction of the operation's calls that are in sequences, 0 to 1.
    pub(super) share: f64,
}

/// What the call paths show about each operation's calls, by name.
pub(super) struct Sequences<'p>(BTreeMap<&'p str, CallCounts>);

#[derive(Default)]
struct CallCounts {
    calls: u64,
    /// Number of calls in sequences that are long enough, and of those sequences.
    in_sequences: u64,
    sequences: u64,
}

impl<'p> Sequences<'p> {
    /// Counts calls per call of the surrounding operation. The program itself calls a path without
    /// one once per run, as far as was recorded; paths count the calls of all runs.
    pub(super) fn in_profile(profile: &'p Profile) -> Self {
        let runs = profile.operations.iter().map(|each| each.runs.len() as u64);
        let runs = runs.max().unwrap_or(1);
        let stacks = &profile.stacks;
        let calls: BTreeMap<&[String], u64> = (stacks.iter())
            .map(|stack| (stack.frames.as_slice(), stack.calls))
            .collect();
        let mut all: BTreeMap<&str, CallCounts> = BTreeMap::new();
        for stack in stacks {
            let Some((name, around)) = stack.frames.split_last() else {
                continue;
            };
            let sequences = calls.get(around).copied().unwrap_or(runs).max(1);
            let counts = all.entry(name).or_default();
            counts.calls = counts.calls.saturating_add(stack.calls);
            if stack.calls as f64 >= LEAST_SEQUENCE * sequences as f64 {
                counts.in_sequences = counts.in_sequences.saturating_add(stack.calls);
                counts.sequences = counts.sequences.saturating_add(sequences);
            }
        }
        Self(all)
    }

    /// The sequences in which the operation is called: by the call paths, else by the number of
    /// calls in a run; `None` if its calls are not in sequence.
    pub(super) fn of(&self, name: &str, calls_per_run: f64) -> Option<Sequence> {
        let Some(counts) = self.0.get(name) else {
            return (calls_per_run >= LEAST_SEQUENCE).then_some(Sequence {
                in_paths: false,
                length: calls_per_run,
                share: 1.0,
            });
        };
        (counts.sequences > 0).then(|| Sequence {
            in_paths: true,
            length: counts.in_sequences as f64 / counts.sequences as f64,
            share: counts.in_sequences as f64 / counts.calls as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use breakeven_profile::profile::{Operation, Run, Stack};

    use super::*;

    fn stack(frames: &[&str], calls: u64) -> Stack {
        Stack {
            frames: frames.iter().map(|&frame| frame.to_owned()).collect(),
            calls,
            ..Stack::default()
        }
    }

    fn of_runs(runs: usize, stacks: Vec<Stack>) -> Profile {
        let mut operation = Operation::new("step", "cpu");
        operation.runs = vec![Run::default(); runs];
        Profile {
            operations: vec![operation],
            stacks,
            ..Profile::default()
        }
    }

    #[test]
    fn the_calls_of_several_runs_were_taken_for_one_sequence() {
        let sequence = |calls| {
            let profile = of_runs(5, vec![stack(&["step"], calls)]);
            let sequence = Sequences::in_profile(&profile).of("step", 0.0);
            sequence.map(|sequence| sequence.length)
        };
        assert_eq!(sequence(49), None);
        assert_eq!(sequence(50), Some(10.0));
    }

    #[test]
    fn calls_are_counted_per_call_around_them() {
        let stacks = vec![
            stack(&["frame"], 5),
            stack(&["frame", "step"], 100),
            stack(&["load"], 1),
            stack(&["load", "step"], 9),
        ];
        let profile = of_runs(1, stacks);
        let all = Sequences::in_profile(&profile);
        let step = all.of("step", 109.0).expect("20 in each frame");
        assert_eq!((step.length, step.share), (20.0, 100.0 / 109.0));
        assert!(all.of("frame", 100.0).is_none() && all.of("other", 10.0).is_some());
    }
}
