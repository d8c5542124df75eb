//! What a thread knows of itself while it records: the hot path.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::buffer::{Buffer, pool};
use super::cache::{self, Cache};
use super::clock::Instant;
use super::node::{Call, Node, ROOT};
use super::reservoir::Random;
use super::site::{self, Site};
use super::timeline::{Event, Slot};
use super::tree::Edge;
use super::{clock, memory, switch};

/// Calls in threads that had given their buffer back already.
static LATE: AtomicU64 = AtomicU64::new(0);

/// Without a destructor, so that it is there from a thread's first instruction
/// to its last and costs no check.
pub(super) struct Local {
    /// What the switch said when the thread last looked; 0: it has not.
    state: Cell<u32>,
    buffer: Cell<Option<&'static Buffer>>,
    /// The innermost open call.
    current: Cell<&'static Node>,
    /// Its serial number; 0 outside all calls.
    top: Cell<u64>,
    /// Calls that were opened, which is the latest serial number.
    opened: Cell<u64>,
    /// Calls up to this one are no longer recorded.
    forgotten: Cell<u64>,
    /// Time of the recorded calls inside the innermost open call, ticks.
    children: Cell<u64>,
    timeline: Cell<&'static [Slot]>,
    /// Held while the slow path runs: an allocator that records must not come in again.
    busy: Cell<bool>,
    pub(super) random: Random,
    pub(super) cache: Cache,
}

thread_local! {
    static LOCAL: Local = const { Local {
        state: Cell::new(0),
        buffer: Cell::new(None),
        current: Cell::new(&ROOT),
        top: Cell::new(0),
        opened: Cell::new(0),
        forgotten: Cell::new(0),
        children: Cell::new(0),
        timeline: Cell::new(&[]),
        busy: Cell::new(false),
        random: Random::new(1),
        cache: Cache::new(),
    } };

    /// Gives the buffer back when the thread ends.
    static END: End = const { End };
}

struct End;

impl Drop for End {
    fn drop(&mut self) {
        LOCAL.with(Local::detach);
    }
}

/// A call that has begun, on the thread that it belongs to.
#[derive(Debug)]
pub(super) struct Open {
    edge: Edge,
    serial: u64,
    /// Serial number of the call around it.
    above: u64,
    /// Time of the recorded calls in the call around it, before this one.
    children: u64,
    memory: Option<memory::Mark>,
    start: Instant,
}

/// Begins a call, but for the clock.
#[inline]
pub(super) fn open(site: &'static Site) -> Option<Open> {
    let state = switch::state()?;
    LOCAL.with(|local| {
        if local.state.get() != state && !local.attach() {
            return None;
        }
        local.open(site)
    })
}

/// Begins a call of what `site` names, on that device and of that size.
#[inline]
pub(super) fn open_on(
    site: &'static Site,
    device: Option<&str>,
    size: Option<u64>,
) -> Option<Open> {
    switch::state()?;
    let place = ptr::from_ref(site).addr() as u64;
    LOCAL.with(|local| open(local.operation(place, site.name, device, size)?))
}

/// Begins a call of an operation whose name is known at run time only.
pub(super) fn open_named(name: &str) -> Option<Open> {
    switch::state()?;
    LOCAL.with(|local| open(local.operation(cache::hash_of(name), name, None, None)?))
}

/// Where to tell what the call is; `None` where it is no longer recorded.
#[inline]
pub(super) fn node_of(open: &Open) -> Option<&'static Node> {
    let recorded = LOCAL.with(|local| open.serial > local.forgotten.get());
    recorded.then_some(open.edge.node)
}

/// Ends a call.
#[inline]
pub(super) fn close(open: &Open) {
    LOCAL.with(|local| local.close(open));
}

/// Calls that were not recorded because their thread was ending.
pub(super) fn late() -> u64 {
    LATE.load(Ordering::Relaxed)
}

/// Runs `of` as if no call were open on this thread.
pub(super) fn outside<R>(of: impl FnOnce(&Local) -> R) -> R {
    LOCAL.with(|local| {
        let kept = (local.current.get(), local.top.get(), local.children.get());
        let opened = local.opened.get();
        let timeline = local.timeline.replace(&[]);
        local.current.set(&ROOT);
        let result = of(local);
        local.current.set(kept.0);
        local.top.set(kept.1);
        local.children.set(kept.2);
        local.opened.set(opened);
        local.timeline.set(timeline);
        result
    })
}

impl Open {
    /// Begins the call's time anew.
    #[inline]
    pub(super) fn start_now(&mut self) {
        self.start = clock().now();
    }
}

impl Local {
    /// Begins a call of `site` inside the innermost open one.
    #[inline]
    pub(super) fn open(&self, site: &'static Site) -> Option<Open> {
        let edge = self.edge(site)?;
        let serial = self.opened.get() + 1;
        self.opened.set(serial);
        self.current.set(edge.node);
        if edge.family.open.load(Ordering::Relaxed) == 0 {
            edge.family.open.store(serial, Ordering::Relaxed);
        }
        Some(Open {
            edge,
            serial,
            above: self.top.replace(serial),
            children: self.children.replace(0),
            memory: memory::mark(),
            start: clock().now(),
        })
    }

    #[inline]
    fn edge(&self, site: &'static Site) -> Option<Edge> {
        let parent = self.current.get();
        match self.cache.step(parent, site) {
            Some(edge) => Some(edge),
            None => self.step(parent, site),
        }
    }

    /// A step that the thread has not at hand.
    #[cold]
    fn step(&self, parent: &'static Node, site: &'static Site) -> Option<Edge> {
        if let Some(edge) = self.cache.older_step(parent, site) {
            return Some(edge);
        }
        let buffer = self.buffer.get()?;
        let edge = self.once(|| buffer.tree().step(parent, site))?;
        self.cache.add_step(edge);
        Some(edge)
    }

    /// The site of an operation that is known at run time only. `place` is a
    /// number that goes with the name.
    #[inline]
    fn operation(
        &self,
        place: u64,
        name: &str,
        device: Option<&str>,
        size: Option<u64>,
    ) -> Option<&'static Site> {
        let slot = self.cache.operation(place, device, size);
        match slot.get() {
            Some(site) if site.is(name, device, size) => Some(site),
            _ => {
                let site = self.once(|| site::intern(name, device, size))?;
                slot.set(Some(site));
                Some(site)
            }
        }
    }

    /// Runs a slow path, unless the thread is in one already.
    fn once<R>(&self, slow: impl FnOnce() -> R) -> Option<R> {
        if self.busy.replace(true) {
            return None;
        }
        let result = slow();
        self.busy.set(false);
        Some(result)
    }

    /// Looks at what the threads follow. True where the thread may record.
    #[cold]
    fn attach(&self) -> bool {
        self.once(|| self.follow()).unwrap_or(false)
    }

    fn follow(&self) -> bool {
        let thread = thread::current();
        // The clock's first reading may take its time; not while others wait.
        clock();
        let mut pool = pool();
        let Some(state) = pool.switch.publish() else {
            return false;
        };
        if END.try_with(|_| ()).is_err() {
            LATE.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        pool.began();
        let buffer = self.buffer.get().unwrap_or_else(|| {
            let buffer = pool.take(thread.name().unwrap_or("unnamed"));
            self.random
                .seed(ptr::from_ref(buffer).addr() as u64 ^ clock().now().ticks());
            self.buffer.set(Some(buffer));
            buffer
        });
        if buffer.generation.load(Ordering::Relaxed) != pool.generation {
            self.forget();
        }
        buffer.follow(pool.generation);
        self.timeline.set(buffer.ring.resize(pool.timeline));
        self.state.set(state);
        true
    }

    /// Leaves all open calls, without recording them.
    fn forget(&self) {
        self.forgotten.set(self.opened.get());
        self.current.set(&ROOT);
        self.top.set(0);
        self.children.set(0);
        self.cache.forget_steps();
    }

    /// Gives the buffer to the threads to come.
    fn detach(&self) {
        self.state.set(0);
        self.timeline.set(&[]);
        let Some(buffer) = self.buffer.take() else {
            return;
        };
        // A call that never ended is open no more.
        let places = buffer.places();
        places
            .iter()
            .for_each(|place| place.node.open.store(0, Ordering::Relaxed));
        self.forget();
        pool().give_back(buffer);
    }

    /// Ends a call.
    #[inline]
    pub(super) fn close(&self, open: &Open) {
        if let Some(call) = self.leave(open) {
            open.edge.node.record(call, &self.random);
        }
    }

    /// Leaves the call now. What it took, unless it is no longer to be recorded.
    #[inline]
    fn leave(&self, open: &Open) -> Option<Call> {
        let ticks = clock().now().ticks_since(open.start);
        let held = open.memory.map(memory::held_since);
        if self.top.get() != open.serial {
            return self.leave_misnested(open, ticks, held);
        }
        if let Some(held) = held {
            open.edge.node.tell_memory(held);
        }
        let timeline = self.timeline.get();
        if !timeline.is_empty() {
            self.note(open, ticks, timeline);
        }
        self.top.set(open.above);
        self.current.set(open.edge.parent);
        let children = self.children.replace(open.children.wrapping_add(ticks));
        Some(self.call(open, ticks, children))
    }

    #[inline]
    fn call(&self, open: &Open, ticks: u64, children: u64) -> Call {
        let outermost = &open.edge.family.open;
        let folded = outermost.load(Ordering::Relaxed) != open.serial;
        if !folded {
            outermost.store(0, Ordering::Relaxed);
        }
        Call {
            ticks,
            children,
            nested: self.opened.get().wrapping_sub(open.serial),
            folded,
        }
    }

    /// Leaves a call that is not the innermost one. Calls inside it that are
    /// still open, or whose guards never were dropped, end with it; when those
    /// are dropped after all, they change no path any more.
    #[cold]
    fn leave_misnested(&self, open: &Open, ticks: u64, held: Option<u64>) -> Option<Call> {
        let buffer = self.buffer.get()?;
        if open.serial <= self.forgotten.get() {
            return None;
        }
        if let Some(held) = held {
            open.edge.node.tell_memory(held);
        }
        let misnested = buffer.misnested.load(Ordering::Relaxed);
        buffer.misnested.store(misnested + 1, Ordering::Relaxed);
        let tree = buffer.tree();
        let since = open.edge.family.open.load(Ordering::Relaxed);
        let is_open = (1..=open.serial).contains(&since) && self.top.get() > open.serial;
        if !is_open || !tree.is_around(open.edge.node, self.current.get()) {
            return Some(self.call(open, ticks, 0));
        }
        let inside = tree.path(self.current.get());
        for place in inside.take_while(|place| !ptr::eq(place.node, open.edge.node)) {
            place.family.open.store(0, Ordering::Relaxed);
        }
        self.top.set(open.above);
        self.current.set(open.edge.parent);
        let children = self.children.replace(open.children.wrapping_add(ticks));
        Some(self.call(open, ticks, children.min(ticks)))
    }

    #[cold]
    fn note(&self, open: &Open, ticks: u64, timeline: &'static [Slot]) {
        if let Some(buffer) = self.buffer.get() {
            let event = Event {
                node: open.edge.node.id,
                start: open.start.ticks(),
                ticks,
            };
            buffer.ring.push(timeline, event);
        }
    }
}
