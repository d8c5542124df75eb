//! Long-lived threads that drive devices, and jobs on them that borrow from a batch.
//!
//! A thread per call would cost as much as a small batch. The threads of a device are
//! made when they are first needed and stay until the manager goes. Only one unsafe
//! step is in here: a job borrows from the caller, and the thread outlives it. It is
//! sound because [`Jobs::drop`] waits until every job has ended, so the borrow is over
//! before the caller can go on, also where it panics: the same argument as that of
//! `std::thread::scope`.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::locked;

/// Threads of one device at the most: so many batches are on it at once, and the others
/// wait for their turn. One that is executed by device code on such a thread needs
/// another.
const MOST: usize = 4;

type Job = Box<dyn FnOnce() + Send>;
type Queue = Arc<Mutex<Receiver<Job>>>;

/// The threads that drive one device.
#[derive(Debug, Default)]
pub(super) struct Drivers(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    jobs: Option<(Sender<Job>, Queue)>,
    threads: usize,
    /// Jobs that were sent and have not ended.
    busy: Arc<AtomicUsize>,
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

/// Calls its function at the end, also where there is a panic on the way.
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

    /// True while a job has not ended.
    pub(super) fn is_open(&self) -> bool {
        *locked(&self.open.count) > 0
    }

    /// Has a thread of the device do the job. None where there is no thread and none can
    /// be made.
    pub(super) fn start(
        &self,
        drivers: &Drivers,
        name: &str,
        job: impl FnOnce() + Send + 'a,
    ) -> Option<()> {
        let sender = drivers.sender(name)?;
        *locked(&self.open.count) += 1;
        let open = Arc::clone(&self.open);
        let job: Box<dyn FnOnce() + Send + 'a> = Box::new(move || {
            let _ends = Ends(|| {
                *locked(&open.count) -= 1;
                open.ended.notify_all();
            });
            job();
        });
        // SAFETY: only the lifetime changes. The job runs at most once, counts itself as
        // ended when it is done or dropped, and `Jobs::drop` returns only when it has:
        // `scope` does not let a `Jobs` be leaked, so `'a` is not over before that.
        let job: Job = unsafe { std::mem::transmute::<Box<dyn FnOnce() + Send + 'a>, Job>(job) };
        if sender.send(job).is_err() {
            unreachable!("the receiver lives as long as the sender");
        }
        Some(())
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
    /// Where jobs go, with another thread where all are busy.
    fn sender(&self, name: &str) -> Option<Sender<Job>> {
        let inner = &mut *locked(&self.0);
        let (sender, receiver) = inner.jobs.get_or_insert_with(|| {
            let (sender, receiver) = channel();
            (sender, Arc::new(Mutex::new(receiver)))
        });
        let waiting = inner.busy.fetch_add(1, Ordering::Relaxed) + 1;
        if waiting > inner.threads && inner.threads < MOST {
            let (receiver, busy) = (Arc::clone(receiver), Arc::clone(&inner.busy));
            let thread = std::thread::Builder::new().name(format!("drive {name}"));
            match thread.spawn(move || serve(&receiver, &busy)) {
                Ok(_) => inner.threads += 1,
                Err(error) => {
                    log::warn!("no thread to drive {name}: {error}");
                    if inner.threads == 0 {
                        inner.busy.fetch_sub(1, Ordering::Relaxed);
                        return None;
                    }
                }
            }
        }
        Some(sender.clone())
    }
}

/// A thread's life: jobs until the device's sender is dropped.
fn serve(receiver: &Mutex<Receiver<Job>>, busy: &AtomicUsize) {
    loop {
        let job = locked(receiver).recv();
        let Ok(job) = job else { return };
        // A job's panic was counted by its own guard, and is told by its batch.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
        busy.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
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
                    jobs.start(&drivers, "test", job).expect("a thread");
                }
            });
            assert_eq!(done.load(Ordering::Relaxed), 6);
        }
        assert!(locked(&drivers.0).threads <= MOST);
    }

    #[test]
    fn a_panic_ends_a_job_and_no_thread() {
        let drivers = Drivers::default();
        let quiet = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        Jobs::scope(|jobs| {
            for _ in 0..3 {
                jobs.start(&drivers, "test", || panic!("on purpose"))
                    .expect("a thread");
            }
        });
        std::panic::set_hook(quiet);
        let mut done = false;
        Jobs::scope(|jobs| {
            jobs.start(&drivers, "test", || done = true)
                .expect("a thread")
        });
        assert!(done);
    }
}
