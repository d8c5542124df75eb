//! Threads of the pool that help the caller with a call of microseconds.
//!
//! A scope of rayon's waits for every job that was started in it, also for one whose thread
//! is still asleep when all work is done: that takes up to half a millisecond. Here the caller
//! waits for those only who came in time.

use std::any::Any;
use std::hint;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::locked;

/// Longest time that a thread stays awake for other threads' last pieces: falling asleep and being
/// woken would take longer.
const LONGEST_WATCH: Duration = Duration::from_micros(100);

/// A call that is so short finds the pool's threads awake afterwards, whoever is done last.
const SHORT: Duration = Duration::from_micros(10);

/// Flag: no thread may begin any more; the bits below it count the threads at work.
const CLOSED: usize = 1 << (usize::BITS - 1);

/// Calls `work(number)` on several threads, with 0 on this one. A thread that is not awake before
/// this one's call returns is not waited for. So `work` must complete everything, whichever threads
/// call it.
///
/// A panic of any call is one of this.
pub(super) fn together(threads: usize, work: &(dyn Fn(usize) + Sync)) {
    let team = Arc::new(Team {
        // SAFETY: only the lifetime changes. The pointer is followed by those who began before
        // the team was closed, and `Closing` waits for all of them, also where this thread's
        // own call panics, before what is borrowed can end.
        work: unsafe { std::mem::transmute::<*const Work<'_>, *const Work<'static>>(work) },
        at_work: AtomicUsize::new(0),
        caller: thread::current(),
        is_of_pool: rayon::current_thread_index().is_some(),
        panic: Mutex::new(None),
    });
    for number in 1..threads {
        let team = Arc::clone(&team);
        rayon::spawn(move || team.help(number));
    }
    let closing = Closing(&team, Instant::now());
    work(0);
    drop(closing);
    let panic = locked(&team.panic).take();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

type Work<'w> = dyn Fn(usize) + Sync + 'w;

struct Team {
    work: *const Work<'static>,
    at_work: AtomicUsize,
    caller: Thread,
    /// Of the caller: then the pool has other work.
    is_of_pool: bool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: the pointer is to what may be shared, since it is `Sync`; all else may be sent.
unsafe impl Send for Team {}
// SAFETY: as above.
unsafe impl Sync for Team {}

impl Team {
    fn help(&self, number: usize) {
        let is_open = |at_work| at_work & CLOSED == 0;
        let one_more = |at_work| is_open(at_work).then_some(at_work + 1);
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        let begun = self.at_work.fetch_update(acquire, relaxed, one_more);
        if begun.is_err() {
            return;
        }
        let start = Instant::now();
        // SAFETY: the team was open when this thread began, and who closes it waits until all
        // that began have left.
        let work = unsafe { &*self.work };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(number))) {
            *locked(&self.panic) = Some(panic);
        }
        if self.at_work.fetch_sub(1, Ordering::Release) == CLOSED + 1 {
            self.caller.unpark();
        }
        let took = start.elapsed();
        if took > SHORT && !self.is_of_pool {
            let is_open = || is_open(self.at_work.load(Ordering::Relaxed));
            watch_for(took.min(LONGEST_WATCH), is_open);
        }
    }
}

/// Ends a team when it is dropped, and waits for those at work.
struct Closing<'t>(&'t Team, Instant);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        let Self(team, start) = *self;
        team.at_work.fetch_or(CLOSED, Ordering::AcqRel);
        let is_at_work = || team.at_work.load(Ordering::Acquire) != CLOSED;
        watch_for(start.elapsed().min(LONGEST_WATCH), is_at_work);
        while is_at_work() {
            thread::park();
        }
    }
}

/// Stays awake while that holds, so long at most.
fn watch_for(limit: Duration, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while holds() && start.elapsed() < limit {
        hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool() -> rayon::ThreadPool {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
        pool.expect("two threads")
    }

    /// Returns when that many calls have arrived here.
    fn meet(begun: &AtomicUsize, count: usize) {
        begun.fetch_add(1, Ordering::Relaxed);
        let start = Instant::now();
        while begun.load(Ordering::Relaxed) < count {
            assert!(start.elapsed() < Duration::from_secs(20), "nobody came");
            thread::yield_now();
        }
    }

    #[test]
    fn who_is_not_awake_in_time_is_not_waited_for() {
        let [calls, begun, ended] = [const { AtomicUsize::new(0) }; 3];
        let pool = pool();
        pool.in_place_scope(|scope| {
            scope.spawn(|_| {
                meet(&begun, 2);
                meet(&ended, 2);
            });
            pool.install(|| {
                meet(&begun, 2);
                together(2, &|_| {
                    calls.fetch_add(1, Ordering::Relaxed);
                });
            });
            meet(&ended, 2);
        });
        assert_eq!(calls.into_inner(), 1);
    }

    #[test]
    fn all_that_began_are_done_when_it_returns_and_panics_come_through() {
        let pool = pool();
        for panics in [2, 0, 1] {
            let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let work = |number| {
                meet(&begun, 2);
                if number == panics {
                    panic!("number {number}");
                }
                thread::sleep(Duration::from_millis(20));
                ended.fetch_add(1, Ordering::Relaxed);
            };
            let done = catch_unwind(AssertUnwindSafe(|| pool.install(|| together(2, &work))));
            assert_eq!(
                ended.load(Ordering::Relaxed),
                if panics < 2 { 1 } else { 2 }
            );
            let text = done.err().and_then(|panic| panic.downcast::<String>().ok());
            let expected = (panics < 2).then(|| format!("number {panics}"));
            assert_eq!(text.map(|text| *text), expected);
        }
    }
}
