//! The queue with one thread.

use super::spans::{MOST_TASKS, Spans};

#[test]
fn both_ends_meet_and_nothing_is_taken_twice() {
    let spans = Spans::new(10);
    let front = spans
        .take_front(|left| left.len() / 2)
        .expect("tasks are left");
    let back = spans.take_back(|_| 3).expect("tasks are left");
    assert_eq!((front.range(), back.range()), (0..5, 7..10));
    assert_eq!(spans.left(), 2);
    assert_eq!(spans.take_front(|_| 0), None);
    assert_eq!(spans.take_back(|_| 9).map(|span| span.range()), Some(5..7));
    assert_eq!(spans.take_back(|_| 9), None);
}

#[test]
fn what_is_given_back_is_taken_again_in_parts() {
    let spans = Spans::new(8);
    let span = spans.take_front(|_| 8).expect("tasks are left");
    spans.give_back(span);
    assert!(spans.has_returned());
    let part = spans.take_returned(|_| 3).expect("a span was given back");
    assert_eq!(part.range(), 0..3);
    let rest = spans.take_returned(|all| all).expect("its rest");
    assert_eq!(rest.range(), 3..8);
    assert!(!spans.has_returned());
}

#[test]
fn the_largest_batch_is_counted() {
    let spans = Spans::new(MOST_TASKS);
    let all = spans.take_back(|left| left.len()).expect("tasks are left");
    assert_eq!(all.len(), MOST_TASKS);
    let (first, rest) = all.split(1);
    assert_eq!(
        (first.range(), rest.map(|rest| rest.len())),
        (0..1, Some(MOST_TASKS - 1))
    );
}
