//! Batches as futures.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use breakeven::execute::StrategyManager;

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
    std::thread::sleep(MS * 20);
    drop(future);
    std::thread::sleep(MS * 50);
    let done = count.load(Ordering::Relaxed);
    std::thread::sleep(MS * 50);
    assert!(
        done > 0 && count.load(Ordering::Relaxed) == done,
        "{done} tasks"
    );
}
