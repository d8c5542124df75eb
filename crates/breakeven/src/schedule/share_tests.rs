//! How much a GPU takes at once, where all is known.

use std::sync::Arc;

use super::{GpuSetup, GpuTurn, Mode, Rate, Schedule, Setup};
use crate::plan::{Further, PLACES, Shape, Tuning};

/// The first launch of so many tasks on a GPU of which a task takes so much of a worker's time.
/// The last tasks are taken to be a little cheaper than the others.
fn first_launch(tasks: usize, part: f64) -> usize {
    let gpu = GpuSetup {
        rate: Rate::known(50_000.0, part * 50_000.0),
        is_stated: false,
        probes: false,
        probe_tasks: 1,
        only_probes: false,
        insists: false,
        on_probation: false,
        fits: usize::MAX,
        depth: 1,
        further: Some(Further {
            launch_ns: 50_000.0,
            is_told: false,
            bottleneck: None,
        }),
    };
    let mut places = [1.0; PLACES];
    places[PLACES - 2..].fill(0.85);
    let mut schedule = Schedule::new(Setup {
        tasks,
        workers: 8,
        mode: Mode::Both,
        corrects: true,
        probes_cpu: false,
        gpus_begin: 0.0,
        is_watched: false,
        cpu: Some(50_000.0),
        gpus: vec![gpu],
        shape: Some(Arc::new(Shape {
            places,
            spread: 0.0,
            tail: 0.0,
        })),
        may_fall_back: usize::MAX,
        tuning: Tuning::USUAL,
    });
    match schedule.gpu_turn(0, 0.0) {
        GpuTurn::Run(span) => span.len(),
        turn => panic!("{turn:?}"),
    }
}

/// A task more than whole waves would take the workers as long as a wave.
#[test]
fn no_wave_of_the_workers_is_begun_for_a_few_tasks() {
    for tasks in 1_000..1_040 {
        assert_eq!((tasks - first_launch(tasks, 0.005)) % 8, 0, "{tasks}");
    }
    let slow =
        (1_000..1_040).filter(|tasks| !(tasks - first_launch(*tasks, 0.1)).is_multiple_of(8));
    assert!(slow.count() > 20, "a tenth of a task each is worth a wave");
}
