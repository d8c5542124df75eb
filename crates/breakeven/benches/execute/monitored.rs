//! What publishing costs while somebody reads the figures: blocks of batches with and
//! without it, in turns. Every block has a reading, which is five times as many as the view
//! makes at its shortest interval.

use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use breakeven::execute::{RayonCpu, StrategyManager};
use breakeven::monitor::{Publisher, folders, publish, withdraw};

use crate::metric::metric;
use crate::samples::{interval_of_median, print_interval};
use crate::spin::{spin, steps_of};

const BLOCK: Duration = Duration::from_millis(20);

const TASK: Duration = Duration::from_micros(2);

pub(crate) fn monitored(quick: bool) {
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut read = 0_u64;
            while !ended.load(Ordering::Relaxed) {
                read += readings();
                thread::sleep(BLOCK);
            }
            read
        });
        let pairs = if quick { 150 } else { 1500 };
        for (name, wall_ms) in [("1ms", 1), ("10ms", 10)] {
            let wall = Duration::from_millis(wall_ms) * rayon::current_num_threads() as u32;
            let tasks = wall.as_nanos() / TASK.as_nanos();
            let ratios = in_turns(pairs, tasks as usize).map(|(with, without)| with / without);
            let ratios: Vec<f64> = ratios.collect();
            let overhead: Vec<f64> = ratios.iter().map(|ratio| 100.0 * (ratio - 1.0)).collect();
            let interval = interval_of_median(&overhead);
            print_interval(&format!("monitor_overhead/{name}"), &interval, "%");
        }
        let costs: Vec<f64> = in_turns(pairs, 1)
            .map(|(with, without)| with - without)
            .collect();
        print_interval(
            "monitor_cost/batch_of_one",
            &interval_of_median(&costs),
            "ns",
        );
        ended.store(true, Ordering::Relaxed);
        let read = reader.join().expect("it does not panic");
        metric("monitor_readings", read as f64, "");
        assert!(read > 0, "somebody reads");
    });
}

/// Reads the figures of all programs: how many answered.
fn readings() -> u64 {
    let publishers = folders()
        .into_iter()
        .flat_map(|folder| Publisher::in_folder(&folder));
    let answers = publishers.filter_map(|publisher| {
        let mut stream = publisher.connect().ok()?;
        stream.set_nonblocking(false).ok()?;
        stream.set_read_timeout(Some(BLOCK)).ok()?;
        stream.read_to_end(&mut Vec::new()).ok()
    });
    answers.filter(|bytes| *bytes > 0).count() as u64
}

/// Pairs of blocks: time of a batch, ns, with publishing and without.
fn in_turns(pairs: usize, tasks: usize) -> impl Iterator<Item = (f64, f64)> {
    let manager = StrategyManager::cpu_only(Arc::new(RayonCpu::current()));
    let tasks: Vec<u64> = (0..tasks as u64).collect();
    let steps = match tasks.len() {
        1 => 0,
        _ => steps_of(TASK),
    };
    let block = move || {
        let (start, mut batches) = (Instant::now(), 0);
        while start.elapsed() < BLOCK {
            let batch = manager.operation("monitored");
            let result = batch.execute(&tasks, |task| Ok::<_, ()>(spin(steps, *task)));
            assert!(result.is_ok(), "a sum does not fail");
            batches += 1;
        }
        start.elapsed().as_nanos() as f64 / f64::from(batches)
    };
    (0..pairs).map(move |pair| {
        let with = || {
            publish().expect("there is a folder for sockets");
            let took = block();
            withdraw();
            took
        };
        // What comes first may be warmer or colder.
        match pair % 2 {
            0 => {
                let with = with();
                (with, block())
            }
            _ => {
                let without = block();
                (with(), without)
            }
        }
    })
}
