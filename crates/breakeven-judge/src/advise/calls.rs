//! Decides whether the samples are calls of a program or of a benchmark.
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
//!   the evidence states the assumption, and no gain is promised or counted. A wrong guess then
//!   costs a line at the end of the list, not one at its head.

use std::collections::{BTreeMap, BTreeSet};

use breakeven_profile::profile::{Device, Operation, Profile, Stack, Timeline, TimelineEvent};
use serde::Serialize;

use super::evidence::{Sequence, ShownBy};

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

/// What the timeline and the call paths show about each operation's calls.
pub(super) struct Sequences<'p> {
    /// By name and device; `None` without a timeline.
    timeline: Option<BTreeMap<Who<'p>, CallCounts>>,
    /// By name, along the call paths.
    stacks: BTreeMap<&'p str, CallCounts>,
    least: f64,
}

type Who<'p> = (&'p str, &'p str);

/// What one source shows about an operation's calls.
#[derive(Default)]
struct CallCounts {
    calls: u64,
    /// Number of calls in sequences that are long enough, and of those sequences.
    in_sequences: u64,
    sequences: u64,
}

impl CallCounts {
    /// Adds calls in `sequences` sequences, which count if each has at least `least` calls.
    fn add(&mut self, calls: u64, sequences: u64, least: f64) {
        self.calls = self.calls.saturating_add(calls);
        if calls as f64 >= least * sequences as f64 {
            self.in_sequences = self.in_sequences.saturating_add(calls);
            self.sequences = self.sequences.saturating_add(sequences);
        }
    }

    fn sequence(&self, shown_by: ShownBy) -> Option<Sequence> {
        (self.sequences > 0).then(|| Sequence {
            shown_by,
            length: self.in_sequences as f64 / self.sequences as f64,
            share: self.in_sequences as f64 / self.calls as f64,
        })
    }
}

impl<'p> Sequences<'p> {
    /// Sequences of at least `least` calls.
    pub(super) fn in_profile(profile: &'p Profile, least: f64) -> Self {
        Self {
            timeline: (profile.timeline.as_ref()).map(|timeline| on_timeline(timeline, least)),
            stacks: in_stacks(&profile.stacks, runs(profile), least),
            least,
        }
    }

    /// The sequences in which the operation is called, from the best source available; `None` if
    /// its calls are not in sequence.
    pub(super) fn of(&self, operation: &Operation, calls: u64) -> Option<Sequence> {
        let who = (operation.name.as_str(), operation.device.as_str());
        let seen = self.timeline.as_ref().and_then(|all| all.get(&who));
        // Fewer events than a sequence needs show nothing: the ring buffer lost the rest.
        if let Some(seen) = seen.filter(|seen| seen.calls as f64 >= self.least) {
            return seen.sequence(ShownBy::Timeline);
        }
        if let Some(seen) = self.stacks.get(who.0) {
            return seen.sequence(ShownBy::Stacks);
        }
        let runs = operation.runs.iter().filter(|run| run.calls() > 0).count();
        let length = calls as f64 / runs.max(1) as f64;
        (length >= self.least).then_some(Sequence {
            shown_by: ShownBy::Count,
            length,
            share: 1.0,
        })
    }
}

/// Runs of the profile: those of the operation that has the most.
fn runs(profile: &Profile) -> u64 {
    let runs = profile.operations.iter().map(|each| each.runs.len() as u64);
    runs.max().unwrap_or(1)
}

/// Calls per call of the surrounding operation. The program itself calls a path without one once
/// per run, as far as was recorded; paths count the calls of all runs.
fn in_stacks(stacks: &[Stack], runs: u64, least: f64) -> BTreeMap<&str, CallCounts> {
    let calls: BTreeMap<&[String], u64> = stacks
        .iter()
        .map(|stack| (stack.frames.as_slice(), stack.calls))
        .collect();
    let mut all: BTreeMap<&str, CallCounts> = BTreeMap::new();
    for stack in stacks {
        let Some((name, around)) = stack.frames.split_last() else {
            continue;
        };
        let parents = calls.get(around).copied().unwrap_or(runs).max(1);
        all.entry(name)
            .or_default()
            .add(stack.calls, parents, least);
    }
    all
}

fn on_timeline(timeline: &Timeline, least: f64) -> BTreeMap<Who<'_>, CallCounts> {
    let mut threads: BTreeMap<u64, Vec<&TimelineEvent>> = BTreeMap::new();
    for event in &timeline.events {
        threads.entry(event.thread).or_default().push(event);
    }
    let mut all = BTreeMap::new();
    for events in threads.values_mut() {
        // Of two calls that begin together, the longer is the outer one.
        events.sort_by_key(|event| (event.start_ns, u64::MAX - event.duration_ns));
        one_thread(events, least, &mut all);
    }
    all
}

fn who(event: &TimelineEvent) -> Who<'_> {
    (&event.name, event.device.as_deref().unwrap_or(Device::CPU))
}

/// A call that may contain others, and the current sequence of the calls inside it.
struct Open<'e> {
    end_ns: u64,
    last: Option<(Who<'e>, u64)>,
}

/// Counts the calls and the sequences of one thread, from its events in order: calls of one
/// operation, directly inside the same call, with no other call between them.
fn one_thread<'e>(
    events: &[&'e TimelineEvent],
    least: f64,
    all: &mut BTreeMap<Who<'e>, CallCounts>,
) {
    let mut close = |last: Option<(Who<'e>, u64)>| {
        if let Some((who, length)) = last {
            all.entry(who).or_default().add(length, 1, least);
        }
    };
    let mut root = Open {
        end_ns: u64::MAX,
        last: None,
    };
    let mut open: Vec<Open<'e>> = Vec::new();
    for event in events {
        while let Some(inner) = open.pop_if(|inner| inner.end_ns <= event.start_ns) {
            close(inner.last);
        }
        let around = open.last_mut().unwrap_or(&mut root);
        match &mut around.last {
            Some((before, length)) if *before == who(event) => *length += 1,
            last => close(last.replace((who(event), 1))),
        }
        open.push(Open {
            end_ns: event.start_ns.saturating_add(event.duration_ns),
            last: None,
        });
    }
    for left in open.into_iter().chain([root]) {
        close(left.last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, start_ns: u64, duration_ns: u64) -> TimelineEvent {
        TimelineEvent {
            name: name.to_owned(),
            start_ns,
            duration_ns,
            ..TimelineEvent::default()
        }
    }

    fn stack(frames: &[&str], calls: u64) -> Stack {
        Stack {
            frames: frames.iter().map(|&frame| frame.to_owned()).collect(),
            calls,
            ..Stack::default()
        }
    }

    /// `frame` has two sequences of `step`, separated by `flush`, with `inner` inside each.
    #[test]
    fn a_sequence_is_parted_by_others_beside_it_not_inside_it() {
        let mut events = vec![event("frame", 0, 1_000)];
        for index in 0..10 {
            let gap = if index < 6 { 0 } else { 50 };
            events.push(event("step", index * 20 + gap, 10));
            events.push(event("inner", index * 20 + gap, 5));
        }
        events.push(event("flush", 125, 5));
        let timeline = Timeline {
            events,
            ..Timeline::default()
        };
        let all = on_timeline(&timeline, 4.0);
        let step = &all[&("step", "cpu")];
        assert_eq!((step.calls, step.in_sequences, step.sequences), (10, 10, 2));
        let inner = &all[&("inner", "cpu")];
        assert_eq!((inner.calls, inner.sequences), (10, 0));
    }

    #[test]
    fn the_calls_of_several_runs_were_taken_for_one_sequence() {
        let stacks = [stack(&["step"], 15)];
        assert_eq!(in_stacks(&stacks, 5, 10.0)["step"].sequences, 0);
        let step = &in_stacks(&stacks, 5, 3.0)["step"];
        assert_eq!((step.in_sequences, step.sequences), (15, 5));
    }

    #[test]
    fn calls_are_counted_per_call_around_them() {
        let stacks = [
            stack(&["frame"], 5),
            stack(&["frame", "step"], 100),
            stack(&["load"], 1),
            stack(&["load", "step"], 9),
        ];
        let all = in_stacks(&stacks, 1, 10.0);
        let step = &all["step"];
        let found = (step.calls, step.in_sequences, step.sequences);
        assert_eq!(found, (109, 100, 5));
        assert_eq!(all["frame"].sequences, 0);
    }
}
