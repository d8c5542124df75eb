//! Changes of level found in series made up for it: how many of the steps that are there,
//! how many that are not, for several kinds of noise, and how many could be found by
//! whoever knows the noise. Then the published series that people have labelled.
//!
//! ```sh
//! cargo bench -p breakeven-stats --bench change_points            # five minutes
//! cargo bench -p breakeven-stats --bench change_points -- --quick
//! cargo bench -p breakeven-stats --bench change_points -- --export FILE
//! ```
//!
//! The last writes series for `bench/peers/change_points.py` and measures nothing.

#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

use std::time::Instant;

use breakeven_stats::change_points;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

mod export;
mod hidden;
mod kinds;
mod known;
#[path = "../../tests/published/labelled.rs"]
mod labelled;
#[path = "../../../../bench/metric.rs"]
#[allow(dead_code, reason = "shared by all benches")]
mod metric;

use kinds::{KINDS, Kind};
use metric::{is_quick, metric};

/// Points before a step and from it on.
const SHAPES: [(usize, usize); 6] = [
    (10, 10),
    (30, 10),
    (100, 10),
    (10, 30),
    (10, 100),
    (100, 100),
];

/// Noise deviations of a step.
const STEP: f64 = 3.0;

/// Places beyond which what is found is not the step at all.
const MARGIN: usize = 5;

/// Series searched for each that is asked for what could be found: half a per cent of a
/// thousand series is chance.
const SEARCHED: usize = 10;

fn found(series: &[f64]) -> Vec<usize> {
    let points = change_points(series, 0.95).expect("finite values");
    points.iter().map(|point| point.index).collect()
}

fn without_a_step(kind: &Kind, rounds: usize, random: &mut Xoshiro256PlusPlus) {
    for length in [20, 50, 100, 1_000] {
        let rounds = (rounds * 20 / length).max(50);
        let mut points = 0;
        for _ in 0..rounds {
            points += found(&kind.series(length, random)).len();
        }
        let per_1000 = 1e3 * points as f64 / (rounds * length) as f64;
        let name = format!("change_false/{}/{length}", kind.name);
        metric(&name, per_1000, "per_1000");
    }
}

fn with_a_step(kind: &Kind, rounds: usize, random: &mut Xoshiro256PlusPlus) {
    for (before, after) in SHAPES {
        let (mut hits, mut exact, mut missed, mut more) = (0, 0, 0, 0);
        let (mut by_noise, mut by_everything) = (Some(0), 0);
        for round in 0..rounds * SEARCHED {
            let (series, step) = stepped(kind, before, after, round, random);
            let is_near = |at: usize| at.abs_diff(before) <= 1;
            let found = found(&series);
            hits += usize::from(found.iter().any(|at| is_near(*at)));
            exact += usize::from(found.contains(&before));
            missed += usize::from(found.iter().all(|at| at.abs_diff(before) > MARGIN));
            more += found.iter().filter(|at| !is_near(**at)).count();
            if round >= rounds {
                continue;
            }
            let place = known::knowing_everything(&series, kind, step);
            by_everything += usize::from(is_near(place));
            by_noise = by_noise
                .zip(known::knowing_the_noise(&series, kind))
                .map(|(sum, at)| sum + usize::from(is_near(at)));
        }
        let shape = format!("{}/{before}_{after}", kind.name);
        let percent = |count: usize, of: usize| 100.0 * count as f64 / of as f64;
        let searched = rounds * SEARCHED;
        metric(
            &format!("change_found/{shape}"),
            percent(hits, searched),
            "%",
        );
        metric(
            &format!("change_exact/{shape}"),
            percent(exact, searched),
            "%",
        );
        metric(
            &format!("change_missed/{shape}"),
            percent(missed, searched),
            "%",
        );
        let per_1000 = 1e3 * more as f64 / (searched * (before + after)) as f64;
        metric(&format!("change_besides/{shape}"), per_1000, "per_1000");
        let name = format!("change_found_at_best/{shape}");
        metric(&name, percent(by_everything, rounds), "%");
        if let Some(by_noise) = by_noise {
            let name = format!("change_found_known_noise/{shape}");
            metric(&name, percent(by_noise, rounds), "%");
        }
    }
}

/// A series with one step, up in even rounds and down in odd ones, and that step.
fn stepped(
    kind: &Kind,
    before: usize,
    after: usize,
    round: usize,
    random: &mut Xoshiro256PlusPlus,
) -> (Vec<f64>, f64) {
    let mut series = kind.series(before + after, random);
    let step = if round.is_multiple_of(2) { STEP } else { -STEP };
    series[before..].iter_mut().for_each(|value| *value += step);
    (series, step)
}

fn published() {
    let (mut f1, mut cover) = (0.0, 0.0);
    let all = labelled::all();
    for series in &all {
        let found = found(&series.values);
        println!("{}: {found:?}", series.name);
        let scores = [series.f1(&found), series.covering(&found)];
        metric(&format!("change_f1/{}", series.name), scores[0], "of_1");
        metric(&format!("change_cover/{}", series.name), scores[1], "of_1");
        f1 += scores[0] / all.len() as f64;
        cover += scores[1] / all.len() as f64;
    }
    metric("change_f1/mean", f1, "of_1");
    metric("change_cover/mean", cover, "of_1");
}

/// The shortest of many searches: what a machine does besides makes them longer.
fn time(random: &mut Xoshiro256PlusPlus) {
    for (length, rounds) in [(1_000, 200), (10_000, 40)] {
        let series = KINDS[2].series(length, random);
        let times = (0..rounds).map(|_| {
            let start = Instant::now();
            std::hint::black_box(found(&series));
            start.elapsed().as_secs_f64() * 1e3
        });
        let shortest = times.fold(f64::INFINITY, f64::min);
        metric(&format!("change_points_{length}"), shortest, "ms");
    }
}

fn main() {
    let mut arguments = std::env::args();
    if arguments.any(|argument| argument == "--export") {
        let path = arguments.next().expect("--export: to which file?");
        return export::write(&path).expect("the file can be written");
    }
    let rounds = if is_quick() { 800 } else { 4_000 };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
    for kind in &KINDS {
        without_a_step(kind, rounds, &mut random);
        with_a_step(kind, rounds / 4, &mut random);
    }
    time(&mut random);
    published();
}
