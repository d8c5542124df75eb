//! A call from its beginning to its end: the hot path.

use std::ptr;
use std::sync::atomic::Ordering;

use super::buffer::Buffer;
use super::clock::Instant;
use super::local::{LOCAL, Local};
use super::node::{Call, Node};
use super::site::Site;
use super::timeline::Event;
use super::tree::{End, Place};
use super::{clock, lock, memory, switch};

/// A call that has begun, on the thread that it belongs to.
///
/// It lies on the caller's stack, whose address differs from process to process: if it crosses a
/// cache line, writing and reading it again costs 10 ns more.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Open {
    pub(super) end: End,
    /// The surrounding call.
    parent: &'static Node,
    pub(super) serial: u64,
    /// Serial number of the surrounding call.
    above: u64,
    /// Time of earlier recorded calls in the surrounding call, ticks.
    children: u64,
    pub(super) start: Instant,
    /// It began inside a call of the same name.
    recursive: bool,
}

impl Open {
    /// Moves the beginning of the call's time to `ns` before now.
    pub(super) fn start_ago(&mut self, ns: u64) {
        let clock = clock();
        self.start = clock.now().before(clock.ticks_of(ns));
    }

    #[inline]
    pub(super) fn start_now(&mut self) {
        self.start = clock().now();
    }
}

pub(super) fn open(site: &'static Site) -> Option<Open> {
    let state = switch::state()?;
    open_in(state, site)
}

/// Begins a call if the switch has the value `state`.
#[inline(always)]
pub(super) fn open_in(state: u32, site: &'static Site) -> Option<Open> {
    LOCAL.with(|local| {
        if !local.may_record(state) {
            return None;
        }
        local.open(site)
    })
}

/// Ends a slice of a call. Returns its time and its end, unless it is no longer recorded.
pub(super) fn close_part(open: &Open) -> Option<(u64, Instant)> {
    let call = LOCAL.with(|local| local.close_part(open))?;
    Some((call.ticks, open.start.after(call.ticks)))
}

pub(super) fn place_of(open: &Open) -> Option<(&'static Buffer, &'static Node)> {
    let buffer = LOCAL.with(|local| local.buffer.get())?;
    Some((buffer, open.end.node))
}

pub(super) fn abandon(open: &Open) {
    LOCAL.with(|local| {
        if local.top.get() == open.serial {
            local.leave(open, 0);
        }
    });
}

/// The node for the call's fields; `None` if it is no longer recorded.
#[inline]
pub(super) fn node_of(open: &Open) -> Option<&'static Node> {
    let recorded = LOCAL.with(|local| open.serial > local.forgotten.get());
    recorded.then_some(open.end.node)
}

#[inline(never)]
pub(super) fn close(open: &Open) {
    LOCAL.with(|local| local.close(open));
}

impl Local {
    /// Begins a call of `site` inside the innermost open one.
    #[inline(always)]
    pub(super) fn open(&self, site: &'static Site) -> Option<Open> {
        let parent = self.current.get();
        let end = match self.cache.step(parent, site) {
            Some(end) => end,
            None => self.step(parent, site)?,
        };
        let serial = self.opened.get() + 1;
        self.opened.set(serial);
        self.current.set(end.node);
        let recursive = end.family.open.load(Ordering::Relaxed) != 0;
        if !recursive {
            end.family.open.store(serial, Ordering::Relaxed);
            if memory::is_counted() {
                end.node.memory.begin();
            }
        }
        Some(Open {
            end,
            parent,
            serial,
            above: self.top.replace(serial),
            children: self.children.replace(0),
            recursive,
            start: clock().now(),
        })
    }

    #[inline(always)]
    pub(super) fn close(&self, open: &Open) {
        let ticks = clock().now().ticks_since(open.start);
        if self.top.get() == open.serial {
            let call = self.leave(open, ticks);
            open.end.node.record(call, &self.writer);
        } else if let Some(call) = self.leave_misnested(open, ticks) {
            open.end.node.record(call, &self.writer);
        }
    }

    pub(super) fn close_part(&self, open: &Open) -> Option<Call> {
        let ticks = clock().now().ticks_since(open.start);
        let call = if self.top.get() == open.serial {
            self.leave(open, ticks)
        } else {
            self.leave_misnested(open, ticks)?
        };
        open.end.node.record_part(call);
        Some(call)
    }

    #[inline(always)]
    pub(super) fn leave(&self, open: &Open, ticks: u64) -> Call {
        if self.has_timeline.get() {
            self.note(open, ticks);
        }
        self.top.set(open.above);
        self.current.set(open.parent);
        let children = self.children.replace(open.children.wrapping_add(ticks));
        self.call(open, ticks, children)
    }

    #[inline(always)]
    fn call(&self, open: &Open, ticks: u64, children: u64) -> Call {
        let outermost = &open.end.family.open;
        let folded = outermost.load(Ordering::Relaxed) != open.serial;
        if !folded {
            outermost.store(0, Ordering::Relaxed);
            if memory::is_counted() {
                open.end.node.memory.end();
            }
        }
        Call {
            ticks,
            children,
            nested: self.opened.get().wrapping_sub(open.serial),
            folded,
        }
    }

    /// Ends a call that is not the innermost one; `None` if it is no longer recorded. Open calls
    /// inside it, or calls whose guards never were dropped, end with it; if their guards are
    /// dropped later, they change no path.
    #[cold]
    #[inline(never)]
    fn leave_misnested(&self, open: &Open, ticks: u64) -> Option<Call> {
        let buffer = self.buffer.get()?;
        if open.serial <= self.forgotten.get() {
            return None;
        }
        let misnested = buffer.misnested.load(Ordering::Relaxed);
        buffer.misnested.store(misnested + 1, Ordering::Relaxed);
        let tree = buffer.tree();
        let since = open.end.family.open.load(Ordering::Relaxed);
        let is_open = (1..=open.serial).contains(&since) && self.top.get() > open.serial;
        let is_this = |place: &&Place| ptr::eq(place.node, open.end.node);
        let around = || tree.path(self.current.get());
        if !is_open || !around().any(|place| is_this(&place)) {
            let folded = open.recursive;
            return Some(Call {
                folded,
                ..self.call(open, ticks, 0)
            });
        }
        for place in around().take_while(|place| !is_this(place)) {
            place.family.open.store(0, Ordering::Relaxed);
        }
        Some(self.leave(open, ticks))
    }

    #[cold]
    #[inline(never)]
    fn note(&self, open: &Open, ticks: u64) {
        if let Some(buffer) = self.buffer.get() {
            let event = Event {
                node: open.end.node.id,
                start: open.start.0,
                ticks,
            };
            lock(&buffer.ring).push(event);
        }
    }
}
