//! The open calls of a thread.

use std::cell::RefCell;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};

use breakeven_profile::recorder::Guard;
use pyo3::prelude::*;

use super::scope::Scope;
use crate::locked;

/// Blocks that ended on another thread than they began on.
pub(super) static ELSEWHERE: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static OPEN: RefCell<Open> = const { RefCell::new(Open(Vec::new())) };
}

/// Innermost last.
struct Open(Vec<Entry>);

struct Entry {
    scope: Py<Scope>,
    guard: Guard,
}

impl Drop for Open {
    /// Calls that are open when their thread ends never ended.
    fn drop(&mut self) {
        for entry in mem::take(&mut self.0) {
            mem::forget(entry.guard);
        }
    }
}

/// Most calls of a scope that are known to have ended elsewhere while their threads still list them;
/// calls of ended threads remain among them.
const MAX_MOVED: usize = 256;

/// A call of `scope` that began on that thread ended on this one.
pub(super) fn note_moved(scope: &Scope, began_on: usize) {
    let mut moved = locked(&scope.moved);
    moved.truncate(MAX_MOVED - 1);
    moved.insert(0, began_on);
    scope.has_moved.store(true, Ordering::Relaxed);
}

impl Entry {
    /// True, once per call, if a call of its scope that began on that thread ended on another.
    fn ended_elsewhere(&self, thread: usize) -> bool {
        let scope = self.scope.get();
        if !scope.has_moved.load(Ordering::Relaxed) {
            return false;
        }
        let mut moved = locked(&scope.moved);
        let at = moved.iter().position(|began_on| *began_on == thread);
        at.map(|at| moved.remove(at)).is_some()
    }
}

/// A number that is unique among living threads.
pub(super) fn thread() -> usize {
    OPEN.with(|open| std::ptr::from_ref(open).addr())
}

/// Begins a call of `scope` on this thread; `begin` creates it.
pub(super) fn push(scope: &Bound<'_, Scope>, begin: impl FnOnce() -> Guard) {
    let thread = thread();
    OPEN.with_borrow_mut(|Open(open)| {
        while let Some(ended) = open.pop_if(|entry| entry.ended_elsewhere(thread)) {
            ended.guard.discard();
        }
        scope.get().began_on.store(thread, Ordering::Relaxed);
        let scope = scope.clone().unbind();
        // The clock is read last.
        open.push(Entry {
            scope,
            guard: begin(),
        });
    });
}

/// Ends the latest call of `scope` on this thread. False if there is none.
pub(super) fn pop(scope: &Bound<'_, Scope>) -> bool {
    let of_this = |entry: &Entry| entry.scope.as_ptr() == scope.as_ptr();
    OPEN.with_borrow_mut(|Open(open)| {
        if open.last().is_some_and(of_this) {
            // Ends the call at its place in the stack.
            open.truncate(open.len() - 1);
            return true;
        }
        // Tasks of one thread interleave.
        let at = open.iter().rposition(of_this);
        at.map(|at| open.remove(at)).is_some()
    })
}

/// Sets a field of the latest call of `scope` on this thread. False if there is none.
pub(super) fn set_field(scope: &Bound<'_, Scope>, set: impl FnOnce(&Guard)) -> bool {
    OPEN.with_borrow(|Open(open)| {
        let mut open = open.iter().rev();
        let entry = open.find(|entry| entry.scope.as_ptr() == scope.as_ptr());
        entry.map(|entry| set(&entry.guard)).is_some()
    })
}
