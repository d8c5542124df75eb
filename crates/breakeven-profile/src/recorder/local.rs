//! A thread's state while it records.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::buffer::{Buffer, pool};
use super::cache::{self, Cache};
use super::node::{Node, ROOT};
use super::reservoir::Writer;
use super::site::{self, Site};
use super::tree::End;
use super::{clock, lock};

/// Calls in threads that had already returned their buffer.
static LATE: AtomicU64 = AtomicU64::new(0);

/// Without a destructor, so that it exists for the thread's complete life and needs no check.
pub(super) struct Local {
    pub(super) writer: Writer,
    pub(super) buffer: Cell<Option<&'static Buffer>>,
    /// The innermost open call.
    pub(super) current: Cell<&'static Node>,
    /// Its serial number; 0 outside all calls.
    pub(super) top: Cell<u64>,
    /// Number of calls opened so far, which is the latest serial number.
    pub(super) opened: Cell<u64>,
    /// Calls up to this one are no longer recorded.
    pub(super) forgotten: Cell<u64>,
    /// Time of the recorded calls inside the innermost open call, ticks.
    pub(super) children: Cell<u64>,
    /// Each call is an event of the buffer's ring.
    pub(super) has_timeline: Cell<bool>,
    pub(super) cache: Cache,
}

thread_local! {
    pub(super) static LOCAL: Local = const { Local {
        writer: Writer::new(),
        buffer: Cell::new(None),
        current: Cell::new(&ROOT),
        top: Cell::new(0),
        opened: Cell::new(0),
        forgotten: Cell::new(0),
        children: Cell::new(0),
        has_timeline: Cell::new(false),
        cache: Cache::new(),
    } };

    /// Returns the buffer when the thread ends.
    static ENDING: Ending = const { Ending };
}

struct Ending;

impl Drop for Ending {
    fn drop(&mut self) {
        LOCAL.with(|local| {
            local.writer.state.set(0);
            quiet(|| local.detach());
        });
    }
}

/// The site for the name of `site`, on that device and of that size.
#[inline]
pub(super) fn site_on(
    site: &'static Site,
    device: Option<&str>,
    size: Option<u64>,
) -> Option<&'static Site> {
    let place = ptr::from_ref(site).addr() as u64;
    LOCAL.with(|local| local.operation(place, site.name, device, size))
}

/// The site of an operation whose name is only known at run time.
pub(super) fn site_named(
    name: &str,
    device: Option<&str>,
    size: Option<u64>,
) -> Option<&'static Site> {
    LOCAL.with(|local| local.operation(cache::hash_of(name), name, device, size))
}

/// The recording that this thread records into; 0 for none.
pub(super) fn generation() -> u32 {
    LOCAL.with(|local| {
        let buffer = local.buffer.get();
        buffer.map_or(0, |buffer| buffer.generation.load(Ordering::Relaxed))
    })
}

/// Calls that were not recorded because their thread was ending.
pub(super) fn late() -> u64 {
    LATE.load(Ordering::Relaxed)
}

/// Runs `with` while this thread begins no call; see [`Writer::quiet`].
pub(super) fn quiet<R>(with: impl FnOnce() -> R) -> R {
    LOCAL.with(|local| local.writer.quiet(with))
}

/// Runs `of` as if no call were open on this thread.
pub(super) fn outside<R>(of: impl FnOnce(&Local) -> R) -> R {
    LOCAL.with(|local| {
        let kept = (local.current.get(), local.top.get(), local.children.get());
        let opened = local.opened.get();
        let has_timeline = local.has_timeline.replace(false);
        local.current.set(&ROOT);
        let result = of(local);
        local.current.set(kept.0);
        local.top.set(kept.1);
        local.children.set(kept.2);
        local.opened.set(opened);
        local.has_timeline.set(has_timeline);
        result
    })
}

impl Site {
    /// The operation with that name, device and size, as in
    /// [`Guard::enter_named`](super::Guard::enter_named): for callers that keep it.
    pub fn named(name: &str, device: Option<&str>, size: Option<u64>) -> &'static Self {
        site_named(name, device, size).unwrap_or(&site::OVERFLOW)
    }
}

impl Local {
    /// A step that is not in the thread's cache.
    #[cold]
    #[inline(never)]
    pub(super) fn step(&self, parent: &'static Node, site: &'static Site) -> Option<End> {
        let buffer = self.buffer.get()?;
        let edge = self.once(|| buffer.tree().step(parent, site))?;
        self.cache.add_step(edge);
        Some(edge.end)
    }

    /// The site of a run-time operation. `place` is a number that goes with its name.
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

    /// Runs a slow path, unless the thread is already in one.
    fn once<R>(&self, slow: impl FnOnce() -> R) -> Option<R> {
        if self.writer.busy.replace(true) {
            return None;
        }
        let result = slow();
        self.writer.busy.set(false);
        Some(result)
    }

    /// True if the thread may record when the switch has the value `state`.
    #[inline(always)]
    pub(super) fn may_record(&self, state: u32) -> bool {
        self.writer.state.get() == state || self.attach()
    }

    /// Updates the thread to the pool's settings. True if the thread may record.
    #[cold]
    fn attach(&self) -> bool {
        self.once(|| self.follow()).unwrap_or(false)
    }

    fn follow(&self) -> bool {
        let thread = thread::current();
        // The clock's first reading may be slow, so it must not happen under a lock.
        clock();
        let mut pool = pool();
        let Some(state) = pool.switch.publish() else {
            return false;
        };
        if ENDING.try_with(|_| ()).is_err() {
            LATE.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        pool.began();
        let buffer = self.buffer.get().unwrap_or_else(|| {
            let buffer = pool.take(thread.name().unwrap_or("unnamed"));
            let random = &self.writer.random;
            random.seed(ptr::from_ref(buffer).addr() as u64 ^ clock().now().0);
            self.buffer.set(Some(buffer));
            buffer
        });
        if buffer.generation.load(Ordering::Relaxed) != pool.generation {
            self.forget();
        }
        buffer.follow(pool.generation);
        lock(&buffer.ring).resize(pool.timeline);
        self.has_timeline.set(pool.timeline > 0);
        self.writer.state.set(state);
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

    /// Returns the buffer for later threads.
    fn detach(&self) {
        self.writer.state.set(0);
        self.has_timeline.set(false);
        let Some(buffer) = self.buffer.take() else {
            return;
        };
        // A call that never ended is closed.
        for place in buffer.places() {
            place.node.open.store(0, Ordering::Relaxed);
        }
        self.forget();
        pool().free.push(buffer);
    }
}
