//! Slots, also under valgrind (`./check --long`): nothing is read before it is
//! written, freed twice or lost.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::slots::Slots;
use crate::schedule::Span;

/// Counts the values alive.
struct Counted<'c>(&'c AtomicUsize, Box<usize>);

impl<'c> Counted<'c> {
    fn new(alive: &'c AtomicUsize, value: usize) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self(alive, Box::new(value))
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn outputs_are_in_the_order_of_the_tasks() {
    let alive = AtomicUsize::new(0);
    let (spans, slots) = (Spans::new(1000), Slots::new(1000).expect("memory for it"));
    std::thread::scope(|scope| {
        for side in 0..4 {
            let (spans, slots, alive) = (&spans, &slots, &alive);
            scope.spawn(move || {
                let take = || match side % 2 {
                    0 => spans.take_front(|_| 7),
                    _ => spans.take_back(|_| 3),
                };
                while let Some(span) = take() {
                    let tasks = span.range();
                    let mut writer = slots.writer(span);
                    tasks.for_each(|task| writer.push(Counted::new(alive, task)));
                    writer.finish();
                }
            });
        }
    });
    let outputs = slots.into_outputs().expect("every task has its output");
    assert!(
        outputs
            .iter()
            .enumerate()
            .all(|(task, output)| *output.1 == task)
    );
    assert_eq!(alive.load(Ordering::Relaxed), 1000);
    drop(outputs);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn outputs_of_a_batch_that_failed_are_dropped() {
    let alive = AtomicUsize::new(0);
    let (spans, slots) = (Spans::new(10), Slots::new(10).expect("memory for it"));
    let mut writer = slots.writer(spans.take_back(|_| 3).expect("tasks are left"));
    (0..3).for_each(|task| writer.push(Counted::new(&alive, task)));
    writer.finish();
    let mut unfinished = slots.writer(spans.take_front(|_| 3).expect("tasks are left"));
    unfinished.push(Counted::new(&alive, 0));
    let panicked = catch_unwind(AssertUnwindSafe(|| unfinished.finish()));
    assert!(panicked.is_err(), "two outputs were missing");
    assert_eq!(alive.load(Ordering::Relaxed), 3);
    assert!(slots.into_outputs().is_none());
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn outputs_without_size_and_batches_without_tasks() {
    let (spans, slots) = (Spans::new(5), Slots::new(5).expect("memory for it"));
    let mut writer = slots.writer(spans.take_back(|_| 5).expect("tasks are left"));
    (0..5).for_each(|_| writer.push(()));
    writer.finish();
    assert_eq!(slots.into_outputs(), Some(vec![(); 5]));
    assert_eq!(
        Slots::<String>::new(0).and_then(Slots::into_outputs),
        Some(Vec::new())
    );
}

#[test]
fn a_batch_past_memory_is_none() {
    assert!(Slots::<[u8; 1 << 30]>::new(usize::MAX >> 20).is_none());
}
