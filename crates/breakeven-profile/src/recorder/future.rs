//! Calls that run in slices, on any thread: a future each time it is polled, a span each time it is
//! entered.

use std::future::Future;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::buffer::Buffer;
use super::call::{self, Open};
use super::clock::Instant;
use super::field::{Field, Figure, Value, count, setters};
use super::local::{self, LOCAL};
use super::node::Node;
use super::site::Site;
use super::switch;

/// A call that runs in slices, from the beginning of the first to the end of the last, with its
/// initial fields. The attribute creates it, programs need not. The methods are those of
/// [`Guard`](super::Guard).
#[derive(Debug)]
#[must_use]
pub struct AsyncCall {
    /// `None` if the call is not recorded.
    site: Option<&'static Site>,
    /// Set before the call has a node.
    fields: Vec<Field<'static>>,
    /// When the first slice began, and in which recording.
    first: Option<(Instant, u32)>,
    last: Option<Instant>,
    /// Buffer and node of the last slice.
    place: Option<(&'static Buffer, &'static Node)>,
    /// Time of all slices, ticks.
    polled: u64,
}

impl AsyncCall {
    /// A call of the operation `site`.
    pub fn enter(site: &'static Site) -> Self {
        Self::of(Some(site))
    }

    /// A call of the operation `site`, on that device and of that size.
    pub fn enter_on(site: &'static Site, device: Option<&str>, size: Option<u64>) -> Self {
        Self::of(match (device, size) {
            (None, None) => Some(site),
            _ => local::site_on(site, device, size),
        })
    }

    /// A call that is not recorded.
    pub fn off() -> Self {
        Self::of(None)
    }

    pub(super) fn of(site: Option<&'static Site>) -> Self {
        Self {
            site,
            fields: Vec::new(),
            first: None,
            last: None,
            place: None,
            polled: 0,
        }
    }

    setters!(self: &mut Self);

    pub(super) fn set_field(&mut self, field: Field<'_>) {
        // A span's fields may be set any number of times.
        const MOST: usize = 64;
        if self.site.is_none() {
            return;
        }
        let field = field.into_owned();
        // One value per field and call: the last.
        let has_room = self.fields.len() < MOST;
        match self.fields.iter_mut().find(|known| known.is_of(&field)) {
            Some(known) => *known = field,
            None if has_room => self.fields.push(field),
            None => {}
        }
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
    fn record_whole(&mut self, end: Option<Instant>, cancelled: bool) {
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
                self.fields
                    .drain(..)
                    .for_each(|field| node.set_field(field));
            }
        });
    }

    /// Runs one slice of a call that is no Rust future, such as a coroutine of another language
    /// until it waits. Slices may run on different threads.
    pub fn part<R>(&mut self, part: impl FnOnce() -> R) -> R {
        let Some(open) = self.begin() else {
            return part();
        };
        let _running = Part { open, call: self };
        part()
    }

    /// Ends a call of such slices. Without it the call counts as cancelled.
    pub fn finish(mut self) {
        self.record_whole(None, false);
    }

    /// The future, recorded each time it is polled.
    pub fn record<F: Future>(self, future: F) -> Recorded<F> {
        Recorded { future, call: self }
    }
}

pin_project! {
    /// A future that records its call; see [`AsyncCall`].
    #[derive(Debug)]
    #[must_use = "a future does nothing unless it is polled"]
    pub struct Recorded<F> {
        // Dropped first, so that dropping it is part of the call's time.
        #[pin]
        future: F,
        call: AsyncCall,
    }
}

impl Drop for AsyncCall {
    /// A call that began and did not end was cancelled.
    fn drop(&mut self) {
        if self.site.is_some() {
            self.record_whole(Some(super::clock().now()), true);
        }
    }
}

/// A slice that ends when it is dropped, also after a panic.
struct Part<'a> {
    open: Open,
    call: &'a mut AsyncCall,
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        self.call.end(&self.open);
    }
}

impl<F: Future> Future for Recorded<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let polled = this.call.part(|| this.future.poll(context));
        if polled.is_ready() {
            this.call.record_whole(None, false);
        }
        polled
    }
}
