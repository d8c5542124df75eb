//! What all traces become: operations with samples, own times, call paths, the newest
//! events, and what the devices did. In memory that does not grow with the trace.

use std::collections::HashMap;
use std::mem;

use breakeven_profile::file::FileError;
use breakeven_profile::profile::{Profile, Timeline, TimelineEvent};

use crate::gather::{Gather, LaunchFacts, MOST_NS, Own};
use crate::note::Notes;

mod launches;
mod nesting;
mod work;

pub(crate) use launches::Correlation;
pub(crate) use work::{FILL, Work};

use launches::Related;
use nesting::Nesting;
use work::DeviceWork;

/// Threads and streams that are kept apart.
const TRACKS: usize = 1 << 16;

/// Devices whose activity is followed.
const DEVICES: usize = 64;

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

/// A trace while it is read.
pub(crate) struct Trace {
    pub(crate) operations: Gather,
    tracks: Vec<String>,
    by_label: HashMap<String, u32>,
    streams: HashMap<(u64, Option<u64>), (u32, u32)>,
    nesting: Nesting,
    newest: Newest,
    related: Related,
    work: HashMap<u32, DeviceWork>,
    other_devices: u64,
    begin: Option<i64>,
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            operations: Gather::of_trace(),
            tracks: Vec::new(),
            by_label: HashMap::new(),
            streams: HashMap::new(),
            nesting: Nesting::default(),
            newest: Newest::default(),
            related: Related::default(),
            work: HashMap::new(),
            other_devices: 0,
            begin: None,
        }
    }
}

impl Trace {
    /// A trace whose calls may outlast the one around them by so much, since times are
    /// rounded, ns.
    pub(crate) fn rounded_to(slack_ns: i64) -> Self {
        let mut trace = Self::default();
        trace.nesting.slack_ns = slack_ns;
        trace
    }

    /// The number of a thread or a stream of that label. Those past the limit are one.
    pub(crate) fn track(&mut self, label: &str) -> u32 {
        if let Some(known) = self.by_label.get(label) {
            return *known;
        }
        let number = self.tracks.len().min(TRACKS);
        let label = if number == TRACKS { "others" } else { label };
        if number == self.tracks.len() {
            self.tracks.push(label.to_owned());
        }
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        if self.by_label.len() < TRACKS {
            self.by_label.insert(label.to_owned(), number);
        }
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
        if self.streams.len() < TRACKS {
            self.streams.insert((device, stream), known);
        }
        known
    }

    /// Gives a track another label.
    pub(crate) fn name_track(&mut self, track: u32, label: String) {
        let index = usize::try_from(track).ok();
        if let Some(known) = index.and_then(|index| self.tracks.get_mut(index)) {
            *known = label;
        }
    }

    /// A call of a thread, which others of the thread may be inside of.
    pub(crate) fn call(&mut self, operation: u32, track: u32, when: When) {
        if self.event(operation, track, when) {
            (self.nesting).add(operation, track, when.start, when.end());
        }
    }

    /// A call that launches work on a device; it must also be added as a [`call`](Self::call).
    pub(crate) fn launch(&mut self, id: Correlation, when: When) {
        self.related.call(id, when.start, when.duration);
    }

    /// Something that lasts, and overlaps with others.
    pub(crate) fn range(&mut self, operation: u32, track: u32, when: When) {
        self.event(operation, track, when);
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
        if !self.event(operation, track, when) {
            return;
        }
        if self.work.len() >= DEVICES && !self.work.contains_key(&device) {
            self.other_devices += 1;
            return;
        }
        let known = self.work.entry(device).or_default();
        known.add(work, stream, when.start, when.end());
        if let (Some(id), Work::Compute | Work::Communication) = (activity.id, work) {
            (self.related).kernel(id, device, when.start, when.duration);
        }
    }

    /// Takes a sample and the event; false for what is no time.
    fn event(&mut self, operation: u32, track: u32, when: When) -> bool {
        let ns = when.duration as f64;
        self.operations.get_mut(operation).sample(0, ns);
        if ns > MOST_NS {
            return false;
        }
        self.begin = Some(self.begin.map_or(when.start, |begin| begin.min(when.start)));
        self.newest.push(Recent {
            start: when.start,
            duration: when.duration,
            operation,
            track,
        });
        true
    }

    /// The profile of all that was added.
    pub(crate) fn profile(self, notes: &mut Notes) -> Result<Profile, FileError> {
        let mut operations = self.operations;
        let about = mem::take(&mut operations.about);
        let name = |operation| &*operations.get(operation).operation.name;
        let (own, stacks) = self.nesting.finish(name, notes);
        for (operation, own) in own {
            operations.get_mut(operation).own = Some(Own {
                ns: Some(own.ns as f64),
                nested: own.nested,
            });
        }
        let begin = self.begin.unwrap_or_default();
        let (mut events, mut dropped) = self.newest.into_events();
        let all = events.len();
        events.retain(|event| event.start.abs_diff(begin) <= FARTHEST_NS);
        dropped += (all - events.len()) as u64;
        let mut room = TIMELINE_BYTES;
        let operation = |event: &Recent| &operations.get(event.operation).operation;
        let kept = (events.iter().rev()).take_while(|event| {
            room = room.saturating_sub(operation(event).name.len());
            room > 0
        });
        let older = events.len() - kept.count();
        dropped += events.drain(..older).len() as u64;
        let event = |event: &Recent| TimelineEvent {
            name: operation(event).name.clone(),
            device: Some(operation(event).device.clone()).filter(|device| device != "cpu"),
            thread: u64::from(event.track),
            start_ns: event.start.abs_diff(begin),
            duration_ns: event.duration,
            ..TimelineEvent::default()
        };
        let timeline = (!events.is_empty()).then(|| Timeline {
            dropped,
            threads: self.tracks,
            events: events.iter().map(event).collect(),
        });
        let (mut launches, launched_nothing) = self.related.into_launches();
        let mut devices: Vec<_> = self.work.into_iter().collect();
        devices.sort_by_key(|(device, _)| *device);
        let mut activity = Vec::new();
        for (device, work) in devices {
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
        notes.left_out(
            self.other_devices,
            "activity(s)",
            format!("in no busy time: the trace has more than {DEVICES} devices"),
        );
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

/// The most events of a timeline.
const MOST: usize = 1 << 16;

/// An event of the timeline, in numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recent {
    pub(super) start: i64,
    pub(super) duration: u64,
    pub(super) operation: u32,
    pub(super) track: u32,
}

/// Those that began last.
#[derive(Debug, Default)]
pub(super) struct Newest {
    events: Vec<Recent>,
    floor: Option<i64>,
    dropped: u64,
}

impl Newest {
    pub(super) fn push(&mut self, event: Recent) {
        if self.floor.is_some_and(|floor| event.start < floor) {
            self.dropped += 1;
            return;
        }
        self.events.push(event);
        if self.events.len() >= 2 * MOST {
            self.drop_older();
        }
    }

    /// Keeps as many as a timeline has.
    fn drop_older(&mut self) {
        let older = self.events.len().saturating_sub(MOST);
        if older > 0 {
            (self.events).select_nth_unstable_by_key(older, |event| event.start);
            self.floor = Some(self.events[older].start);
            self.events.drain(..older);
            self.dropped += older as u64;
        }
    }

    /// The events in the order of time, and how many there was no room for.
    pub(super) fn into_events(mut self) -> (Vec<Recent>, u64) {
        self.drop_older();
        self.events.sort_by_key(|event| (event.start, event.track));
        (self.events, self.dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_began_last_stay() {
        let mut newest = Newest::default();
        let count = 3 * MOST as i64;
        // Every start once, in a scrambled order: 7919 is prime.
        for n in 0..count {
            newest.push(Recent {
                start: (n * 7_919) % count,
                duration: 1,
                operation: 0,
                track: 0,
            });
        }
        let (events, dropped) = newest.into_events();
        assert_eq!(dropped, 2 * MOST as u64);
        let starts = events.iter().map(|event| event.start);
        assert!(starts.eq(2 * MOST as i64..count));
    }
}
