//! What becomes of a change.

use breakeven_history::{Change, ChangeState, Direction, History, Sensitivity, changes};

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
    changes(&history.load(None).unwrap(), &Sensitivity::default())
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
        let entries = history.named("c025").unwrap();
        history
            .annotate(&entries, "more accurate, and slower", true)
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

#[test]
fn a_change_below_the_threshold_is_none() {
    assert_eq!(states(&[(8.0, 30), (8.3, 30)]), []);
}
