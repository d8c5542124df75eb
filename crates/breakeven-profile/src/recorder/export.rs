//! Merges the threads' recordings into one profile.

use std::collections::BTreeMap;
use std::ptr;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use super::buffer::{Buffer, pool};
use super::clock::Instant;
use super::node::Reading;
use super::site::{OVERFLOW, Site};
use super::tree::Place;
use super::{clock, cost, local, lock, merge};
use crate::machine;
use crate::profile::{self, Environment, Profile, Stack, Timeline, TimelineEvent};

/// What a recording lost. All zero in most programs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct Losses {
    /// Calls that share one operation, because there were more operations or call paths than the
    /// recorder can distinguish.
    pub overflowed: u64,
    /// Guards that were dropped after one around them: they count, but the nesting of their times
    /// may be wrong.
    pub misnested: u64,
    /// Calls in destructors of threads that had stopped recording, since the process began.
    pub late: u64,
    /// Calls that the timeline had no room for.
    pub timeline_dropped: u64,
}

/// The recording of one thread, or of several one after another.
struct Lane {
    thread: String,
    nodes: Vec<(Place, Reading)>,
    timeline: Timeline,
    misnested: u64,
}

/// All lanes of the current recording, and when it began.
fn lanes() -> (Vec<Lane>, SystemTime) {
    let mut pool = pool();
    let (began, at) = pool.began();
    let with_timeline = pool.timeline > 0;
    let lane = |buffer: &'static Buffer| {
        let nodes = buffer.places().into_iter();
        Lane {
            nodes: nodes.map(|place| (place, place.node.read())).collect(),
            thread: lock(&buffer.thread).clone(),
            misnested: buffer.misnested.load(Ordering::Relaxed),
            timeline: match with_timeline {
                true => timeline_of(buffer, began),
                false => Timeline::default(),
            },
        }
    };
    (pool.in_use().map(lane).collect(), at)
}

fn timeline_of(buffer: &Buffer, began: Instant) -> Timeline {
    let (events, dropped) = lock(&buffer.ring).read();
    // Read after the ring: every event's path is among them.
    let places = buffer.places();
    let by_id: BTreeMap<u32, &Place> = places.iter().map(|place| (place.node.id, place)).collect();
    let events = events.into_iter().filter_map(|event| {
        let operation = by_id.get(&event.node)?.operation;
        Some(TimelineEvent {
            name: operation.name.to_owned(),
            device: (operation.device != profile::Device::CPU).then(|| operation.device.to_owned()),
            thread: 0,
            start_ns: clock().ns_between(began, Instant(event.start)),
            duration_ns: clock().ns_of(event.ticks),
            attributes: BTreeMap::new(),
        })
    });
    Timeline {
        dropped,
        threads: Vec::new(),
        events: events.collect(),
    }
}

pub(super) fn profile() -> Profile {
    let environment = environment();
    let (lanes, at) = local::quiet(lanes);
    let (operations, stacks) = (operations(&lanes), stacks(&lanes));
    Profile {
        created: written(at),
        generator: Some(concat!("breakeven-profile ", env!("CARGO_PKG_VERSION")).to_owned()),
        environment,
        operations,
        stacks,
        timeline: timeline(lanes),
        ..Profile::default()
    }
}

/// A time as RFC 3339; none if the clock is before 1970 or after 9999, which it cannot express.
fn written(at: SystemTime) -> Option<String> {
    const YEAR_10_000: u64 = 253_402_300_800;
    let since = at.duration_since(UNIX_EPOCH).ok()?;
    let is_written = since.as_secs() < YEAR_10_000;
    is_written.then(|| humantime::format_rfc3339_seconds(at).to_string())
}

pub(super) fn losses() -> Losses {
    let (lanes, _) = local::quiet(lanes);
    let nodes = lanes.iter().flat_map(|lane| &lane.nodes);
    let overflowed = nodes.filter(|(place, _)| ptr::eq(place.operation, &OVERFLOW));
    Losses {
        overflowed: overflowed.map(|(_, reading)| reading.count).sum(),
        misnested: lanes.iter().map(|lane| lane.misnested).sum(),
        late: local::late(),
        timeline_dropped: lanes.iter().map(|lane| lane.timeline.dropped).sum(),
    }
}

fn environment() -> Environment {
    static CLOCK: OnceLock<profile::Clock> = OnceLock::new();
    Environment {
        clock: Some(CLOCK.get_or_init(|| clock().measure()).clone()),
        recorder: Some(cost::measure()),
        ..lock(described()).clone()
    }
}

/// The machine, read once, the build, and the program's description of both.
pub(super) fn described() -> &'static Mutex<Environment> {
    static DESCRIBED: OnceLock<Mutex<Environment>> = OnceLock::new();
    DESCRIBED.get_or_init(|| Mutex::new(machine::environment()))
}

/// Operations in the order in which they first appeared.
fn operations(lanes: &[Lane]) -> Vec<profile::Operation> {
    let mut by_site: BTreeMap<usize, (&Site, Vec<&Reading>)> = BTreeMap::new();
    for (place, reading) in lanes.iter().flat_map(|lane| &lane.nodes) {
        // Slices of a call that ended on another thread count as no call here.
        if reading.count > 0 || reading.busy() > 0 {
            let of = by_site.entry(place.operation.ordinal);
            let of = of.or_insert_with(|| (place.operation, Vec::new()));
            of.1.push(reading);
        }
    }
    let merged = |(site, readings): (_, Vec<_>)| merge::operation(site, &readings, clock());
    let recorded = by_site.into_values();
    let ended = |(_, readings): &(_, Vec<&Reading>)| readings.iter().any(|each| each.count > 0);
    recorded.filter(ended).map(merged).collect()
}

/// Call paths by name, in the order of their frames.
fn stacks(lanes: &[Lane]) -> Vec<Stack> {
    let mut by_frames: BTreeMap<Vec<&str>, (u64, u64, u64)> = BTreeMap::new();
    for lane in lanes {
        // Callers come before callees, so their frames are known.
        let mut frames_of: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
        for (place, reading) in &lane.nodes {
            let mut frames = frames_of.get(&place.parent.id).cloned().unwrap_or_default();
            frames.push(place.operation.name);
            frames_of.insert(place.node.id, frames.clone());
            if reading.count > 0 || reading.busy() > 0 {
                let (calls, total, own) = by_frames.entry(frames).or_default();
                let busy = reading.busy();
                *calls += reading.count;
                *total += busy.saturating_sub(reading.folded);
                *own += busy.saturating_sub(reading.children);
            }
        }
    }
    let stack = |(frames, (calls, total, own)): (Vec<&str>, _)| Stack {
        frames: frames.into_iter().map(str::to_owned).collect(),
        calls,
        total_ns: clock().ns_of(total),
        self_ns: clock().ns_of(own),
    };
    by_frames.into_iter().map(stack).collect()
}

/// The threads' timelines merged; `None` if there are none.
fn timeline(lanes: Vec<Lane>) -> Option<Timeline> {
    let mut all = Timeline::default();
    for lane in lanes {
        let part = lane.timeline;
        all.dropped += part.dropped;
        if !part.events.is_empty() {
            let thread = all.threads.len() as u64;
            all.threads.push(lane.thread);
            let events = part.events.into_iter();
            all.events
                .extend(events.map(|event| TimelineEvent { thread, ..event }));
        }
    }
    // If caller and callee began at the same tick, the caller comes first.
    all.events
        .sort_by_key(|event| (event.start_ns, std::cmp::Reverse(event.duration_ns)));
    (!all.events.is_empty()).then_some(all)
}
