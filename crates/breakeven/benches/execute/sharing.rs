//! Whether small kernels are shared out over the pool as it pays: back to back, with
//! other work of the caller's between the calls, and beside a thread that needs a core.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use breakeven::kernels::{MatrixMultiply, VectorAdd};
use breakeven::{Operator, View};

use crate::metric::metric;
use crate::samples::interval_of_median;

/// Calls in a row, and how often they take turns.
const CALLS: usize = 40;

/// What goes on beside a kernel.
struct Scene {
    name: &'static str,
    /// The caller's own work between two calls.
    pause: Duration,
    /// Another thread never rests.
    has_other: bool,
}

const SCENES: [Scene; 4] = [
    Scene {
        name: "back_to_back",
        pause: Duration::ZERO,
        has_other: false,
    },
    Scene {
        name: "pauses_200us",
        pause: Duration::from_micros(200),
        has_other: false,
    },
    Scene {
        name: "pauses_1ms",
        pause: Duration::from_millis(1),
        has_other: false,
    },
    Scene {
        name: "beside_a_thread",
        pause: Duration::from_micros(200),
        has_other: true,
    },
];

/// A kernel as it is over the kernel on one thread, time of a call.
pub(crate) fn sharing(quick: bool) {
    let rounds = if quick { 9 } else { 25 };
    for scene in SCENES {
        let stop = AtomicBool::new(false);
        std::thread::scope(|threads| {
            if scene.has_other {
                threads.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        black_box((0..1_000).fold(1_u64, |x, y| black_box(x ^ y)));
                    }
                });
            }
            for elements in [10_000, 100_000, 1_000_000] {
                let name = format!("vector_add_{elements}");
                turns(&scene, &name, &VectorAdd, &[1, elements], rounds);
            }
            for order in [64, 128, 256] {
                let name = format!("matrix_multiply_{order}");
                let shape = [1, order, order];
                turns(&scene, &name, &MatrixMultiply, &shape, rounds);
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}

fn turns<O: Operator<In = f32, Out = f32>>(
    scene: &Scene,
    name: &str,
    kernel: &O,
    shape: &[usize],
    rounds: usize,
) {
    let values = vec![0.5_f32; shape.iter().product()];
    let mut out = values.clone();
    let views = [View {
        shape,
        values: &values,
    }; 2];
    let mut calls = || {
        let mut took = Duration::ZERO;
        for _ in 0..CALLS {
            let start = Instant::now();
            kernel.cpu(&views, &mut out).expect("their shapes");
            took += start.elapsed();
            let pause = Instant::now();
            while pause.elapsed() < scene.pause {
                std::hint::spin_loop();
            }
        }
        took.as_secs_f64()
    };
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let one = one.expect("a pool of one");
    // The first batches show which way is faster.
    calls();
    let ratios = (0..rounds).map(|round| {
        let first = if round % 2 == 0 { calls() } else { 0.0 };
        let alone = one.install(&mut calls);
        let chosen = if first > 0.0 { first } else { calls() };
        chosen / alone
    });
    let ratio = interval_of_median(&ratios.collect::<Vec<_>>()).estimate;
    metric(&format!("sharing/{}/{name}", scene.name), ratio, "");
}
