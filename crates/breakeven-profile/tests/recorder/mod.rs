//! The recorder, as a program uses it. The profiler is the process's, so each
//! test has operations of its own, and those that switch it wait for the others.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use breakeven_profile::get_profiler;
use breakeven_profile::profile::{Operation, Profile};

mod attribute;
mod by_hand;
mod futures;
mod guards;
mod spans;
mod switch;
mod threads;

static PROFILER: RwLock<()> = RwLock::new(());

/// For a test that records beside others.
fn shared() -> RwLockReadGuard<'static, ()> {
    PROFILER.read().unwrap_or_else(PoisonError::into_inner)
}

/// For a test that switches the profiler or forgets what it holds.
fn alone() -> RwLockWriteGuard<'static, ()> {
    let alone = PROFILER.write().unwrap_or_else(PoisonError::into_inner);
    get_profiler(true).reset();
    alone
}

fn snapshot() -> Profile {
    get_profiler(true).snapshot()
}

/// The only operation of that name.
#[track_caller]
fn only<'a>(profile: &'a Profile, name: &str) -> &'a Operation {
    let mut found = profile.operations.iter().filter(|of| of.name == name);
    let only = found.next().expect("it was recorded");
    assert_eq!(found.next(), None, "{name} is there twice");
    only
}

/// Calls, total and self time of a call path, ns.
#[track_caller]
fn stack(profile: &Profile, frames: &[&str]) -> (u64, u64, u64) {
    let stack = profile.stacks.iter().find(|of| of.frames == frames);
    let stack = stack.unwrap_or_else(|| panic!("no {frames:?} in {:?}", profile.stacks));
    (stack.calls, stack.total_ns, stack.self_ns)
}

fn spin(micros: u64) {
    let start = std::time::Instant::now();
    while start.elapsed() < std::time::Duration::from_micros(micros) {
        std::hint::spin_loop();
    }
}
