//! Batches as futures.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use breakeven::execute::{RayonCpu, StrategyManager};

use crate::execute_broken::{MS, cpu, gpu, half_a_millisecond, manager};
use crate::wait::block_on;

#[test]
fn batches_are_futures_of_any_runtime_and_many_at_once() {
    let manager = manager(gpu("broken: futures", MS / 10));
    let futures: Vec<_> = (0..200_u64)
        .map(|batch| {
            let tasks: Vec<u64> = (batch..batch + 50).collect();
            manager
                .operation("future")
                .execute_async(tasks, |task: &u64| Ok::<u64, std::fmt::Error>(task * 2))
        })
        .collect();
    for (batch, future) in (0_u64..).zip(futures) {
        let result = block_on(future, Duration::from_secs(30)).expect("it ends");
        assert_eq!(result.expect("nothing fails").outputs[0], 2 * batch);
    }
}

#[test]
fn dropping_a_future_cancels_its_batch() {
    let manager = StrategyManager::cpu_only(cpu());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let future = manager
        .operation("dropped")
        .execute_async(vec![0_u64; 10_000], move |task| {
            counted.fetch_add(1, Ordering::Relaxed);
            half_a_millisecond();
            Ok::<u64, std::fmt::Error>(*task)
        });
    let began = Instant::now();
    while count.load(Ordering::Relaxed) == 0 && began.elapsed() < MS * 10_000 {
        std::thread::sleep(MS);
    }
    drop(future);
    // On a busy machine the thread that looks gets a core late.
    std::thread::sleep(MS * 300);
    let done = count.load(Ordering::Relaxed);
    std::thread::sleep(MS * 50);
    assert!((1..10_000).contains(&done), "{done} tasks");
    assert_eq!(count.load(Ordering::Relaxed), done);
}

/// An error whose drop panics.
#[derive(Debug)]
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

#[test]
fn what_nobody_waits_for_may_panic_when_it_is_dropped() {
    // One thread, so that nobody else notices the cancellation before the task has failed.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = Arc::new(pool.expect("a thread can be started"));
    let manager = StrategyManager::cpu_only(Arc::new(RayonCpu::with_pool(Arc::clone(&pool))));
    let ((begin, begun), (drop_it, dropped)) = (channel(), channel());
    let (begin, dropped) = (Mutex::new(begin), Mutex::new(dropped));
    let future = manager
        .operation("dropped")
        .execute_async(vec![1_u64], move |_| {
            begin.lock().unwrap().send(()).unwrap();
            dropped.lock().unwrap().recv().unwrap();
            Err::<u64, Bomb>(Bomb)
        });
    begun.recv().expect("it begins");
    drop(future);
    drop_it.send(()).expect("it waits");
    // The pool's thread ends the batch, and then does this: a panic there ends the process.
    assert_eq!(pool.install(|| 7), 7);
}
