//! Single calls in the order of time: the latest ones of each thread.

use std::sync::Mutex;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, AtomicUsize, fence};

use super::lock;

/// Most events in a thread's ring buffer.
pub(super) const MAX_EVENTS: usize = 1 << 22;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event {
    /// The node's id in the tree of the thread.
    pub(super) node: u32,
    /// The clock's reading at its beginning, ticks.
    pub(super) start: u64,
    pub(super) ticks: u64,
}

/// The latest events of one thread, which writes it; any may read.
#[derive(Debug, Default)]
pub(super) struct Ring {
    /// Capacity in events, a power of two; 0 disables it.
    capacity: AtomicUsize,
    /// Memory is never freed, so that readers need no lock; a ring that must grow allocates new
    /// memory, at least twice as much as before.
    slots: Mutex<&'static [Slot]>,
    /// Number of events whose writing began, and whose writing ended.
    begun: AtomicU64,
    ended: AtomicU64,
}

#[derive(Debug, Default)]
pub(super) struct Slot {
    node: AtomicU64,
    start: AtomicU64,
    ticks: AtomicU64,
}

impl Ring {
    /// Makes room for that many events, rounded up to a power of two; only its owner may call this.
    /// A change of size drops the content.
    pub(super) fn resize(&self, capacity: usize) -> &'static [Slot] {
        let capacity = match capacity.min(MAX_EVENTS) {
            0 => 0,
            some => some.next_power_of_two(),
        };
        let mut slots = lock(&self.slots);
        if capacity > slots.len() {
            let more: Vec<Slot> = (0..capacity).map(|_| Slot::default()).collect();
            *slots = more.leak();
        }
        if self.capacity.load(Relaxed) != capacity {
            self.capacity.store(capacity, Relaxed);
            self.clear();
        }
        &slots[..capacity]
    }

    pub(super) fn clear(&self) {
        self.begun.store(0, Relaxed);
        self.ended.store(0, Release);
    }

    /// Adds an event; `slots` is the result of [`resize`](Self::resize).
    #[inline]
    pub(super) fn push(&self, slots: &'static [Slot], event: Event) {
        let index = self.begun.load(Relaxed);
        let Some(slot) = usize::try_from(index)
            .ok()
            .and_then(|index| slots.get(index & slots.len().wrapping_sub(1)))
        else {
            return;
        };
        self.begun.store(index + 1, Relaxed);
        fence(Release);
        slot.node.store(u64::from(event.node), Relaxed);
        slot.start.store(event.start, Relaxed);
        slot.ticks.store(event.ticks, Relaxed);
        self.ended.store(index + 1, Release);
    }

    /// Its events, and the number of events that had no room.
    pub(super) fn read(&self) -> (Vec<Event>, u64) {
        let slots = *lock(&self.slots);
        let capacity = self.capacity.load(Relaxed);
        let room = capacity as u64;
        let ended = self.ended.load(Acquire);
        let first = ended.saturating_sub(room);
        let mut events = Vec::new();
        for index in first..ended {
            let at = usize::try_from(index).unwrap_or(usize::MAX) & capacity.wrapping_sub(1);
            let Some(slot) = slots.get(at) else { break };
            events.push(Event {
                node: u32::try_from(slot.node.load(Relaxed)).unwrap_or(u32::MAX),
                start: slot.start.load(Relaxed),
                ticks: slot.ticks.load(Relaxed),
            });
        }
        fence(Acquire);
        // Events that were, or may have been, overwritten meanwhile.
        let sound = self.begun.load(Relaxed).saturating_sub(room);
        let lost = sound.saturating_sub(first).min(events.len() as u64);
        events.drain(..usize::try_from(lost).expect("at most the length of a list"));
        (events, first + lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(start: u64) -> Event {
        Event {
            node: 1,
            start,
            ticks: 1,
        }
    }

    #[test]
    fn the_latest_events_stay_and_the_others_are_counted() {
        let ring = Ring::default();
        let slots = ring.resize(6);
        assert_eq!(slots.len(), 8);
        (0..20).for_each(|start| ring.push(slots, event(start)));
        let (events, dropped) = ring.read();
        assert_eq!(events, (12..20).map(event).collect::<Vec<_>>());
        assert_eq!(dropped, 12);
    }

    #[test]
    fn without_room_nothing_is_taken() {
        let ring = Ring::default();
        ring.push(ring.resize(0), event(1));
        assert_eq!(ring.read(), (vec![], 0));
    }

    #[test]
    fn a_reader_sees_whole_events_while_they_are_written() {
        let ring = Ring::default();
        let slots = ring.resize(64);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for start in 0..300_000 {
                    let ticks = start * 3;
                    let event = event(start);
                    ring.push(slots, Event { ticks, ..event });
                }
            });
            while !writer.is_finished() {
                let (events, dropped) = ring.read();
                for (expected, event) in (dropped..).zip(&events) {
                    assert_eq!((event.start, event.ticks), (expected, expected * 3));
                }
            }
        });
        assert_eq!(ring.read().1, 300_000 - 64);
    }
}
