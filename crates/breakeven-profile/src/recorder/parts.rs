//! Calls that run in slices, on any thread: a future each time it is polled, a span each time it is
//! entered.

use std::ptr;

use super::buffer::Buffer;
use super::call::{self, Open};
use super::clock::Instant;
use super::field::{Count, Value};
use super::local::{self, LOCAL};
use super::node::{Figure, Node};
use super::site::Site;
use super::switch;

/// A call that runs in slices, from the beginning of the first to the end of the last.
#[derive(Debug)]
pub(super) struct Parts {
    /// `None` if the call is not recorded.
    site: Option<&'static Site>,
    told: Vec<Detail>,
    /// When the first slice began, and in which recording.
    first: Option<(Instant, u32)>,
    last: Option<Instant>,
    /// Buffer and node of the last slice.
    place: Option<(&'static Buffer, &'static Node)>,
    /// Time of all slices, ticks.
    polled: u64,
}

/// A field that is set before the call has a node.
#[derive(Debug)]
enum Detail {
    Figure(Figure, u64),
    Memory(u64),
    GpuUse(f64),
    Attribute(&'static str, Value<'static>),
}

impl Detail {
    /// True if both set the same field.
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

    /// Changes the call's site, before its first slice.
    #[cfg(feature = "tracing")]
    pub(super) fn move_to(&mut self, site: Option<&'static Site>) {
        self.site = site;
    }

    /// Begins a slice on this thread. The call belongs to the recording of its first slice; if that
    /// has ended, the rest is not recorded.
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

    /// Ends a slice, on the thread that it began on.
    pub(super) fn end(&mut self, open: &Open) {
        if let Some((ticks, end)) = call::close_part(open) {
            self.polled += ticks;
            self.last = Some(end);
            self.place = call::place_of(open);
        }
    }

    /// Records the complete call, up to `end` or to the end of its last slice: in the node of that
    /// slice, or in this thread's if that was another thread's. Does nothing if the recording that
    /// it began in has ended.
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

    /// Sets [`Guard::gpu_use`](super::Guard::gpu_use).
    pub(super) fn tell_gpu_use(&mut self, part: f64) {
        if !part.is_nan() {
            self.push(Detail::GpuUse(part.clamp(0.0, 1.0)));
        }
    }

    pub(super) fn tell_attribute(&mut self, name: &'static str, value: Value<'_>) {
        self.push(Detail::Attribute(name, value.into_owned()));
    }

    fn push(&mut self, told: Detail) {
        // A span's fields may be set any number of times.
        const MOST: usize = 64;
        if !self.is_recorded() {
            return;
        }
        // One value per field and call: the last.
        let has_room = self.told.len() < MOST;
        match self.told.iter_mut().find(|known| known.is_of(&told)) {
            Some(known) => *known = told,
            None if has_room => self.told.push(told),
            None => {}
        }
    }
}
