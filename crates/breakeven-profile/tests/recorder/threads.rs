//! Many threads, threads that end, and an export while they record.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use breakeven_profile::{get_profiler, scope};

use super::{only, shared, snapshot, spin, stack};

#[test]
fn threads_record_into_one_operation() {
    let _shared = shared();
    thread::scope(|scope| {
        for index in 0..8_u64 {
            scope.spawn(move || {
                for _ in 0..1_000 * (index + 1) {
                    let _s = scope!("of several threads", items = index);
                }
            });
        }
    });
    let profile = snapshot();
    let operation = only(&profile, "of several threads");
    assert_eq!(operation.runs.len(), 1);
    let run = &operation.runs[0];
    assert_eq!(run.calls(), 36_000);
    assert_eq!(run.samples_ns.len(), 1_024);
    // Mean of the index, by calls: 168 / 36.
    assert_eq!(operation.items, Some(5));
    assert_eq!(stack(&profile, &["of several threads"]).0, 36_000);
}

#[test]
fn what_a_thread_recorded_outlives_it() {
    let _shared = shared();
    for _ in 0..1_000 {
        thread::spawn(|| {
            let _outer = scope!("short thread");
            let _inner = scope!("in a short thread");
            // Never dropped: the next thread must not find it open.
            std::mem::forget(scope!("forgotten in a short thread"));
        })
        .join()
        .unwrap();
    }
    let profile = snapshot();
    assert_eq!(only(&profile, "short thread").runs[0].calls(), 1_000);
    assert_eq!(
        stack(&profile, &["short thread", "in a short thread"]).0,
        1_000
    );
    let (_, total, own) = stack(&profile, &["short thread"]);
    assert!(own <= total);
}

/// Records when the thread is ending, which may be after the recorder's own end.
struct AtTheEnd;

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        let _s = scope!("at the end of a thread");
    }
}

thread_local! {
    static BEFORE: AtTheEnd = const { AtTheEnd };
    static AFTER: AtTheEnd = const { AtTheEnd };
}

#[test]
fn a_call_at_the_end_of_its_thread_is_recorded_or_counted() {
    let _shared = shared();
    let late = get_profiler(true).losses().late;
    thread::spawn(|| {
        BEFORE.with(|_| ());
        drop(scope!("in the middle of a thread"));
        AFTER.with(|_| ());
    })
    .join()
    .unwrap();
    let profile = snapshot();
    let recorded = profile
        .operations
        .iter()
        .find(|of| of.name == "at the end of a thread");
    let recorded = recorded.map_or(0, |of| of.runs[0].calls());
    assert_eq!(recorded + get_profiler(true).losses().late - late, 2);
}

#[test]
fn an_export_sees_whole_calls_while_others_record() {
    let _shared = shared();
    let (begin, done) = (Barrier::new(3), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                begin.wait();
                while !done.load(Ordering::Relaxed) {
                    let _outer = scope!("exported outer");
                    let _inner = scope!("exported inner", bytes = 8);
                }
            });
        }
        begin.wait();
        let mut before = 0;
        for _ in 0..30 {
            spin(500);
            let profile = snapshot();
            let Some(inner) = profile
                .operations
                .iter()
                .find(|of| of.name == "exported inner")
            else {
                continue;
            };
            let run = &inner.runs[0];
            assert_eq!(inner.bytes, Some(8));
            assert!(run.calls() >= before);
            before = run.calls();
            if let Some(moments) = run.moments {
                let mean = moments.mean().unwrap();
                assert!(moments.min().unwrap() <= mean && mean <= moments.max().unwrap());
                assert!(moments.deviation().is_some());
            } else {
                assert_eq!(run.calls(), run.samples_ns.len() as u64);
            }
            for of in &profile.stacks {
                assert!(of.self_ns <= of.total_ns, "{of:?}");
            }
        }
        done.store(true, Ordering::Relaxed);
        assert!(before > 1_000);
    });
}
