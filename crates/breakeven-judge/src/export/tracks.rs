//! Distributes a timeline's calls over tracks on which calls are properly nested, as every viewer
//! requires.
//!
//! Calls of one thread can overlap without nesting: asynchronous functions do. Such a call gets an
//! extra lane of the thread. No time is changed, and no call is lost.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use breakeven_profile::profile::{Device, Timeline, TimelineEvent};

/// Calls of one thread that are properly nested.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct PlacedTrack {
    /// The thread's name, with the track's number for calls that overlap others.
    pub name: String,
    /// The device's id; empty if tracks are per thread only.
    pub device: String,
    /// The calls, in the order in which they began; an outer one comes before those inside it.
    pub calls: Vec<PlacedCall>,
}

/// A call on a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacedCall {
    /// Index into the timeline's events.
    pub event: usize,
    /// Number of calls around it.
    pub depth: usize,
}

/// Places every call of a timeline, on the tracks that [`chrome()`](super::chrome()) writes: of a
/// device and a thread that used it, the CPU's first.
pub fn placed(timeline: &Timeline) -> Vec<PlacedTrack> {
    tracks(timeline, |event| {
        event.device.as_deref().unwrap_or(Device::CPU)
    })
}

/// The tracks of each thread: a call's parent may be on another device.
pub(super) fn by_thread(timeline: &Timeline) -> Vec<PlacedTrack> {
    tracks(timeline, |_| "")
}

fn tracks(timeline: &Timeline, device: fn(&TimelineEvent) -> &str) -> Vec<PlacedTrack> {
    let events = &timeline.events;
    let mut order: Vec<usize> = (0..events.len()).collect();
    order.sort_unstable_by_key(|&index| {
        let event = &events[index];
        (event.start_ns, Reverse(event.duration_ns), index)
    });
    let mut tracks: BTreeMap<_, Vec<PlacedCall>> = BTreeMap::new();
    let mut lanes: HashMap<(&str, u64), Lanes> = HashMap::new();
    for index in order {
        let event = &events[index];
        let (device, thread) = (device(event), event.thread);
        let lanes = lanes.entry((device, thread)).or_default();
        let (lane, depth) = lanes.place(event.start_ns, end_ns(event));
        let track = tracks.entry((Device::of(device), device, thread, lane));
        let event = index;
        track.or_default().push(PlacedCall { event, depth });
    }
    let tracks = tracks.into_iter();
    tracks
        .map(|((_, device, thread, lane), calls)| PlacedTrack {
            name: name(timeline, thread, lane),
            device: device.to_owned(),
            calls,
        })
        .collect()
}

/// The thread's name; on further lanes with the lane's number. There may be no such thread.
fn name(timeline: &Timeline, thread: u64, lane: usize) -> String {
    let index = usize::try_from(thread).ok();
    let name = index.and_then(|index| timeline.threads.get(index));
    let name = name.filter(|name| !name.is_empty()).cloned();
    let name = name.unwrap_or_else(|| format!("thread {thread}"));
    match lane {
        0 => name,
        lane => format!("{name} (overlapping {lane})"),
    }
}

/// When a call ended, ns.
pub(super) fn end_ns(event: &TimelineEvent) -> u64 {
    event.start_ns.saturating_add(event.duration_ns)
}

/// Beginning or end of a call on a track.
pub(super) enum Step<'a> {
    Open(&'a TimelineEvent),
    Close(&'a TimelineEvent),
}

/// The beginnings and ends of a track's calls, in the order of time; each ends before the one around
/// it.
pub(super) fn steps<'a>(
    timeline: &'a Timeline,
    track: &PlacedTrack,
) -> impl Iterator<Item = Step<'a>> {
    let calls = track.calls.iter().map(|call| &timeline.events[call.event]);
    let mut calls = calls.peekable();
    let mut open: Vec<&TimelineEvent> = Vec::new();
    std::iter::from_fn(move || {
        let next = calls.peek().map(|event| event.start_ns);
        let is_over = |last: &mut &TimelineEvent| next.is_none_or(|next| end_ns(last) <= next);
        if let Some(over) = open.pop_if(is_over) {
            return Some(Step::Close(over));
        }
        let event = calls.next()?;
        open.push(event);
        Some(Step::Open(event))
    })
}

/// The lanes of one thread, each with the ends of its open calls, the innermost last.
#[derive(Default)]
struct Lanes {
    ends: Vec<Vec<u64>>,
    /// (end of the innermost open call, lane), for every lane with an open call.
    open: BTreeSet<(u64, usize)>,
    idle: BTreeSet<usize>,
}

impl Lanes {
    /// The lane for a call that begins no earlier than those before it, and the number of calls
    /// around it there: the first lane if it fits there, else that of the shortest call around it,
    /// else a free one. Logarithmic in the number of lanes.
    fn place(&mut self, start: u64, end: u64) -> (usize, usize) {
        self.close(start);
        let first_ends = self.ends.first().map(|ends| ends.last().copied());
        let lane = match first_ends {
            Some(None) => 0,
            Some(Some(enclosing)) if enclosing >= end => 0,
            _ => {
                let around = self.open.range((end, 0)..).next();
                let lane = around.map(|(_, lane)| *lane);
                lane.or_else(|| self.idle.first().copied())
                    .unwrap_or(self.ends.len())
            }
        };
        if lane == self.ends.len() {
            self.ends.push(Vec::new());
        }
        match self.ends[lane].last() {
            Some(enclosing) => self.open.remove(&(*enclosing, lane)),
            None => self.idle.remove(&lane),
        };
        self.ends[lane].push(end);
        self.open.insert((end, lane));
        (lane, self.ends[lane].len() - 1)
    }

    /// Closes the calls that ended by `now`.
    fn close(&mut self, now: u64) {
        while let Some(&(end, lane)) = self.open.first().filter(|(end, _)| *end <= now) {
            self.open.remove(&(end, lane));
            let ends = &mut self.ends[lane];
            while ends.pop_if(|end| *end <= now).is_some() {}
            match ends.last() {
                Some(enclosing) => self.open.insert((*enclosing, lane)),
                None => self.idle.insert(lane),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lanes of the calls with these beginnings and ends.
    fn lanes(calls: &[(u64, u64)]) -> Vec<usize> {
        let mut lanes = Lanes::default();
        let place = |&(start, end): &(u64, u64)| lanes.place(start, end).0;
        calls.iter().map(place).collect()
    }

    #[test]
    fn nested_calls_share_a_lane() {
        assert_eq!(lanes(&[(0, 10), (0, 4), (4, 10), (4, 4), (10, 11)]), [0; 5]);
    }

    #[test]
    fn a_call_that_outlives_the_one_around_it_gets_another_lane() {
        assert_eq!(lanes(&[(0, 10), (5, 15), (6, 9)]), [0, 1, 0]);
        // A call that only fits inside the second is on its lane; a free lane is reused.
        assert_eq!(lanes(&[(0, 10), (5, 15), (11, 14), (14, 16)]), [0, 1, 0, 0]);
        assert_eq!(
            lanes(&[(0, 10), (5, 15), (8, 12), (20, 30), (25, 35)]),
            [0, 1, 1, 0, 1]
        );
    }

    #[test]
    fn calls_that_all_overlap_take_no_longer_each() {
        let calls: Vec<_> = (0..200_000).map(|n| (n, n + 200_000)).collect();
        assert_eq!(lanes(&calls).last(), Some(&199_999));
    }
}

#[cfg(test)]
mod placed_tests {
    use breakeven_profile::profile::TimelineEvent;

    use super::*;

    #[test]
    fn calls_are_at_their_depth_and_overlapping_ones_beside() {
        let event = |start_ns: u64, duration_ns: u64| TimelineEvent {
            name: "f".to_owned(),
            start_ns,
            duration_ns,
            ..TimelineEvent::default()
        };
        let timeline = Timeline {
            threads: vec!["main".to_owned()],
            events: vec![
                event(0, 10),
                event(2, 3),
                event(4, 20),
                event(6, 1),
                event(12, 1),
            ],
            ..Timeline::default()
        };
        let reported: Vec<_> = placed(&timeline)
            .into_iter()
            .map(|track| {
                let calls = track.calls.iter().map(|call| (call.event, call.depth));
                (track.name, track.device, calls.collect::<Vec<_>>())
            })
            .collect();
        let cpu = || "cpu".to_owned();
        assert_eq!(
            reported,
            [
                (
                    "main".to_owned(),
                    cpu(),
                    vec![(0, 0), (1, 1), (3, 1), (4, 0)]
                ),
                ("main (overlapping 1)".to_owned(), cpu(), vec![(2, 0)]),
            ]
        );
    }
}
