//! Places a timeline's calls for a viewer: on tracks, each at its depth.

use breakeven_profile::profile::Timeline;

use super::tracks::{By, Step, tracks, walk};

/// Calls of one thread on one device that are properly nested.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct PlacedTrack {
    /// The thread's name, with the track's number for calls that overlap others.
    pub name: String,
    /// The device's id.
    pub device: String,
    /// The calls, in the order in which they began.
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

/// Places every call of a timeline, on the tracks that [`chrome`](super::chrome) writes.
pub fn placed(timeline: &Timeline) -> Vec<PlacedTrack> {
    let place = |track: super::tracks::Track<'_>| {
        let mut events = track.calls.iter().copied();
        let (mut depth, mut calls) = (0, Vec::new());
        let walked: Result<(), std::convert::Infallible> = walk(timeline, &track, |step| {
            match step {
                // Calls are opened in the track's order.
                Step::Open(_) => {
                    let placed = events.next().map(|event| PlacedCall { event, depth });
                    calls.extend(placed);
                    depth += 1;
                }
                Step::Close(_) => depth -= 1,
            }
            Ok(())
        });
        let Ok(()) = walked;
        PlacedTrack {
            name: track.name(timeline),
            device: track.device.to_owned(),
            calls,
        }
    };
    let tracks = tracks(timeline, By::DeviceAndThread).into_iter();
    tracks.map(place).collect()
}

#[cfg(test)]
mod tests {
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
