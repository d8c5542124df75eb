//! Single calls in the order of time, on a track per thread and device.

use std::cmp::Reverse;
use std::collections::HashMap;

use breakeven_judge::export::placed;
use breakeven_judge::page::figures::plural;
use breakeven_judge::page::shown;
use breakeven_profile::profile::{Profile, Timeline};
use breakeven_profile::unit;
use serde::Serialize;

use crate::part::{MOST_NAME, Part};
use crate::sections;

/// Most calls; the shortest are omitted.
const MOST_CALLS: usize = 20_000;

/// Deepest call that is drawn.
const MOST_DEPTH: usize = 64;

#[derive(Serialize)]
struct Data {
    /// From the first call's beginning to the last one's end, ns.
    length: u64,
    names: Vec<String>,
    tracks: Vec<Track>,
    finding: String,
}

#[derive(Serialize)]
struct Track {
    name: String,
    /// Number of rows.
    rows: usize,
    /// Row, index of the name, beginning and duration in ns, per call.
    calls: Vec<(usize, usize, u64, u64)>,
}

/// None without recorded calls.
pub(crate) fn part(profile: &Profile) -> Option<Part> {
    let mut part = Part::new(sections::TIMELINE);
    let timeline = profile.timeline.as_ref();
    let data = data(
        profile,
        timeline.filter(|timeline| !timeline.events.is_empty())?,
    );
    part.chart("timeline", 0, &data.finding);
    part.data(&data);
    Some(part)
}

fn data(profile: &Profile, timeline: &Timeline) -> Data {
    let events = &timeline.events;
    let kept = kept(timeline);
    let begin = events.iter().map(|event| event.start_ns).min().unwrap_or(0);
    let ends = events
        .iter()
        .map(|event| event.start_ns.saturating_add(event.duration_ns));
    let length = ends.max().unwrap_or(begin) - begin;
    let mut names: Vec<String> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut tracks = Vec::new();
    for track in placed(timeline) {
        let calls = track.calls.iter().filter(|call| kept[call.event]);
        let calls: Vec<(usize, usize, u64, u64)> = calls
            .filter(|call| call.depth < MOST_DEPTH)
            .map(|call| {
                let event = &events[call.event];
                let name = *places.entry(&event.name).or_insert_with(|| {
                    names.push(shown(&event.name, MOST_NAME));
                    names.len() - 1
                });
                (call.depth, name, event.start_ns - begin, event.duration_ns)
            })
            .collect();
        let Some(deepest) = calls.iter().map(|(depth, ..)| *depth).max() else {
            continue;
        };
        let device = profile.device_label(&track.device);
        tracks.push(Track {
            name: shown(&format!("{} · {device}", track.name), MOST_NAME),
            rows: deepest + 1,
            calls,
        });
    }
    let shown_calls: usize = tracks.iter().map(|track| track.calls.len()).sum();
    let mut finding = format!(
        "{} calls of {} operations on {} over {}",
        unit::count(events.len() as f64),
        unit::count(names.len() as f64),
        plural(tracks.len() as u64, "track"),
        unit::time(length as f64),
    );
    if shown_calls < events.len() {
        let left_out = unit::count((events.len() - shown_calls) as f64);
        finding += &format!("; the {left_out} shortest or deepest are not drawn");
    }
    if timeline.dropped > 0 {
        let dropped = unit::count(timeline.dropped as f64);
        finding += &format!("; {dropped} calls before them had no room in the recording");
    }
    Data {
        length: length.max(1),
        names,
        tracks,
        finding,
    }
}

/// Selects the longest events.
fn kept(timeline: &Timeline) -> Vec<bool> {
    let events = &timeline.events;
    let mut order: Vec<usize> = (0..events.len()).collect();
    if order.len() > MOST_CALLS {
        order.sort_by_key(|&at| Reverse(events[at].duration_ns));
        order.truncate(MOST_CALLS);
    }
    let mut kept = vec![false; events.len()];
    for at in order {
        kept[at] = true;
    }
    kept
}
