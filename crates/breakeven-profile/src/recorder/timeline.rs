//! Single calls in the order of time: the latest ones of each thread.

use std::collections::VecDeque;

/// Most events in a thread's ring buffer.
const MAX_EVENTS: usize = 1 << 22;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event {
    /// The node's id in the tree of the thread.
    pub(super) node: u32,
    /// The clock's reading at its beginning, ticks.
    pub(super) start: u64,
    pub(super) ticks: u64,
}

/// The latest events of one thread.
#[derive(Debug, Default)]
pub(super) struct Ring {
    /// Most events; their memory is allocated at once, because an allocator may record.
    capacity: usize,
    events: VecDeque<Event>,
    /// Events that had no room.
    dropped: u64,
}

impl Ring {
    /// Makes room for that many events; 0 disables it. A change of size drops the content.
    pub(super) fn resize(&mut self, capacity: usize) {
        let capacity = capacity.min(MAX_EVENTS);
        if capacity != self.capacity {
            *self = Self {
                capacity,
                events: VecDeque::with_capacity(capacity),
                dropped: 0,
            };
        }
    }

    pub(super) fn clear(&mut self) {
        self.events.clear();
        self.dropped = 0;
    }

    pub(super) fn push(&mut self, event: Event) {
        if self.events.len() >= self.capacity {
            self.dropped += 1;
            if self.events.pop_front().is_none() {
                return;
            }
        }
        self.events.push_back(event);
    }

    /// Its events, and the number of events that had no room.
    pub(super) fn read(&self) -> (Vec<Event>, u64) {
        (self.events.iter().copied().collect(), self.dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_events_stay_and_the_others_are_counted() {
        let event = |start| Event {
            node: 1,
            start,
            ticks: 1,
        };
        let mut ring = Ring::default();
        ring.resize(8);
        (0..20).for_each(|start| ring.push(event(start)));
        let (events, dropped) = ring.read();
        assert_eq!(events, (12..20).map(event).collect::<Vec<_>>());
        assert_eq!(dropped, 12);
    }
}
