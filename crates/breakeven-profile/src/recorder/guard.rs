//! The guard of a recorded call.

use std::marker::PhantomData;

use super::call::{self, Open};
use super::field::{Field, Figure, Value, count, setters};
use super::node::Node;
use super::site::Site;
use super::{local, switch};
use crate::profile::Executions;

/// Records the time until it is dropped, also after a panic.
///
/// It belongs to the thread that created it. Guards should be dropped in reverse order, as a block
/// does. One that is dropped after the guard around it still counts, but changes no call path; one
/// that is never dropped (`mem::forget`) is not recorded, and later calls of its thread count as
/// inside it, until a guard around it is dropped.
///
/// Set each figure (bytes, items, flops) once per call: the profile has the mean over all values.
#[must_use = "the call ends when the guard is dropped: `let _s = …;`"]
#[derive(Debug)]
pub struct Guard {
    open: Option<Open>,
    /// Not `Send`: it ends the call on its own thread.
    thread: PhantomData<*const ()>,
}

impl Guard {
    /// Begins a call; this is [`scope!`](crate::scope) without fields.
    #[inline(always)]
    pub fn enter(site: &'static Site) -> Self {
        match switch::state() {
            Some(state) => Self::enter_in(state, site),
            None => Self::off(),
        }
    }

    /// Not inlined, so that a guard adds little code around it. Returns the guard itself, so that
    /// it is constructed in its final place.
    #[inline(never)]
    fn enter_in(state: u32, site: &'static Site) -> Self {
        Self::of(call::open_in(state, site))
    }

    /// Begins a call of the operation that `site` names, on that device, of that size.
    #[inline]
    pub fn enter_on(site: &'static Site, device: Option<&str>, size: Option<u64>) -> Self {
        if (device, size) == (None, None) {
            return Self::enter(site);
        }
        Self::of(switch::state().and_then(|_| call::open(local::site_on(site, device, size)?)))
    }

    /// Begins a call of an operation whose name is only known at run time, on that device, of that
    /// size. Names are never freed: see [`Profiler::profile`](super::Profiler::profile).
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
    /// elsewhere, such as on a device, and is recorded at its end.
    pub fn began_ago(&mut self, time: std::time::Duration) {
        if let Some(open) = &mut self.open {
            open.start_ago(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        }
    }

    /// Ends the call without recording it, for a call whose end is unknown. Open calls inside it
    /// are dropped too.
    pub fn discard(mut self) {
        if let Some(open) = self.open.take() {
            call::abandon(&open);
        }
    }

    /// True if the call is recorded.
    pub fn is_recording(&self) -> bool {
        self.open.is_some()
    }

    setters!(self: &Self);

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
    fn set_field(&self, field: Field<'_>) {
        if let Some(node) = self.node() {
            node.set_field(field);
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
