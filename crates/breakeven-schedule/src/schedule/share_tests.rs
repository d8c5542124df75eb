//! How much a GPU takes at once if everything is known.

use std::sync::Arc;

use super::{GpuSetup, GpuTurn, LaunchTime, Rate, Schedule, Setup};
use crate::plan::{Further, Orders, PLACES, Shape, Tuning};

/// `tasks` tasks on eight workers and a GPU on which a task takes a fraction of a worker's time.
/// The last tasks are expected to be slightly cheaper.
fn schedule(tasks: usize, part: f64) -> Schedule {
    let gpu = GpuSetup {
        rate: Rate::known(50_000.0, part * 50_000.0),
        further: Some(Further {
            launch_ns: 50_000.0,
            is_measured: false,
            bottleneck: None,
        }),
        ..GpuSetup::UNKNOWN
    };
    let mut places = [1.0; PLACES];
    places[PLACES - 2..].fill(0.85);
    Schedule::new(Setup {
        tasks,
        workers: 8,
        orders: Orders::all(1),
        is_watched: false,
        deadline: None,
        is_call: false,
        call_ns: None,
        cpu: Some(50_000.0),
        gpus: vec![gpu],
        shape: Some(Arc::new(Shape {
            places,
            spread: 0.0,
            tail: 0.0,
        })),
        may_fall_back: usize::MAX,
        tuning: Tuning::USUAL,
    })
}

/// A driver that was answered that nothing is left returns, and never asks again.
#[test]
fn a_gpu_gets_the_tail_that_a_worker_gives_back_late() {
    let mut schedule = schedule(10_000, 0.5);
    // A worker takes what it was promised; the GPU runs the rest.
    let span = schedule.cpu_turn(0.0).expect("the workers share");
    let mut now = 0.0;
    while schedule.free.tasks() > 0 {
        let GpuTurn::Run(span) = schedule.gpu_turn(0, now) else {
            panic!("nobody else is there");
        };
        now += 50_000.0 + 25_000.0 * span.len() as f64;
        let (start, tasks) = (span.range().start, span.len());
        let _ = schedule.gpu_succeeded(0, start, tasks, LaunchTime::default(), now);
    }
    let turn = schedule.gpu_turn(0, now);
    assert_eq!(
        turn,
        GpuTurn::Wait(f64::INFINITY),
        "a worker may give tasks back"
    );
    let (done, tail) = span.split(1);
    schedule.cpu_did(done.range(), 1e6);
    schedule.give_back(tail.expect("it is longer"));
    assert!(matches!(schedule.gpu_turn(0, now + 1e6), GpuTurn::Run(_)));
}
