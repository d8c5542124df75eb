//! `#[profile]` on async functions, on one and on several threads.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::thread;

use breakeven_profile::{profile, scope};

use super::{alone, only, shared, snapshot, spin, stack};

/// Not ready the first time it is polled.
fn pause() -> impl Future<Output = ()> {
    let mut paused = false;
    poll_fn(move |context| {
        if std::mem::replace(&mut paused, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

fn poll<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Polls all of them in turns until all are done.
fn run(mut futures: Vec<Pin<Box<dyn Future<Output = ()> + Send>>>) {
    while !futures.is_empty() {
        futures.retain_mut(|future| poll(future.as_mut()).is_pending());
    }
}

#[profile]
async fn in_turns(micros: u64) {
    for _ in 0..3 {
        {
            let _s = scope!("inside a future");
            spin(micros);
        }
        pause().await;
    }
}

#[test]
fn interleaved_futures_know_what_they_ran_and_what_they_waited() {
    let _shared = shared();
    run((0..4)
        .map(|_| Box::pin(in_turns(200)) as Pin<Box<_>>)
        .collect());
    let profile = snapshot();
    let run = &only(&profile, "in_turns").runs[0];
    assert_eq!(run.calls(), 4);
    let (polled, waiting) = (&run.phases_ns["polled"], &run.phases_ns["waiting"]);
    for ((all, polled), waiting) in run.samples_ns.iter().zip(polled).zip(waiting) {
        assert!((all - (polled + waiting)).abs() <= 2.0);
        assert!(*polled >= 600_000.0, "{polled}");
        // While three others ran, three times; the last may run alone.
        assert!(*waiting >= 600_000.0, "{waiting}");
    }
    let (calls, total, own) = stack(&profile, &["in_turns"]);
    assert_eq!(calls, 4);
    // What a thread spent is what was polled, and most of that was in the scope.
    assert!((total as f64 - polled.iter().sum::<f64>()).abs() < 100.0);
    assert!(own < total / 2, "{own} of {total}");
    assert_eq!(stack(&profile, &["in_turns", "inside a future"]).0, 12);
    assert_eq!(run.nested_calls, Some(12));
}

#[profile]
async fn over_threads() {
    for _ in 0..4 {
        let _s = scope!("inside, over threads");
        spin(10);
        drop(_s);
        pause().await;
    }
}

#[test]
fn a_future_may_move_between_threads() {
    let _shared = shared();
    let mut future: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(over_threads());
    loop {
        let polled = thread::spawn(move || {
            let done = poll(future.as_mut()).is_ready();
            (future, done)
        });
        let done;
        (future, done) = polled.join().unwrap();
        if done {
            break;
        }
    }
    let profile = snapshot();
    assert_eq!(only(&profile, "over_threads").runs[0].calls(), 1);
    assert_eq!(
        stack(&profile, &["over_threads", "inside, over threads"]).0,
        4
    );
}

#[profile(name = "cancelled early", bytes = length)]
async fn never_done(length: usize) {
    spin(100);
    loop {
        pause().await;
    }
}

#[test]
fn a_cancelled_future_is_recorded_as_such() {
    let _shared = shared();
    for _ in 0..3 {
        let mut future = Box::pin(never_done(64));
        assert!(poll(future.as_mut()).is_pending());
        assert!(poll(future.as_mut()).is_pending());
    }
    drop(never_done(1)); // Never polled: no call.
    let profile = snapshot();
    let operation = only(&profile, "cancelled early");
    assert_eq!(operation.runs[0].calls(), 3);
    assert_eq!(operation.attributes["cancelled"], 3);
    assert_eq!(operation.bytes, Some(64));
    assert!(operation.samples_ns().all(|ns| ns >= 100_000.0));
}

#[profile]
async fn panics_when_polled() {
    pause().await;
    panic!("on purpose");
}

#[test]
fn a_panic_in_a_future_leaves_the_path() {
    let _shared = shared();
    let caught = std::panic::catch_unwind(|| {
        let mut future = pin!(panics_when_polled());
        while poll(future.as_mut()).is_pending() {}
    });
    assert!(caught.is_err());
    drop(scope!("after a future's panic"));
    let profile = snapshot();
    assert_eq!(stack(&profile, &["after a future's panic"]).0, 1);
    assert_eq!(only(&profile, "panics_when_polled").runs[0].calls(), 1);
}

#[profile]
async fn over_a_reset() {
    pause().await;
    pause().await;
}

#[test]
fn a_future_that_began_before_a_reset_is_not_recorded() {
    let _alone = alone();
    let mut future = pin!(over_a_reset());
    assert!(poll(future.as_mut()).is_pending());
    breakeven_profile::get_profiler(true).reset();
    assert!(poll(future.as_mut()).is_pending());
    assert!(poll(future.as_mut()).is_ready());
    drop(scope!("after the future's reset"));
    let profile = snapshot();
    assert_eq!(profile.operations.len(), 1);
    assert_eq!(stack(&profile, &["after the future's reset"]).0, 1);
}

#[profile]
async fn recursive(depth: u32) -> u32 {
    if depth == 0 {
        return 0;
    }
    pause().await;
    1 + Box::pin(recursive(depth - 1)).await
}

#[test]
fn a_recursive_future_makes_one_path() {
    let _shared = shared();
    let mut future = pin!(recursive(10));
    let depth = loop {
        if let Poll::Ready(depth) = poll(future.as_mut()) {
            break depth;
        }
    };
    assert_eq!(depth, 10);
    let profile = snapshot();
    let (calls, total, own) = stack(&profile, &["recursive"]);
    assert_eq!(calls, 11);
    assert!(own <= total);
}
