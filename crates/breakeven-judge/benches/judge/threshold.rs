//! Measures how often the interval of a sweep contains the true size, how often a constant that is
//! off by a factor of two is called stale, and how often the constant of another sweep of the same
//! pair is. `Sweep` runs simulated pairs on a simulated clock, on which all runs count, with the time
//! limit of `breakeven sweep`.

use std::cell::Cell;
use std::collections::HashSet;
use std::time::Duration;

use breakeven_judge::break_even::{BreakEven, Side, Sweep, coarse_sizes};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::metric::metric;

/// The default time limit of `breakeven sweep`.
const TIME_LIMIT: Duration = Duration::from_secs(60);

const FROM: u64 = 1_000;
const TO: u64 = 10_000_000;

/// Log-normal noise of a run. A round's factor on each side has a third of it.
const NOISE: [f64; 3] = [0.01, 0.03, 0.10];

/// Where the paths cross, as a fraction of the range's logarithm.
const CROSSINGS: [f64; 3] = [0.25, 0.5, 0.75];

/// A pair of paths: time of the CPU at the largest size, s; the GPU's speed over the CPU's without
/// its fixed time; start of a process, s.
const SHAPES: [(&str, f64, f64, f64); 4] = [
    ("calls", 0.05, 20.0, 0.0),
    ("transfers", 0.3, 2.0, 0.0),
    ("processes", 1.0, 8.0, 0.01),
    ("slow", 3.0, 4.0, 0.01),
];

/// A sweep of a pair whose paths are equally fast at `truth`; and the time that it took, s.
fn sweep(shape: (f64, f64, f64), truth: f64, noise: f64, seed: u64) -> (Option<BreakEven>, f64) {
    let (largest, speed, start) = shape;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut normal = move || -> f64 { StandardNormal.sample(&mut random) };
    let each = largest / TO as f64;
    let fixed = each * truth * (1.0 - 1.0 / speed);
    let clock = Cell::new(0.0);
    // A round is over once one of its runs comes again.
    let (mut seen, mut of_round) = (HashSet::new(), [0.0; 2]);
    let swept = Sweep::new("simulated", coarse_sizes(FROM, TO))
        .time_limit(TIME_LIMIT)
        .run(
            || Duration::from_secs_f64(clock.get()),
            |side, size| {
                if !seen.insert((side == Side::Gpu, size)) {
                    seen = HashSet::from([(side == Side::Gpu, size)]);
                    of_round = [(); 2].map(|()| noise / 3.0 * normal());
                }
                let seconds = match side {
                    Side::Cpu => start + each * size as f64,
                    Side::Gpu => start + fixed + each / speed * size as f64,
                };
                let seconds = seconds * (noise * normal() + of_round[side as usize]).exp();
                clock.set(clock.get() + seconds);
                Ok(seconds * 1e9)
            },
        );
    assert!(
        clock.get() < 1.1 * TIME_LIMIT.as_secs_f64(),
        "{} s",
        clock.get()
    );
    (swept.break_even(), clock.get())
}

pub(crate) fn thresholds(pairs: usize) {
    let [mut all, mut held, mut stale, mut open] = [0; 4];
    let [mut all_again, mut wrongly] = [0; 2];
    let mut widths = Vec::new();
    for (name, largest, speed, start) in SHAPES {
        for noise in NOISE {
            let [mut of_shape, mut held_here, mut stale_here] = [0; 3];
            let [mut again, mut wrongly_here] = [0; 2];
            let mut seconds = 0.0;
            for at in CROSSINGS {
                let mut before: Option<f64> = None;
                for seed in 0..pairs as u64 {
                    let truth = FROM as f64 * (TO as f64 / FROM as f64).powf(at);
                    let (found, took) = sweep((largest, speed, start), truth, noise, seed);
                    of_shape += 1;
                    seconds += took;
                    let Some(found) = found else { continue };
                    match found {
                        BreakEven::From { interval, .. } => widths.push(interval[1] / interval[0]),
                        _ => open += 1,
                    }
                    // As it is, not rounded as for a constant.
                    held_here += usize::from(match found {
                        BreakEven::From {
                            interval: [low, high],
                            ..
                        } => low <= truth && truth <= high,
                        found => found.admits(truth) == Some(true),
                    });
                    if let Some(constant) = std::mem::replace(&mut before, found.constant()) {
                        again += 1;
                        wrongly_here += usize::from(found.admits(constant) == Some(false));
                    }
                    let calls = |factor| found.admits(factor * truth) == Some(false);
                    stale_here += usize::from(calls(0.5)) + usize::from(calls(2.0));
                }
            }
            let percent = |count: usize, of: usize| 100.0 * count as f64 / of as f64;
            let label = format!("{name}/{:.0}", 100.0 * noise);
            metric(
                &format!("threshold_coverage/{label}"),
                percent(held_here, of_shape),
                "percent",
            );
            metric(
                &format!("threshold_power/{label}"),
                percent(stale_here, 2 * of_shape),
                "percent",
            );
            metric(
                &format!("threshold_false_stale/{label}"),
                percent(wrongly_here, again),
                "percent",
            );
            metric(
                &format!("threshold_seconds/{label}"),
                seconds / of_shape as f64,
                "s",
            );
            all += of_shape;
            held += held_here;
            stale += stale_here;
            all_again += again;
            wrongly += wrongly_here;
        }
    }
    let percent = |count: usize, of: usize| 100.0 * count as f64 / of as f64;
    widths.sort_by(f64::total_cmp);
    metric("threshold_coverage", percent(held, all), "percent");
    metric("threshold_power", percent(stale, 2 * all), "percent");
    metric(
        "threshold_false_stale",
        percent(wrongly, all_again),
        "percent",
    );
    metric("threshold_open", percent(open, all), "percent");
    metric("threshold_width", widths[widths.len() / 2], "x");
}
