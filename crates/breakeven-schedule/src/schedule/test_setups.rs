//! Made-up batches and devices for the walks.

use std::sync::Arc;

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus as Random;

use super::{GpuSetup, Ns, Rate, Setup};
use crate::plan::{Further, Order, Orders, PLACES, Shape, Tuning};

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

/// Only the launch cost is known.
fn launch(ns: Ns) -> Rate {
    Rate {
        fixed: Some(ns),
        ..Rate::UNKNOWN
    }
}

fn any_gpu(random: &mut Random, tasks: usize) -> GpuSetup {
    let rate = match random.random_range(0..5) {
        0 => Rate::known(any_time(random), any_time(random)),
        1 => launch(any_time(random)),
        2 => launch(0.0),
        3 => Rate::of_one_size(random.random_range(0.1..40.0), any_time(random)),
        _ => Rate::UNKNOWN,
    };
    GpuSetup {
        rate,
        is_stated: random.random(),
        first_tasks: random.random_range(1..=40),
        on_probation: random.random_bool(0.1),
        fits: if random.random_bool(0.3) {
            random.random_range(1..=tasks)
        } else {
            usize::MAX
        },
        depth: random.random_range(1..=3),
        further: random.random_bool(0.5).then(|| Further {
            launch_ns: any_time(random),
            is_measured: random.random_bool(0.5),
            bottleneck: random.random_bool(0.5).then(|| random.random()),
        }),
    }
}

pub(super) fn any_setup(random: &mut Random) -> Setup {
    let most = [2, 40, 400][random.random_range(0..3)];
    let tasks = random.random_range(1..=most);
    let gpus: Vec<_> = (0..random.random_range(1..=4))
        .map(|_| any_gpu(random, tasks))
        .collect();
    let cpu = match random.random_range(0..12) {
        0 => Order::Nothing,
        1 => Order::Try(1),
        2 | 3 => Order::Share(random.random_range(0..tasks)),
        _ => Order::AsMuchAsPays,
    };
    let orders = (0..gpus.len()).map(|gpu| {
        // Else no other device would run what it leaves.
        let may_leave = cpu == Order::AsMuchAsPays || gpu > 0;
        match random.random_range(0..10) {
            0 if may_leave => Order::Nothing,
            1 | 2 if may_leave => Order::Try(random.random_range(1..=tasks)),
            _ => Order::AsMuchAsPays,
        }
    });
    let orders = Orders {
        cpu,
        gpus: orders.collect(),
        by_prediction: random.random(),
        gpus_wait_ns: match random.random_bool(0.1) {
            true => any_time(random),
            false => 0.0,
        },
    };
    Setup {
        tasks,
        workers: random.random_range(1..=4),
        orders,
        is_watched: random.random_bool(0.2),
        deadline: random.random_bool(0.1).then_some(1e7),
        is_call: random.random_bool(0.2),
        call_ns: random.random_bool(0.5).then_some(1e5),
        cpu: random.random_bool(0.5).then(|| any_time(random)),
        gpus,
        shape: any_shape(random),
        may_fall_back: usize::MAX,
        tuning: Tuning::USUAL,
    }
}
