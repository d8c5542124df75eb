//! Slots, also under valgrind (`./check --long`): nothing is read before it is
//! written, freed twice or lost.

use std::sync::{Arc, Mutex};

use super::slots::Slots;
use crate::schedule::Span;

/// A value that owns memory, and is counted while it is alive.
type Counted = (Arc<()>, Box<usize>);

fn counted(alive: &Arc<()>, value: usize) -> Counted {
    (Arc::clone(alive), Box::new(value))
}

fn count(alive: &Arc<()>) -> usize {
    Arc::strong_count(alive) - 1
}

/// Neighbouring spans of these lengths, from the first task on.
fn spans(lengths: impl IntoIterator<Item = usize>) -> Vec<Span> {
    let lengths: Vec<usize> = lengths.into_iter().collect();
    let mut rest = Span::all(lengths.iter().sum());
    let mut cut = |length| {
        let (span, behind) = rest.take().expect("tasks are left").split(length);
        rest = behind;
        span
    };
    lengths.iter().map(|length| cut(*length)).collect()
}

#[test]
fn outputs_are_in_the_order_of_the_tasks() {
    let alive = Arc::new(());
    let slots = Slots::new(1000).expect("memory for it");
    let queue = Mutex::new(spans([7, 3].into_iter().cycle().take(200)));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (queue, slots, alive) = (&queue, &slots, &alive);
            scope.spawn(move || {
                let take = || queue.lock().expect("nobody panics").pop();
                while let Some(span) = take() {
                    let tasks = span.range();
                    let mut writer = slots.writer(span);
                    tasks.for_each(|task| writer.push(counted(alive, task)));
                    assert_eq!(writer.finish(), None);
                }
            });
        }
    });
    let outputs = slots.into_outputs().expect("every task has its output");
    let mut numbered = outputs.iter().enumerate();
    assert!(numbered.all(|(task, output)| *output.1 == task));
    assert_eq!(count(&alive), 1000);
    drop(outputs);
    assert_eq!(count(&alive), 0);
}

#[test]
fn what_was_not_written_of_a_span_is_given_back() {
    let alive = Arc::new(());
    let slots = Slots::new(5).expect("memory for it");
    let mut writer = slots.writer(spans([5]).remove(0));
    (0..2).for_each(|task| writer.push(counted(&alive, task)));
    let rest = writer.finish().expect("three tasks are left");
    assert_eq!(rest.range(), 2..5);
    let rest = slots.writer(rest).finish().expect("nothing was written");
    let mut writer = slots.writer(rest);
    (2..5).for_each(|task| writer.push(counted(&alive, task)));
    assert_eq!(writer.finish(), None);
    let outputs = slots.into_outputs().expect("every task has its output");
    assert_eq!(outputs.len(), 5);
}

#[test]
fn outputs_of_a_batch_that_failed_are_dropped() {
    let alive = Arc::new(());
    let slots = Slots::new(10).expect("memory for it");
    let [last, first] = [1, 0].map(|index| spans([7, 3]).remove(index));
    let mut writer = slots.writer(last);
    (0..3).for_each(|task| writer.push(counted(&alive, task)));
    writer.finish();
    let mut unfinished = slots.writer(first);
    unfinished.push(counted(&alive, 0));
    drop(unfinished);
    assert_eq!(count(&alive), 3);
    assert_eq!(slots.into_outputs().err(), Some(None));
    assert_eq!(count(&alive), 0);
}

#[test]
fn outputs_without_size_and_batches_without_tasks() {
    let slots = Slots::new(5).expect("memory for it");
    let mut writer = slots.writer(spans([5]).remove(0));
    (0..5).for_each(|_| writer.push(()));
    writer.finish();
    assert_eq!(slots.into_outputs(), Ok(vec![(); 5]));
    let none = Slots::<String>::new(0).map(Slots::into_outputs);
    assert_eq!(none, Some(Ok(Vec::new())));
}

#[test]
fn a_batch_past_memory_is_none() {
    assert!(Slots::<[u8; 1 << 30]>::new(usize::MAX >> 20).is_none());
}
