//! `--count WHAT N [TASKS]`: does one thing N times and nothing else, for a tool
//! that counts instructions. The difference of two N is what one takes, where they are a
//! hundred thousand apart: a process that records calibrates its clock first, which takes millions
//! of instructions, never as many.

use std::hint::black_box;
use std::sync::Arc;

use breakeven::execute::{RayonCpu, StrategyManager};
use breakeven::profile::get_profiler;
use rayon::prelude::*;

use crate::decide::Case;
use crate::spin::spin;

/// True where a count was asked for, and then it is done.
pub(crate) fn was_asked() -> bool {
    let arguments: Vec<String> = std::env::args().collect();
    let Some(place) = arguments.iter().position(|argument| argument == "--count") else {
        return false;
    };
    let what = arguments.get(place + 1).map_or("", String::as_str);
    let times = arguments.get(place + 2).and_then(|text| text.parse().ok());
    let times: usize = times.expect("--count WHAT N");
    let tasks = arguments.get(place + 3).map_or("1", String::as_str);
    let tasks: u64 = tasks.parse().expect("--count WHAT N TASKS");
    match what {
        "decide_rule" | "decide_model" => {
            let case = Case::new();
            for number in 0..times {
                match what {
                    "decide_rule" => _ = black_box(case.by_rule()),
                    _ => _ = black_box(case.by_model(number)),
                }
            }
        }
        "execute" | "execute_unrecorded" | "map" => maps(what, times, tasks),
        _ => panic!(
            "--count {what:?}: it is one of decide_rule, decide_model, execute, execute_unrecorded, map"
        ),
    }
    true
}

/// Batches of so many tasks, in a pool of one thread: nobody waits and nobody steals.
fn maps(what: &str, times: usize, tasks: u64) {
    let _ = get_profiler(what == "execute");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.expect("a pool of one").install(|| {
        let manager = StrategyManager::cpu_only(Arc::new(RayonCpu::current()));
        let tasks: Vec<u64> = (0..tasks).collect();
        for _ in 0..times {
            if what == "map" {
                let outputs: Vec<u64> = tasks.par_iter().map(|task| spin(1, *task)).collect();
                black_box(outputs);
            } else {
                let batch = manager.operation("count");
                let result = batch.execute(&tasks, |task| Ok::<_, ()>(spin(1, *task)));
                assert!(black_box(result).is_ok());
            }
        }
    });
}
