//! Changes of level in made-up histories: found where they are, with their size, and not
//! where nothing changed. Each figure is over seeded series.

use breakeven_stats::{ChangePoint, change_points};
use rand::{RngExt as _, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Durations of a benchmark: segments of a length, a level and a noise relative to it.
struct Durations(Xoshiro256PlusPlus);

impl Durations {
    fn seeded(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.0)
    }

    /// The logarithm of one duration, as histories are searched.
    fn next(&mut self, level: f64, noise: f64) -> f64 {
        (level * (1.0 + noise * self.normal()).max(0.05)).ln()
    }

    fn series(&mut self, segments: &[(usize, f64, f64)]) -> Vec<f64> {
        let mut series = Vec::new();
        for (count, level, noise) in segments {
            series.extend((0..*count).map(|_| self.next(*level, *noise)));
        }
        series
    }
}

fn found(series: &[f64]) -> Vec<ChangePoint> {
    change_points(series, 0.95).unwrap()
}

fn places(series: &[f64]) -> Vec<usize> {
    found(series).iter().map(|change| change.index).collect()
}

/// Percentage of `rounds` of which `is_so` is true.
fn percent(rounds: usize, mut is_so: impl FnMut() -> bool) -> f64 {
    let count = (0..rounds).filter(|_| is_so()).count();
    100.0 * count as f64 / rounds as f64
}

#[test]
fn the_first_alert_names_the_commit_and_the_size() {
    let mut durations = Durations::seeded(1);
    for before in [15, 30, 60] {
        let (mut sized, mut placed, mut covered) = (0, 0, 0);
        const ROUNDS: usize = 400;
        for _ in 0..ROUNDS {
            let mut series = durations.series(&[(before, 1.0, 0.02)]);
            let first = loop {
                series.push(durations.next(1.2, 0.02));
                let mut changes = found(&series).into_iter();
                if let Some(first) = changes.find(|change| change.after > change.before + 0.05) {
                    break first;
                }
            };
            let size = (first.after - first.before).exp() - 1.0;
            sized += usize::from((0.17..=0.23).contains(&size));
            placed += usize::from(first.index == before);
            let [low, high] = first.step;
            covered += usize::from((low..=high).contains(&1.2f64.ln()));
        }
        let [sized, placed, covered] =
            [sized, placed, covered].map(|count| 100.0 * count as f64 / ROUNDS as f64);
        assert!(sized >= 90.0, "{before}: {sized} %");
        assert!(placed >= 95.0, "{before}: {placed} %");
        assert!(covered >= 90.0, "{before}: {covered} %");
    }
}

#[test]
fn three_values_at_an_end_have_their_own_level() {
    let mut durations = Durations::seeded(2);
    for factor in [2.0f64, 10.0] {
        for (before, behind) in [(30, 3), (3, 30), (3, 5), (5, 3)] {
            let covers = percent(300, || {
                let series = durations.series(&[(before, 1.0, 0.03), (behind, factor, 0.03)]);
                let changes = found(&series);
                let covers = |change: &ChangePoint| {
                    change.step[0] <= factor.ln() && factor.ln() <= change.step[1]
                };
                changes.len() == 1 && changes[0].index == before && covers(&changes[0])
            });
            assert!(
                covers >= 85.0,
                "{before} + {behind}, × {factor}: {covers} %"
            );
        }
    }
}

#[test]
fn two_values_at_an_end_are_no_change_yet() {
    let mut durations = Durations::seeded(3);
    for factor in [1.2, 2.0, 10.0] {
        let is_found = percent(500, || {
            !found(&durations.series(&[(60, 1.0, 0.02), (2, factor, 0.02)])).is_empty()
        });
        assert!(is_found <= 2.0, "× {factor}: {is_found} %");
    }
}

#[test]
fn outliers_at_an_end_are_no_change_nor_are_two() {
    let mut durations = Durations::seeded(4);
    for outliers in [1, 2] {
        let mut points = 0;
        const ROUNDS: usize = 2_000;
        for round in 0..ROUNDS {
            let mut series: Vec<f64> = (0..60).map(|_| durations.normal()).collect();
            for at in 0..outliers {
                let at = if round % 2 == 0 { 59 - at } else { at };
                series[at] += durations.0.random_range(4.0..14.0);
            }
            points += found(&series).len();
        }
        let per_1000 = 1e3 * points as f64 / (ROUNDS * 60) as f64;
        assert!(per_1000 <= 0.5, "{outliers}: {per_1000} per 1 000");
    }
}

#[test]
fn a_short_history_shows_a_step_of_three_deviations() {
    let mut durations = Durations::seeded(5);
    let mut normal = |step: f64| -> Vec<f64> {
        let at = |at: usize| if at < 10 { 0.0 } else { step };
        (0..20)
            .map(|place| at(place) + durations.normal())
            .collect()
    };
    let is_found = percent(2_000, || {
        places(&normal(3.0)).iter().any(|at| at.abs_diff(10) <= 1)
    });
    assert!(is_found >= 80.0, "{is_found} %");
    let points: usize = (0..4_000).map(|_| found(&normal(0.0)).len()).sum();
    assert!(points <= 80, "{points} in 80 000 values");
}

#[test]
fn a_step_is_placed_exactly_though_the_noise_changes_with_it() {
    let mut durations = Durations::seeded(6);
    for (before, behind) in [(15, 15), (40, 10), (50, 20), (100, 20)] {
        for (noises, factor) in [
            ([0.01, 0.03], 1.1),
            ([0.01, 0.05], 1.2),
            ([0.01, 0.1], 1.5),
            ([0.05, 0.01], 1.2),
            ([0.1, 0.01], 1.5),
        ] {
            let exactly = percent(400, || {
                let segments = [(before, 1.0, noises[0]), (behind, factor, noises[1])];
                places(&durations.series(&segments)).contains(&before)
            });
            assert!(
                exactly >= 90.0,
                "{before} + {behind}, noise {noises:?}: {exactly} %"
            );
        }
    }
}

#[test]
fn eight_values_with_a_jump_of_ten_times_are_enough() {
    let mut durations = Durations::seeded(7);
    for before in [3, 4, 5] {
        let is_found = percent(300, || {
            let series = durations.series(&[(before, 1.0, 0.05), (8 - before, 10.0, 0.05)]);
            places(&series) == [before]
        });
        assert!(is_found >= 95.0, "{before}: {is_found} %");
    }
}

#[test]
fn a_drift_that_doubles_is_a_change() {
    let mut durations = Durations::seeded(8);
    for (flat, drifting) in [(0, 30), (20, 30), (15, 15), (50, 30), (0, 60), (0, 100)] {
        let is_found = percent(100, || {
            let level = |at: usize| 2f64.powf(at.saturating_sub(flat) as f64 / drifting as f64);
            let series: Vec<f64> = (0..flat + drifting)
                .map(|at| durations.next(level(at), 0.02))
                .collect();
            found(&series)
                .iter()
                .any(|change| change.after > change.before)
        });
        assert!(is_found >= 99.0, "{flat} + {drifting}: {is_found} %");
    }
}
