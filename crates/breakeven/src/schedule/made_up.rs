//! Made-up batches and devices for the walks.

use std::sync::Arc;

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus as Random;

use super::{GpuSetup, Mode, Ns, Rate, Setup, Tuning};
use crate::plan::{Further, PLACES, Shape};

/// A time between 100 ns and 100 µs, any order of magnitude as likely.
pub(super) fn any_time(random: &mut Random) -> Ns {
    10_f64.powf(random.random_range(2.0..5.0))
}

fn any_shape(random: &mut Random) -> Option<Arc<Shape>> {
    random.random_bool(0.3).then(|| {
        Arc::new(Shape {
            places: std::array::from_fn::<f32, PLACES, _>(|_| random.random_range(0.0..3.0)),
            spread: random.random_range(0.0..1.0),
            tail: random.random_range(0.0..1.0),
        })
    })
}

fn any_gpu(random: &mut Random, tasks: usize) -> GpuSetup {
    let rate = match random.random_range(0..5) {
        0 => Rate::known(any_time(random), any_time(random)),
        1 => Rate::unknown(Some(any_time(random))),
        2 => Rate::unknown(Some(0.0)),
        3 => Rate::of_one_size(random.random_range(0.1..40.0), any_time(random)),
        _ => Rate::unknown(None),
    };
    GpuSetup {
        rate,
        is_stated: random.random(),
        probes: random.random_bool(0.3),
        only_probes: false,
        probe_tasks: random.random_range(1..=40),
        insists: random.random_bool(0.2),
        on_probation: random.random_bool(0.1),
        fits: if random.random_bool(0.3) {
            random.random_range(1..=tasks)
        } else {
            usize::MAX
        },
        depth: random.random_range(1..=3),
        further: random.random_bool(0.5).then(|| Further {
            launch_ns: any_time(random),
            is_told: random.random_bool(0.5),
            bottleneck: random.random_bool(0.5).then(|| random.random()),
        }),
    }
}

pub(super) fn any_setup(random: &mut Random) -> Setup {
    let most = [2, 40, 400][random.random_range(0..3)];
    let tasks = random.random_range(1..=most);
    let mode = match random.random_range(0..6) {
        0 => Mode::Gpu,
        1 => Mode::Split {
            gpu: random.random_range(0..=tasks),
        },
        _ => Mode::Both,
    };
    let gpus = (0..random.random_range(1..=4)).map(|_| {
        let gpu = any_gpu(random, tasks);
        GpuSetup {
            // Elsewhere nobody has what it leaves.
            only_probes: mode == Mode::Both && random.random_bool(0.1),
            ..gpu
        }
    });
    let gpus = gpus.collect();
    Setup {
        tasks,
        workers: random.random_range(1..=4),
        mode,
        corrects: random.random(),
        probes_cpu: random.random_bool(0.3),
        gpus_begin: match random.random_bool(0.1) {
            true => any_time(random),
            false => 0.0,
        },
        is_watched: random.random_bool(0.2),
        cpu: random.random_bool(0.5).then(|| any_time(random)),
        gpus,
        shape: any_shape(random),
        may_fall_back: usize::MAX,
        tuning: Tuning::USUAL,
    }
}
