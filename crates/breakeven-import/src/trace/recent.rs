//! The newest events of a trace, in bounded memory.

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
#[derive(Debug)]
pub(super) struct Newest {
    events: Vec<Recent>,
    floor: i64,
    dropped: u64,
}

impl Default for Newest {
    fn default() -> Self {
        Self {
            events: Vec::new(),
            floor: i64::MIN,
            dropped: 0,
        }
    }
}

impl Newest {
    pub(super) fn push(&mut self, event: Recent) {
        if event.start < self.floor {
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
            self.floor = self.events[older].start;
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
