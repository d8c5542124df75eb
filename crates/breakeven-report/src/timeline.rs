//! Single calls in the order of time, on a track per thread and device.

use std::collections::HashMap;

use breakeven_judge::export::placed;
use breakeven_judge::page::figures::plural;
use breakeven_judge::page::shown;
use breakeven_profile::profile::Profile;
use breakeven_profile::unit;
use serde_json::json;

use crate::part::{MOST_NAME, Part, largest};
use crate::sections;

/// Most calls; the shortest are omitted.
const MOST_CALLS: usize = 20_000;

/// Deepest call that is drawn.
const MOST_DEPTH: usize = 64;

/// None without recorded calls.
pub(crate) fn part(profile: &Profile) -> Option<Part> {
    let mut part = Part::new(sections::TIMELINE);
    let timeline = profile.timeline.as_ref();
    let timeline = timeline.filter(|timeline| !timeline.events.is_empty())?;
    let events = &timeline.events;
    let mut kept = vec![false; events.len()];
    for at in largest(events.len(), MOST_CALLS, |at| events[at].duration_ns as f64) {
        kept[at] = true;
    }
    let begin = events.iter().map(|event| event.start_ns).min().unwrap_or(0);
    let ends = events
        .iter()
        .map(|event| event.start_ns.saturating_add(event.duration_ns));
    let length = ends.max().unwrap_or(begin) - begin;
    let mut names: Vec<String> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let (mut tracks, mut shown_calls) = (Vec::new(), 0);
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
        shown_calls += calls.len();
        let name = shown(&format!("{} · {device}", track.name), MOST_NAME);
        tracks.push(json!({"name": name, "rows": deepest + 1, "calls": calls}));
    }
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
    part.chart("timeline", 0, &finding);
    let length = length.max(1);
    part.data(&json!({"length": length, "names": names, "tracks": tracks, "finding": finding}));
    Some(part)
}
