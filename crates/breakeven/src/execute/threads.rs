//! Long-lived threads that drive devices, and jobs on them that borrow from a batch.
//!
//! A thread per call would cost as much as a small batch. The threads of a device are created when
//! they are first needed and stay for a while. There is one unsafe step: a job borrows from the
//! caller, and the thread outlives it. It is sound because [`Jobs::drop`] waits until every job has
//! ended, so the borrow ends before the caller continues, also if it panics: the argument of
//! `std::thread::scope`.

use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::locked;

/// How long a thread waits for another job before it ends.
const IDLE: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

/// The threads that drive one device: one for each concurrent job. A job may wait for the batch of
/// another job (a batch inside a batch), so no job may wait for a thread.
#[derive(Debug, Default)]
pub(super) struct Drivers(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Threads that wait for a job.
    idle: usize,
    is_closed: bool,
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").finish_non_exhaustive()
    }
}

/// Jobs of one caller; dropping it waits for them.
pub(super) struct Jobs<'a> {
    open: Arc<Open>,
    /// Invariant over `'a`: what jobs borrow lives at least until this is dropped.
    borrowed: PhantomData<fn(&'a ()) -> &'a ()>,
}

#[derive(Debug, Default)]
struct Open {
    count: Mutex<usize>,
    ended: Condvar,
}

/// Calls its function at the end, also after a panic.
pub(super) struct Ends<F: Fn()>(pub(super) F);

impl<F: Fn()> Drop for Ends<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

impl<'a> Jobs<'a> {
    /// Calls `body` with a place for jobs, and returns when `body` and all of them have
    /// ended.
    pub(super) fn scope<R>(body: impl FnOnce(&Jobs<'a>) -> R) -> R {
        let jobs = Jobs {
            open: Arc::default(),
            borrowed: PhantomData,
        };
        body(&jobs)
    }

    /// Returns true while a job has not ended.
    pub(super) fn is_open(&self) -> bool {
        *locked(&self.open.count) > 0
    }

    /// Runs the job on a thread of the device. Returns false, and drops the job, if there is no
    /// thread and none can be created.
    #[must_use]
    pub(super) fn start(
        &self,
        drivers: &Drivers,
        name: &str,
        job: impl FnOnce() + Send + 'a,
    ) -> bool {
        *locked(&self.open.count) += 1;
        let open = Arc::clone(&self.open);
        let job: Box<dyn FnOnce() + Send + 'a> = Box::new(move || {
            let _ends = Ends(|| {
                *locked(&open.count) -= 1;
                open.ended.notify_all();
            });
            job();
        });
        // SAFETY: only the lifetime changes. The job runs once on a thread, or is dropped in
        // here; it counts itself as ended when it is done, and `Jobs::drop` returns only when
        // it has: `scope` does not let a `Jobs` be leaked, so `'a` is not over before that.
        let job: Job = unsafe { std::mem::transmute::<Box<dyn FnOnce() + Send + 'a>, Job>(job) };
        let starts = drivers.send(name, job);
        if !starts {
            *locked(&self.open.count) -= 1;
        }
        starts
    }
}

impl Drop for Jobs<'_> {
    fn drop(&mut self) {
        let Open { count, ended } = &*self.open;
        let mut count = locked(count);
        while *count > 0 {
            count = ended.wait(count).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drivers {
    /// Runs the job on an idle or new thread.
    fn send(&self, name: &str, job: Job) -> bool {
        let mut queue = locked(&self.0.queue);
        if queue.idle <= queue.jobs.len() {
            let shared = Arc::clone(&self.0);
            let thread = std::thread::Builder::new().name(format!("drive {name}"));
            if let Err(error) = thread.spawn(move || serve(&shared)) {
                log::warn!("no thread to drive {name}: {error}");
                return false;
            }
        }
        queue.jobs.push_back(job);
        self.0.changed.notify_one();
        true
    }
}

impl Drop for Drivers {
    fn drop(&mut self) {
        locked(&self.0.queue).is_closed = true;
        self.0.changed.notify_all();
    }
}

/// Runs jobs until there was none for a while, or the device's last manager was dropped.
fn serve(shared: &Shared) {
    loop {
        let mut queue = locked(&shared.queue);
        if queue.jobs.is_empty() && !queue.is_closed {
            queue.idle += 1;
            let has_none = |queue: &mut Queue| queue.jobs.is_empty() && !queue.is_closed;
            let waited = shared.changed.wait_timeout_while(queue, IDLE, has_none);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
            queue.idle -= 1;
        }
        let Some(job) = queue.jobs.pop_front() else {
            return;
        };
        drop(queue);
        // Its own guard counted the job's panic, and its batch reports it.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn jobs_may_borrow_and_have_ended_when_the_scope_has() {
        let drivers = Drivers::default();
        for _ in 0..100 {
            let done = AtomicUsize::new(0);
            Jobs::scope(|jobs| {
                for _ in 0..6 {
                    let job = || {
                        done.fetch_add(1, Ordering::Relaxed);
                    };
                    assert!(jobs.start(&drivers, "test", job));
                }
            });
            assert_eq!(done.load(Ordering::Relaxed), 6);
        }
    }

    #[test]
    fn a_panic_ends_a_job_and_no_thread() {
        let drivers = Drivers::default();
        let quiet = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        Jobs::scope(|jobs| {
            for _ in 0..3 {
                assert!(jobs.start(&drivers, "test", || panic!("on purpose")));
            }
        });
        std::panic::set_hook(quiet);
        let mut done = false;
        Jobs::scope(|jobs| assert!(jobs.start(&drivers, "test", || done = true)));
        assert!(done);
    }
}
