//! The queue with loom's atomics and lock in place of std's: every interleaving
//! of a few threads that take and give back.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use spans::{Span, Spans};

mod sync {
    pub(super) use loom::sync::Mutex;
    pub(super) use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
}

#[allow(
    dead_code,
    unreachable_pub,
    clippy::duplicate_mod,
    reason = "the same file with other atomics; these tests need a part of it"
)]
#[path = "spans.rs"]
mod spans;

/// How often each task of a batch was done.
struct Done(Vec<AtomicUsize>);

impl Done {
    fn new(tasks: usize) -> Arc<Self> {
        Arc::new(Self((0..tasks).map(|_| AtomicUsize::new(0)).collect()))
    }

    fn add(&self, span: &Span) {
        for task in span.range() {
            self.0[task].fetch_add(1, Ordering::Relaxed);
        }
    }

    fn counts(&self) -> Vec<usize> {
        let counts = self.0.iter();
        counts.map(|count| count.load(Ordering::Relaxed)).collect()
    }
}

#[test]
fn takers_at_both_ends_get_every_task_once() {
    loom::model(|| {
        let (spans, done) = (Arc::new(Spans::new(4)), Done::new(4));
        let gpu = {
            let (spans, done) = (spans.clone(), done.clone());
            thread::spawn(move || {
                while let Some(span) = spans.take_front(|_| 2) {
                    done.add(&span);
                }
            })
        };
        let cpu = {
            let (spans, done) = (spans.clone(), done.clone());
            thread::spawn(move || {
                while let Some(span) = spans.take_back(|_| 1) {
                    done.add(&span);
                }
            })
        };
        gpu.join().expect("it ends");
        cpu.join().expect("it ends");
        assert_eq!(done.counts(), [1; 4]);
    });
}

#[test]
fn what_fails_is_done_once_by_the_other_side() {
    loom::model(|| {
        let (spans, done) = (Arc::new(Spans::new(3)), Done::new(3));
        let gpu = {
            let spans = spans.clone();
            thread::spawn(move || {
                let span = spans.take_front(|_| 2);
                if let Some(span) = span {
                    spans.give_back(span);
                }
            })
        };
        let cpu = {
            let (spans, done) = (spans.clone(), done.clone());
            thread::spawn(move || {
                for _ in 0..2 {
                    let span = spans
                        .take_returned(|_| 1)
                        .or_else(|| spans.take_back(|_| 1));
                    if let Some(span) = span {
                        done.add(&span);
                    }
                }
            })
        };
        gpu.join().expect("it ends");
        cpu.join().expect("it ends");
        // The engine's last step: whoever is left does what was given back.
        while let Some(span) = spans
            .take_returned(|all| all)
            .or_else(|| spans.take_back(|left| left.len()))
        {
            done.add(&span);
        }
        assert_eq!(done.counts(), [1; 3]);
    });
}

#[test]
fn a_span_that_was_given_back_is_taken_by_one_of_two() {
    loom::model(|| {
        let (spans, done) = (Arc::new(Spans::new(2)), Done::new(2));
        let span = spans.take_front(|left| left.len()).expect("tasks are left");
        spans.give_back(span);
        let takers: Vec<_> = (0..2)
            .map(|_| {
                let (spans, done) = (spans.clone(), done.clone());
                thread::spawn(move || {
                    while let Some(span) = spans.take_returned(|_| 1) {
                        done.add(&span);
                    }
                })
            })
            .collect();
        for taker in takers {
            taker.join().expect("it ends");
        }
        assert_eq!(done.counts(), [1; 2]);
    });
}
