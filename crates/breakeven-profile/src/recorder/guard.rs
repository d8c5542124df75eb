//! A call that is being recorded.

use std::marker::PhantomData;

use super::call::{self, Open};
use super::field::{Count, Value};
use super::local;
use super::node::{Figure, Node};
use super::site::Site;
use super::switch;
use crate::profile::Executions;

/// Records the time until it is dropped, also when a panic drops it.
///
/// It belongs to the thread that made it. Guards are meant to be dropped in the
/// reverse order of their making, which a block does by itself. One that is
/// dropped after the guard around it still counts, but changes no call path;
/// one that is never dropped (`mem::forget`) is not recorded, and what its thread
/// does later counts as inside it, until a guard around it is dropped.
///
/// Tell each figure (bytes, items, flops) once a call: the profile has the mean
/// over all that was told.
#[must_use = "the call ends when the guard is dropped: `let _s = …;`"]
#[derive(Debug)]
pub struct Guard {
    open: Option<Open>,
    /// Not `Send`: it ends the call on its own thread.
    thread: PhantomData<*const ()>,
}

impl Guard {
    /// Begins a call; what [`scope!`](crate::scope) without fields does.
    #[inline(always)]
    pub fn enter(site: &'static Site) -> Self {
        match switch::state() {
            Some(state) => Self::enter_in(state, site),
            None => Self::off(),
        }
    }

    /// Not inlined, so that a guard adds little to the code around it. Returns
    /// the guard itself, so that it is made where it stays.
    #[inline(never)]
    fn enter_in(state: u32, site: &'static Site) -> Self {
        Self::of(call::open_in(state, site))
    }

    /// Begins a call of the operation that `site` names, on that device, of that size.
    #[inline]
    pub fn enter_on(site: &'static Site, device: Option<&str>, size: Option<u64>) -> Self {
        Self::of(switch::state().and_then(|_| call::open(local::site_on(site, device, size)?)))
    }

    /// Begins a call of an operation whose name is known at run time only, on
    /// that device, of that size. Names are kept for good: see
    /// [`Profiler::profile`](super::Profiler::profile).
    #[inline]
    pub fn enter_named(name: &str, device: Option<&str>, size: Option<u64>) -> Self {
        Self::of(switch::state().and_then(|_| call::open(local::site_named(name, device, size)?)))
    }

    /// Records nothing.
    #[inline(always)]
    pub fn off() -> Self {
        Self::of(None)
    }

    #[inline(always)]
    fn of(open: Option<Open>) -> Self {
        Self {
            open,
            thread: PhantomData,
        }
    }

    /// Restarts the call's time, which then excludes the time of stating its fields.
    #[inline]
    pub fn start(&mut self) {
        if let Some(open) = &mut self.open {
            open.start_now();
        }
    }

    /// Moves the beginning of the call's time to that long ago: for a call that was timed
    /// elsewhere, such as on a device, and is recorded when it has ended.
    pub fn began_ago(&mut self, time: std::time::Duration) {
        if let Some(open) = &mut self.open {
            open.start_ago(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        }
    }

    /// Ends the call without recording it, for a call whose end is not known. Calls
    /// inside it that are still open are no matter.
    pub fn discard(mut self) {
        if let Some(open) = self.open.take() {
            call::abandon(&open);
        }
    }

    /// True where the call is being recorded.
    pub fn is_recording(&self) -> bool {
        self.open.is_some()
    }

    /// States how many bytes the call reads and writes.
    #[inline]
    pub fn bytes(&self, bytes: impl Count) {
        self.tell(Figure::Bytes, bytes);
    }

    /// States how many items (images, records) the call processes.
    #[inline]
    pub fn items(&self, items: impl Count) {
        self.tell(Figure::Items, items);
    }

    /// States how many floating-point operations the call does.
    #[inline]
    pub fn flops(&self, flops: impl Count) {
        self.tell(Figure::Flops, flops);
    }

    /// States how much memory the call holds at its peak, bytes.
    #[inline]
    pub fn memory_bytes(&self, bytes: impl Count) {
        if let Some(node) = self.node() {
            node.memory.note(bytes.count());
        }
    }

    /// States the fraction of the GPU's units that the call keeps busy. A value outside
    /// of 0 to 1 is clamped; NaN is ignored.
    pub fn gpu_use(&self, part: f64) {
        if let Some(node) = self.node().filter(|_| !part.is_nan()) {
            node.tell_gpu_use(part.clamp(0.0, 1.0));
        }
    }

    /// States anything else. Of each name, the profile has the last value.
    pub fn attribute<'a>(&self, name: &'static str, value: impl Into<Value<'a>>) {
        if let Some(node) = self.node() {
            node.tell_attribute(name, value.into());
        }
    }

    /// States what an executor decided and where the tasks ran, of a batch.
    pub fn executions(&self, executions: Executions) {
        if let Some(node) = self.node() {
            node.set_executions(executions);
        }
    }

    /// States that the call is a part of a batch's execution, whose operation counts its time
    /// too.
    pub fn within_execution(&self) {
        if let Some(node) = self.node() {
            node.set_within_execution();
        }
    }

    #[inline]
    fn node(&self) -> Option<&'static Node> {
        self.open.as_ref().and_then(call::node_of)
    }

    #[inline]
    fn tell(&self, figure: Figure, value: impl Count) {
        if let Some(node) = self.node() {
            node.tell(figure, value.count());
        }
    }
}

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        if let Some(open) = &self.open {
            call::close(open);
        }
    }
}
