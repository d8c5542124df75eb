//! What all traces become: operations with samples, own times, call paths, the newest
//! events, and what the devices did. A trace is in memory with 100 to 200 bytes of each event.

use std::collections::{BTreeMap, HashMap};
use std::mem;

use breakeven_profile::file::{FileError, FileErrorKind};
use breakeven_profile::profile::{Profile, Timeline, TimelineEvent};

use crate::gather::{Gather, LaunchFacts, MOST_NS, Own};
use crate::note::Notes;

mod launches;
mod nesting;
mod work;

pub(crate) use launches::Correlation;
pub(crate) use work::{FILL, Work};

use launches::Related;
use nesting::Call;
use work::DeviceWork;

/// The most events of a trace.
const EVENTS: usize = 1 << 26;

/// The most events of a timeline.
const MOST: usize = 1 << 16;

/// The farthest from its first event that an event of a timeline begins, ns: 2^53, as a
/// profile file has numbers.
const FARTHEST_NS: u64 = 1 << 53;

/// Bytes of the names on a timeline.
const TIMELINE_BYTES: usize = 64 << 20;

/// When something was, in ns of the trace's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct When {
    pub(crate) start: i64,
    pub(crate) duration: u64,
}

impl When {
    pub(crate) fn new(start: i64, duration: u64) -> Self {
        Self { start, duration }
    }

    /// From and to; `None` where it ends before it begins.
    pub(crate) fn between(start: i64, end: i64) -> Option<Self> {
        let duration = u64::try_from(end.checked_sub(start)?).ok()?;
        Some(Self { start, duration })
    }

    fn end(self) -> i64 {
        self.start.saturating_add_unsigned(self.duration)
    }
}

/// What a GPU did.
pub(crate) struct Activity<'a> {
    pub(crate) name: &'a str,
    /// What the tracer calls its kind.
    pub(crate) category: &'a str,
    pub(crate) device: u64,
    pub(crate) stream: Option<u64>,
    pub(crate) when: When,
    /// `None` for a range of the program, which does nothing itself.
    pub(crate) work: Option<Work>,
    /// What launched it.
    pub(crate) id: Option<Correlation>,
    pub(crate) facts: LaunchFacts,
}

/// An event, in numbers.
#[derive(Debug, Clone, Copy)]
struct Event {
    start: i64,
    duration: u64,
    operation: u32,
    track: u32,
    /// Others of its thread may be inside of it.
    is_call: bool,
}

/// A trace while it is read.
pub(crate) struct Trace {
    pub(crate) operations: Gather,
    /// How far a call may outlast the one around it, ns: tracers round.
    slack_ns: i64,
    tracks: Vec<String>,
    by_label: HashMap<String, u32>,
    streams: HashMap<(u64, Option<u64>), (u32, u32)>,
    events: Vec<Event>,
    related: Related,
    work: BTreeMap<u32, DeviceWork>,
}

impl Default for Trace {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Trace {
    /// A trace whose calls may outlast the one around them by so much, since times are
    /// rounded, ns.
    pub(crate) fn new(slack_ns: i64) -> Self {
        Self {
            operations: Gather::of_trace(),
            slack_ns,
            tracks: Vec::new(),
            by_label: HashMap::new(),
            streams: HashMap::new(),
            events: Vec::new(),
            related: Related::default(),
            work: BTreeMap::new(),
        }
    }

    /// The number of a thread or a stream of that label.
    pub(crate) fn track(&mut self, label: &str) -> u32 {
        if let Some(known) = self.by_label.get(label) {
            return *known;
        }
        let number = self.tracks.len() as u32;
        self.tracks.push(label.to_owned());
        self.by_label.insert(label.to_owned(), number);
        number
    }

    /// The numbers of a GPU, as a device and as the track of one of its streams.
    fn stream(&mut self, backend: &str, device: u64, stream: Option<u64>) -> (u32, u32) {
        if let Some(known) = self.streams.get(&(device, stream)) {
            return *known;
        }
        let label = format!("{backend}:{device}");
        let known = (
            self.operations.device(&label),
            match stream {
                Some(stream) => self.track(&format!("{label} stream {stream}")),
                None => self.track(&label),
            },
        );
        self.streams.insert((device, stream), known);
        known
    }

    /// Gives tracks other labels, by their number and the label that they have.
    pub(crate) fn name_tracks(&mut self, name: impl Fn(u32, &str) -> Option<String>) {
        for (number, label) in (0..).zip(&mut self.tracks) {
            if let Some(name) = name(number, label) {
                *label = name;
            }
        }
    }

    /// A call of a thread, which others of the thread may be inside of.
    pub(crate) fn call(&mut self, operation: u32, track: u32, when: When) {
        self.event(operation, track, when, true);
    }

    /// A call that launches work on a device; it must also be added as a [`call`](Self::call).
    pub(crate) fn launch(&mut self, id: Correlation, when: When) {
        self.related.call(id, when.start, when.duration);
    }

    /// Something that lasts, and overlaps with others.
    pub(crate) fn range(&mut self, operation: u32, track: u32, when: When) {
        self.event(operation, track, when, false);
    }

    /// Takes what a GPU did; `backend` is how its id begins.
    pub(crate) fn activity(&mut self, backend: &str, activity: &Activity<'_>) {
        let Activity { when, stream, .. } = *activity;
        let (device, track) = self.stream(backend, activity.device, stream);
        let operation = (self.operations).number(activity.name, device, activity.category);
        let gathered = self.operations.get_mut(operation);
        gathered.add_facts(&activity.facts);
        let Some(work) = activity.work else {
            gathered.mark_range();
            return self.range(operation, track, when);
        };
        if !self.event(operation, track, when, false) {
            return;
        }
        let known = self.work.entry(device).or_default();
        known.add(work, stream, when.start, when.end());
        if let (Some(id), Work::Compute | Work::Communication) = (activity.id, work) {
            (self.related).kernel(id, device, when.start, when.duration);
        }
    }

    /// Takes a sample and the event; false for what is no time.
    fn event(&mut self, operation: u32, track: u32, when: When, is_call: bool) -> bool {
        let ns = when.duration as f64;
        self.operations.get_mut(operation).sample(0, ns);
        let is_time = ns <= MOST_NS;
        if is_time && self.events.len() <= EVENTS {
            self.events.push(Event {
                start: when.start,
                duration: when.duration,
                operation,
                track,
                is_call,
            });
        }
        is_time
    }

    /// The profile of all that was added.
    pub(crate) fn profile(self, notes: &mut Notes) -> Result<Profile, FileError> {
        if self.events.len() > EVENTS {
            let message = format!("a trace of more than {EVENTS} events; trace for a shorter time");
            return Err(FileError::new(FileErrorKind::Value, message));
        }
        let mut operations = self.operations;
        let about = mem::take(&mut operations.about);
        let name = |operation| &*operations.get(operation).operation.name;
        let calls = self.events.iter().filter(|event| event.is_call);
        let calls = calls.map(|event| Call {
            start: event.start,
            end: event.start.saturating_add_unsigned(event.duration),
            operation: event.operation,
            track: event.track,
        });
        let (own, stacks) = nesting::nested(calls.collect(), self.slack_ns, name, notes);
        for (operation, own) in own {
            operations.get_mut(operation).own = Some(Own {
                ns: Some(own.ns as f64),
                nested: own.nested,
            });
        }
        let timeline = timeline(self.events, self.tracks, &operations);
        let (mut launches, launched_nothing) = self.related.into_launches();
        let mut activity = Vec::new();
        for (device, work) in self.work {
            let mut activities = work.into_activity(operations.device_name(device), notes);
            activities.launches = launches.remove(&device);
            activity.push(activities);
        }
        let kinds = operations.categories();
        if launched_nothing && activity.iter().all(|device| device.kernels == 0) {
            let why = "the trace has launches, and not what they launched; trace the GPU too";
            notes.lacks("kernel", why);
        } else if activity.is_empty() && !kinds.is_empty() {
            let why = format!("of the GPU the trace has {kinds} alone; trace its kernels too");
            notes.lacks("kernel", &why);
        }
        let operations = operations.ranked(notes);
        if operations.is_empty() {
            let message = "the trace holds no times; look whether anything ran while it was taken";
            return Err(notes.nothing(message));
        }
        Ok(Profile {
            operations,
            stacks,
            timeline,
            activity,
            ..about
        })
    }
}

/// The events that began last.
fn timeline(mut events: Vec<Event>, threads: Vec<String>, operations: &Gather) -> Option<Timeline> {
    events.sort_unstable_by_key(|event| (event.start, event.track));
    let (begin, all) = (events.first()?.start, events.len());
    let operation = |event: &Event| &operations.get(event.operation).operation;
    let mut room = TIMELINE_BYTES;
    let is_near = |event: &&Event| event.start.abs_diff(begin) <= FARTHEST_NS;
    let kept = events.iter().rev().filter(is_near).take(MOST);
    let kept = kept.take_while(|event| {
        room = room.saturating_sub(operation(event).name.len());
        room > 0
    });
    let mut kept: Vec<TimelineEvent> = kept
        .map(|event| TimelineEvent {
            name: operation(event).name.clone(),
            device: Some(operation(event).device.clone()).filter(|device| device != "cpu"),
            thread: u64::from(event.track),
            start_ns: event.start.abs_diff(begin),
            duration_ns: event.duration,
            ..TimelineEvent::default()
        })
        .collect();
    kept.reverse();
    (!kept.is_empty()).then(|| Timeline {
        dropped: (all - kept.len()) as u64,
        threads,
        events: kept,
    })
}
