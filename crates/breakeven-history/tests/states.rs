//! What becomes of a change.

use breakeven_history::{
    Branches, Change, ChangeState, Direction, Entry, History, Loaded, Point, Sensitivity, Series,
    changes,
};
use breakeven_profile::profile::Operation;

use crate::support::{add_levels, place};

/// Levels in ms, each with how many commits it lasts.
fn levels(parts: &[(f64, usize)]) -> Vec<f64> {
    let each = parts.iter().map(|(ms, count)| vec![*ms; *count]);
    each.collect::<Vec<_>>().concat()
}

fn found(parts: &[(f64, usize)], prepare: impl FnOnce(&mut History)) -> Vec<Change> {
    let (_folder, path) = place();
    let mut history = History::create(&path).unwrap();
    add_levels(&mut history, &levels(parts));
    prepare(&mut history);
    changes(
        &history.load(&Branches::All).unwrap(),
        &Sensitivity::default(),
    )
}

fn states(parts: &[(f64, usize)]) -> Vec<(usize, ChangeState)> {
    let changes = found(parts, |_| {});
    changes
        .iter()
        .map(|change| (change.index, change.state))
        .collect()
}

#[test]
fn a_regression_is_open_with_its_size_and_interval() {
    let changes = found(&[(8.0, 25), (9.0, 15)], |_| {});
    let [change] = &changes[..] else {
        panic!("{changes:?}");
    };
    assert_eq!((change.index, change.state), (25, ChangeState::Open));
    assert_eq!(change.direction, Direction::Regression);
    assert!(change.is_alert());
    let [low, high] = change.interval.unwrap();
    assert!(
        low < 1.125 && 1.125 < high && high - low < 0.02,
        "{change:?}"
    );
    assert!((change.levels_ns[0] / 8.0e6 - 1.01).abs() < 0.01);
}

#[test]
fn a_drift_is_an_alert_until_it_is_accepted() {
    let wave = |at: usize| 1.0 + 0.005 * (at as f64 * 2.4).sin();
    let levels = |doubled: f64| {
        let level = move |at: usize| 8.0 * 2_f64.powf(at as f64 / 29.0 * doubled) * wave(at);
        (0..30).map(level).collect::<Vec<f64>>()
    };
    let found = |doubled: f64, accepted: Option<usize>| {
        let (_folder, path) = place();
        let mut history = History::create(&path).unwrap();
        add_levels(&mut history, &levels(doubled));
        let entries = history.entries(&Branches::All).unwrap();
        if let Some(accepted) = accepted {
            (history.annotate(&entries[accepted..=accepted], "meant", true)).unwrap();
        }
        let loaded = history.load(&Branches::All).unwrap();
        changes(&loaded, &Sensitivity::default())
    };
    let all = found(1.0, None);
    let [drift] = &all[..] else {
        panic!("{all:?}");
    };
    assert_eq!((drift.state, drift.index), (ChangeState::Drift, 0));
    assert!(
        drift.is_alert() && (drift.ratio - 2.0).abs() < 0.05,
        "{drift:?}"
    );
    // Since the accepted entry it rose by 1.41.
    let all = found(1.0, Some(15));
    let since = all.last().expect("it goes on");
    assert!((since.ratio - 1.38).abs() < 0.04, "{since:?}");
    assert!(found(1.0, Some(29)).iter().all(|change| !change.is_alert()));
    let faster = &found(-1.0, None)[0];
    assert!(!faster.is_alert() && faster.direction == Direction::Improvement);
}

#[test]
fn what_went_away_again_is_recovered_and_what_is_better_improved() {
    assert_eq!(
        states(&[(8.0, 25), (9.0, 15), (8.0, 15)]),
        [
            (25, ChangeState::Recovered(40)),
            (40, ChangeState::Improved)
        ]
    );
    // Half of it is still there.
    assert_eq!(
        states(&[(8.0, 25), (10.0, 15), (9.0, 15)]),
        [(25, ChangeState::Open), (40, ChangeState::Improved)]
    );
}

#[test]
fn an_accepted_regression_is_no_alert() {
    let changes = found(&[(8.0, 25), (9.0, 15)], |history| {
        let entries = history.entries(&Branches::All).unwrap();
        history
            .annotate(&entries[25..26], "more accurate, and slower", true)
            .unwrap();
    });
    assert_eq!(changes[0].state, ChangeState::Accepted);
    assert!(!changes[0].is_alert());
}

#[test]
fn the_newest_value_alone_is_an_alert_from_the_factor_on() {
    assert_eq!(states(&[(8.0, 25), (13.0, 1)]), [(25, ChangeState::Newest)]);
    assert_eq!(states(&[(8.0, 25), (11.0, 1)]), []);
    // Over the level that is in force, not the first one.
    assert_eq!(
        states(&[(8.0, 25), (16.0, 15), (17.0, 1)]),
        [(25, ChangeState::Open)]
    );
}

/// Of two values the first is where it began: the second alone named the wrong commit.
#[test]
fn two_newest_values_name_the_first_of_them() {
    for high in [13.0, 16.0, 24.0] {
        let found = states(&[(8.0, 25), (high, 2)]);
        assert_eq!(found, [(25, ChangeState::Newest)], "{high}");
    }
}

#[test]
fn a_change_below_the_threshold_is_none() {
    assert_eq!(states(&[(8.0, 30), (8.3, 30)]), []);
}

#[test]
fn a_fall_below_the_threshold_ends_the_alert_that_it_takes_back() {
    assert_eq!(
        states(&[(10.0, 40), (10.6, 40), (10.12, 40)]),
        [(40, ChangeState::Recovered(80))]
    );
    // Not one that leaves more than the threshold.
    assert_eq!(
        states(&[(10.0, 40), (11.0, 40), (10.6, 40)]),
        [(40, ChangeState::Open)]
    );
}

#[test]
fn a_creep_below_the_threshold_is_an_alert_once_it_has_added_up() {
    let creep = [(10.0, 30), (10.4, 30), (10.816, 30), (11.249, 30)];
    let changes = found(&creep, |_| {});
    let [change] = &changes[..] else {
        panic!("{changes:?}");
    };
    // Since the last value at 10 ms, not since the one at 10.4.
    assert_eq!((change.index, change.state), (60, ChangeState::Open));
    assert_eq!(change.before.entry, 29);
    assert!((change.ratio - 1.0816).abs() < 0.01, "{change:?}");
    let [low, high] = change.interval.unwrap();
    assert!(low < 1.0816 && 1.0816 < high && high - low < 0.03);
    // What came back half-way is still there, what came back is not.
    let back = |ms| states(&[creep[0], creep[1], creep[2], (ms, 30)]);
    assert_eq!(back(10.62), [(60, ChangeState::Open)]);
    assert_eq!(back(10.4), [(60, ChangeState::Recovered(90))]);
}

#[test]
fn a_creep_counts_from_the_level_that_was_accepted() {
    let accepted = |until: usize| {
        let levels = [(10.0, 30), (10.8, 30), (11.2, 30), (11.65, 30)];
        let changes = found(&levels[..until], |history| {
            let entries = history.entries(&Branches::All).unwrap();
            history.annotate(&entries[30..31], "wanted", true).unwrap();
        });
        let states = changes.iter().map(|change| (change.index, change.state));
        states.collect::<Vec<_>>()
    };
    assert_eq!(accepted(3), [(30, ChangeState::Accepted)]);
    assert_eq!(
        accepted(4),
        [(30, ChangeState::Accepted), (90, ChangeState::Open)]
    );
}

#[test]
fn noise_alone_rarely_makes_the_newest_value_an_alert() {
    use rand::SeedableRng;
    use rand_distr::{Distribution, StandardNormal};
    let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(11);
    for values in [4, 10, 30, 100] {
        let nights = (0..100).filter(|_| {
            let series = |_| Series {
                key: Operation::new("f", "cpu").key(),
                machine: "unknown machine".to_owned(),
                points: (0..values)
                    .map(|entry| {
                        let noise: f64 = StandardNormal.sample(&mut random);
                        let value_ns = 1e6 * (1.0 + 0.2 * noise).max(0.1);
                        Point {
                            entry,
                            value_ns,
                            low_ns: value_ns,
                            high_ns: value_ns,
                            runs: 1,
                        }
                    })
                    .collect(),
            };
            let loaded = Loaded {
                entries: vec![entry(); values],
                series: (0..50).map(series).collect(),
            };
            let found = changes(&loaded, &Sensitivity::default());
            found
                .iter()
                .any(|change| change.state == ChangeState::Newest)
        });
        let nights = nights.count();
        assert!(nights <= 5, "{nights} of 100 after {values} values");
    }
}

fn entry() -> Entry {
    Entry {
        id: 1,
        time: String::new(),
        commit: None,
        branch: None,
        machine: String::new(),
        operations: 50,
        notes: Vec::new(),
        accepted: false,
    }
}
