//! Measures how often an A/B comparison with early stopping is wrong, and how soon it stops: with
//! normal noise, outliers, slow phases of both sides, and autocorrelated times. A t-test that is
//! checked equally often serves as comparison.

use breakeven_judge::{Ab, AbComparison, ChangeType, Threshold};
use breakeven_stats::mean_interval;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::metric::metric;

/// Samples per side after which a comparison counts as undecided.
const MOST: usize = 1_000;

/// Samples that are judged as one block, as in `Ab`.
const BLOCK: usize = 5;

#[derive(Clone, Copy)]
enum Noise {
    Normal,
    Strays,
    SlowSpells,
    FollowsItself,
}

const NOISES: [(&str, Noise); 4] = [
    ("normal", Noise::Normal),
    ("strays", Noise::Strays),
    ("slow_spells", Noise::SlowSpells),
    ("follows_itself", Noise::FollowsItself),
];

/// A sequence of times with 5 % of noise; those of `b` are multiplied by a factor.
fn times(noise: Noise, factor: f64, seed: u64) -> impl FnMut(bool) -> f64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut before, mut spell) = (0.0, 0);
    move |is_b| {
        let fresh: f64 = StandardNormal.sample(&mut random);
        let off = match noise {
            Noise::FollowsItself => 0.8 * before + 0.6 * fresh,
            _ => fresh,
        };
        before = off;
        spell = match spell {
            0 if random.random_bool(0.01) => 50,
            left => i32::saturating_sub(left, 1).max(0),
        };
        let slowed = match noise {
            Noise::Strays if random.random_bool(0.05) => 3.0,
            Noise::SlowSpells if spell > 0 => 1.5,
            _ => 1.0,
        };
        1e6 * slowed * (0.05 * off).exp() * if is_b { factor } else { 1.0 }
    }
}

/// Samples until the comparison is decided; none if it is undecided at [`MOST`].
fn decided(noise: Noise, factor: f64, seed: u64, threshold: Threshold) -> Option<AbComparison> {
    let (mut next, mut taken) = (times(noise, factor, seed), 0);
    let ab = Ab::new("made up").threshold(threshold);
    let sample = |is_b| {
        taken += 1;
        if taken > 2 * MOST {
            Err(())
        } else {
            Ok(Some(next(is_b)))
        }
    };
    ab.run_samples(sample).ok()
}

/// Whether a t-test, checked after each block, ever reports that the sides differ.
fn peeked(noise: Noise, seed: u64) -> bool {
    let mut next = times(noise, 1.0, seed);
    let mut blocks = Vec::new();
    (0..MOST / BLOCK).any(|_| {
        let mut ratios: Vec<f64> = (0..BLOCK)
            .map(|_| (next(true) / next(false)).ln())
            .collect();
        ratios.sort_unstable_by(f64::total_cmp);
        blocks.push(ratios[BLOCK / 2]);
        let interval = mean_interval(&blocks, 0.95);
        interval.is_ok_and(|[lower, upper]| lower > 0.0 || upper < 0.0)
    })
}

pub(crate) fn ab(comparisons: usize) {
    let percent = |count: usize| 100.0 * count as f64 / comparisons as f64;
    let least = Threshold::percent(0.1).expect("a threshold");
    for (name, noise) in NOISES {
        let seeds = || 0..comparisons as u64;
        // Two sides that do not differ, with a threshold that hides nothing.
        let differs = |seed: &u64| {
            let compared = decided(noise, 1.0, *seed, least);
            compared.is_some_and(|compared| compared.verdict != ChangeType::NoChange)
        };
        metric(
            &format!("ab_false/{name}"),
            percent(seeds().filter(differs).count()),
            "percent",
        );
        let wrong = seeds().filter(|seed| peeked(noise, *seed)).count();
        metric(
            &format!("ab_false_peeking/{name}"),
            percent(wrong),
            "percent",
        );
        for (change, factor, verdict) in [
            ("0", 1.0, ChangeType::NoChange),
            ("10", 1.1, ChangeType::Regression),
            ("20", 1.2, ChangeType::Regression),
        ] {
            let all = seeds().map(|seed| decided(noise, factor, seed, Threshold::default()));
            let all: Vec<_> = all.collect();
            let right = |compared: &&AbComparison| compared.verdict == verdict;
            let count = all.iter().flatten().filter(right).count();
            metric(
                &format!("ab_right/{name}/{change}"),
                percent(count),
                "percent",
            );
            let taken = |compared: &Option<AbComparison>| {
                compared
                    .as_ref()
                    .map_or(MOST, |compared| compared.a_ns.len())
            };
            let mut samples: Vec<usize> = all.iter().map(taken).collect();
            samples.sort_unstable();
            let median = samples[samples.len() / 2] as f64;
            metric(&format!("ab_samples/{name}/{change}"), median, "samples");
        }
    }
}
