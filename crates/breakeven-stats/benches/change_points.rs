//! Changes of level found in series made up for it: how many of the steps that are there,
//! how many that are not, for several kinds of noise.
//!
//! ```sh
//! cargo bench -p breakeven-stats --bench change_points            # one minute
//! cargo bench -p breakeven-stats --bench change_points -- --quick
//! ```

#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

use breakeven_stats::change_points;
use rand::{RngExt as _, SeedableRng};
use rand_distr::{Distribution, StandardNormal, StudentT};
use rand_xoshiro::Xoshiro256PlusPlus;

#[path = "../../../bench/metric.rs"]
#[allow(dead_code, reason = "shared by all benches")]
mod metric;

use metric::{is_quick, metric};

/// A kind of noise of deviation one.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    alike: f64,
    /// Probability that a run lies 4 to 14 deviations above.
    outliers: f64,
    heavy: bool,
}

const KINDS: [Kind; 7] = [
    Kind {
        name: "white",
        alike: 0.0,
        outliers: 0.0,
        heavy: false,
    },
    Kind {
        name: "alike_0.3",
        alike: 0.3,
        outliers: 0.0,
        heavy: false,
    },
    Kind {
        name: "alike_0.5",
        alike: 0.5,
        outliers: 0.0,
        heavy: false,
    },
    Kind {
        name: "outliers_5",
        alike: 0.0,
        outliers: 0.05,
        heavy: false,
    },
    Kind {
        name: "alike_0.3_outliers_5",
        alike: 0.3,
        outliers: 0.05,
        heavy: false,
    },
    Kind {
        name: "heavy",
        alike: 0.0,
        outliers: 0.0,
        heavy: true,
    },
    Kind {
        name: "alike_0.7",
        alike: 0.7,
        outliers: 0.0,
        heavy: false,
    },
];

impl Kind {
    fn series(&self, length: usize, random: &mut Xoshiro256PlusPlus) -> Vec<f64> {
        let mut last: f64 = StandardNormal.sample(random);
        let innovation = (1.0 - self.alike * self.alike).sqrt();
        (0..length)
            .map(|_| {
                let new: f64 = match self.heavy {
                    // Four degrees of freedom: a variance of two.
                    true => {
                        let t: f64 = StudentT::new(4.0).expect("degrees").sample(random);
                        t / 2.0f64.sqrt()
                    }
                    false => StandardNormal.sample(random),
                };
                last = self.alike * last + innovation * new;
                match random.random::<f64>() < self.outliers {
                    true => last + 4.0 + 10.0 * random.random::<f64>(),
                    false => last,
                }
            })
            .collect()
    }
}

fn found(series: &[f64]) -> Vec<usize> {
    let points = change_points(series, 0.95).expect("finite values").changes;
    points.iter().map(|point| point.index).collect()
}

fn main() {
    let rounds = if is_quick() { 800 } else { 4_000 };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
    for kind in KINDS {
        for length in [20, 50, 100, 1_000] {
            let rounds = (rounds * 20 / length).max(50);
            let mut false_points = 0;
            for _ in 0..rounds {
                false_points += found(&kind.series(length, &mut random)).len();
            }
            let per_1000 = 1e3 * false_points as f64 / (rounds * length) as f64;
            metric(
                &format!("change_false/{}/{length}", kind.name),
                per_1000,
                "per_1000",
            );
        }
        for (before, after) in [
            (10, 10),
            (30, 10),
            (100, 10),
            (10, 30),
            (10, 100),
            (100, 100),
        ] {
            let (mut hits, mut more) = (0, 0);
            let rounds = rounds / 4;
            for round in 0..rounds {
                let mut series = kind.series(before + after, &mut random);
                let step = if round % 2 == 0 { 3.0 } else { -3.0 };
                series[before..].iter_mut().for_each(|value| *value += step);
                let found = found(&series);
                let is_near = |at: &&usize| at.abs_diff(before) <= 1;
                hits += usize::from(found.iter().any(|at| is_near(&at)));
                more += found.iter().filter(|at| !is_near(at)).count();
            }
            let share = 100.0 * hits as f64 / rounds as f64;
            metric(
                &format!("change_found/{}/{before}_{after}", kind.name),
                share,
                "%",
            );
            let per_1000 = 1e3 * more as f64 / (rounds * (before + after)) as f64;
            metric(
                &format!("change_besides/{}/{before}_{after}", kind.name),
                per_1000,
                "per_1000",
            );
        }
    }
    let series = KINDS[2].series(10_000, &mut random);
    let start = std::time::Instant::now();
    for _ in 0..20 {
        std::hint::black_box(found(&series));
    }
    metric(
        "change_points_10000",
        start.elapsed().as_secs_f64() * 1e3 / 20.0,
        "ms",
    );
}
