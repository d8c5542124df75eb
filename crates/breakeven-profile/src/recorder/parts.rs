//! Calls that run in parts: a future each time it is polled, a span each time
//! it is entered, on whatever thread that is.

use std::ptr;

use super::buffer::Buffer;
use super::call::{self, Open};
use super::clock::Instant;
use super::field::{Count, Value};
use super::local::{self, LOCAL};
use super::node::{Figure, Node};
use super::site::Site;
use super::switch;

/// A call that runs in parts, from the beginning of the first to the end of the last.
#[derive(Debug)]
pub(super) struct Parts {
    /// `None` where the call is not recorded.
    site: Option<&'static Site>,
    told: Vec<Detail>,
    /// When the first part began, and in which recording.
    first: Option<(Instant, u32)>,
    last: Option<Instant>,
    /// Where the last part was recorded: the buffer and the node.
    place: Option<(&'static Buffer, &'static Node)>,
    /// Time of all parts, ticks.
    polled: u64,
}

/// Something that is known of a call before there is a place to tell it.
#[derive(Debug)]
enum Detail {
    Figure(Figure, u64),
    Memory(u64),
    GpuUse(f64),
    Attribute(&'static str, Value<'static>),
}

impl Detail {
    /// True where both tell the same field.
    fn is_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Figure(this, _), Self::Figure(that, _)) => this == that,
            (Self::Memory(_), Self::Memory(_)) | (Self::GpuUse(_), Self::GpuUse(_)) => true,
            (Self::Attribute(this, _), Self::Attribute(that, _)) => this == that,
            _ => false,
        }
    }

    fn tell(&self, node: &Node) {
        match self {
            Self::Figure(figure, value) => node.tell(*figure, *value),
            Self::Memory(bytes) => node.memory.note(*bytes),
            Self::GpuUse(part) => node.tell_gpu_use(*part),
            Self::Attribute(name, value) => node.tell_attribute(name, value.clone()),
        }
    }
}

impl Parts {
    pub(super) fn new(site: Option<&'static Site>) -> Self {
        Self {
            site,
            told: Vec::new(),
            first: None,
            last: None,
            place: None,
            polled: 0,
        }
    }

    /// Makes it a call of another site, before its first part.
    #[cfg(feature = "tracing")]
    pub(super) fn move_to(&mut self, site: Option<&'static Site>) {
        self.site = site;
    }

    /// Begins a part on this thread. The call belongs to the recording that its
    /// first part is in; where that is over, the rest is not recorded.
    pub(super) fn begin(&mut self) -> Option<Open> {
        let open = call::open(self.site?);
        let generation = local::generation();
        let Some(open) = open else {
            self.site = None;
            return None;
        };
        let (_, first) = *self.first.get_or_insert((open.start, generation));
        if first != generation {
            self.site = None;
            call::abandon(&open);
            return None;
        }
        Some(open)
    }

    /// Ends a part, on the thread that it began on.
    pub(super) fn end(&mut self, open: &Open) {
        if let Some((ticks, end)) = call::close_part(open) {
            self.polled += ticks;
            self.last = Some(end);
            self.place = call::place_of(open);
        }
    }

    /// Records the call as a whole, up to `end` or to the end of its last part: where
    /// that part was recorded, or where this thread is now if that was another's. Does
    /// nothing where the recording that it began in is over.
    pub(super) fn finish(&mut self, end: Option<Instant>, cancelled: bool) {
        let (Some(site), Some((start, generation))) = (self.site.take(), self.first) else {
            return;
        };
        let (Some(end), Some(state)) = (end.or(self.last), switch::state()) else {
            return;
        };
        let ticks = end.ticks_since(start);
        LOCAL.with(|local| {
            if !local.may_record(state) || local::generation() != generation {
                return;
            }
            let here = |(buffer, _): &(&Buffer, _)| {
                local.buffer.get().is_some_and(|own| ptr::eq(own, *buffer))
            };
            let own = self.place.filter(here).map(|(_, node)| node);
            // A node is written by its owner only.
            let node = own.or_else(|| {
                let parent = local.current.get();
                let end = local.cache.step(parent, site);
                Some(end.or_else(|| local.step(parent, site))?.node)
            });
            if let Some(node) = node {
                node.record_whole(ticks, self.polled.min(ticks), cancelled, &local.writer);
                self.told.iter().for_each(|told| told.tell(node));
            }
        });
    }

    pub(super) fn is_recorded(&self) -> bool {
        self.site.is_some()
    }

    pub(super) fn tell(&mut self, figure: Figure, value: impl Count) {
        self.push(Detail::Figure(figure, value.count()));
    }

    pub(super) fn tell_memory(&mut self, bytes: impl Count) {
        self.push(Detail::Memory(bytes.count()));
    }

    /// Tells what [`Guard::gpu_use`](super::Guard::gpu_use) does.
    pub(super) fn tell_gpu_use(&mut self, part: f64) {
        if !part.is_nan() {
            self.push(Detail::GpuUse(part.clamp(0.0, 1.0)));
        }
    }

    pub(super) fn tell_attribute(&mut self, name: &'static str, value: Value<'_>) {
        self.push(Detail::Attribute(name, value.into_owned()));
    }

    fn push(&mut self, told: Detail) {
        // A span may be told something any number of times.
        const MOST: usize = 64;
        if !self.is_recorded() {
            return;
        }
        // One value of each field for one call: the last.
        let has_room = self.told.len() < MOST;
        match self.told.iter_mut().find(|known| known.is_of(&told)) {
            Some(known) => *known = told,
            None if has_room => self.told.push(told),
            None => {}
        }
    }
}
