//! Whatever the rates say, somebody takes what is left.

use proptest::prelude::*;

use super::rates::{CpuRate, GpuRate};
use super::schedule::{GpuTurn, Mode, Schedule, Terms};

/// Both devices, with rates that were measured.
fn terms(tasks: usize, workers: usize, task_ns: f64, launch_ns: f64, each_ns: f64) -> Terms {
    Terms {
        tasks,
        workers,
        mode: Mode::Both,
        corrects: true,
        probes_cpu: false,
        probes_gpu: false,
        probe_tasks: 1,
        on_probation: false,
        is_watched: false,
        fits: usize::MAX,
        cpu: CpuRate::known(task_ns, true),
        gpu: GpuRate::known(launch_ns, each_ns, true),
    }
}

/// True where a worker or an idle GPU takes something, or a worker that the end
/// of the reserve woke.
fn somebody_takes(schedule: &Schedule) -> bool {
    let takes = || schedule.take_cpu(1.0).is_some();
    takes()
        || matches!(schedule.take_gpu(1.0, 0), GpuTurn::Run(_))
        || schedule.end_reserve() && takes()
}

#[test]
fn one_task_that_the_gpu_would_end_before_a_worker_is_the_gpus() {
    // One worker of two takes 1000 ns for the task, the GPU 710: the worker
    // leaves it, and half a task's time, 500 ns, is nobody's.
    assert!(somebody_takes(&Schedule::new(terms(
        1, 2, 1000.0, 700.0, 10.0
    ))));
}

proptest! {
    #[test]
    fn what_one_side_leaves_the_other_takes(
        tasks in 1_usize..200,
        workers in 1_usize..65,
        task in 0.0..7.0_f64,
        launch in 0.0..7.0_f64,
        each in 0.0..7.0_f64,
    ) {
        let [task, launch, each] = [task, launch, each].map(|power: f64| 10_f64.powf(power));
        let schedule = Schedule::new(terms(tasks, workers, task, launch, each));
        while schedule.spans().left() > 0 {
            prop_assert!(somebody_takes(&schedule));
        }
    }
}
