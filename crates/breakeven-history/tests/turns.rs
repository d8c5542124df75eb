//! Each change is told once, when it is opened and when it is closed.

use breakeven_history::{Added, At, Branches, History, Sensitivity, turns};
use proptest::prelude::*;

use crate::support::{commit, place, profile};

/// Adds values in ms one by one; the entries that opened an alert, and that closed one.
fn told(levels: &[f64]) -> (Vec<usize>, Vec<usize>) {
    let (_folder, path) = place();
    let mut history = History::create(&path).unwrap();
    let (mut opened, mut closed) = (Vec::new(), Vec::new());
    for (number, ms) in levels.iter().enumerate() {
        let noise = 1.0 + 0.01 * ((number * 7919) % 13) as f64 / 13.0;
        let added = history.add(&profile(&[("decode", ms * noise)]), &commit(number));
        let Added::New(entry) = added.unwrap() else {
            panic!("the same twice");
        };
        // A later entry of somebody else changes nothing of what this one did.
        let loaded = history.load(&Branches::All).unwrap();
        for turn in turns(&loaded, entry, &Sensitivity::default()) {
            assert_eq!(turn.change.series, 0);
            assert!(turn.change.is_alert());
            match turn.opened {
                true => opened.push(number),
                false => closed.push(number),
            }
        }
    }
    (opened, closed)
}

fn levels(parts: &[(f64, usize)]) -> Vec<f64> {
    let each = parts.iter().map(|(ms, count)| vec![*ms; *count]);
    each.collect::<Vec<_>>().concat()
}

#[test]
fn a_doubled_time_is_one_alert_and_its_recovery_one() {
    let (opened, closed) = told(&levels(&[(8.0, 20), (16.0, 12), (8.0, 12)]));
    assert_eq!(opened, [20]);
    let [closed] = closed[..] else {
        panic!("{closed:?}");
    };
    // A change needs three values.
    assert!((33..=38).contains(&closed), "{closed}");
}

#[test]
fn a_single_slow_value_is_opened_and_closed() {
    let (opened, closed) = told(&levels(&[(8.0, 15), (16.0, 1), (8.0, 10)]));
    assert_eq!((opened, closed), (vec![15], vec![16]));
}

#[test]
fn a_change_below_the_factor_is_told_once_it_is_significant() {
    let (opened, closed) = told(&levels(&[(8.0, 25), (9.0, 15)]));
    assert!((27..=32).contains(&opened[0]), "{opened:?}");
    assert_eq!((opened.len(), closed.len()), (1, 0));
}

#[test]
fn a_second_regression_on_top_is_a_second_alert() {
    let (opened, closed) = told(&levels(&[(8.0, 20), (16.0, 12), (32.0, 8)]));
    assert_eq!((opened, closed), (vec![20, 32], vec![]));
}

#[test]
fn entries_that_others_added_since_are_not_looked_at() {
    let (_folder, path) = place();
    let mut history = History::create(&path).unwrap();
    let mut entries = Vec::new();
    for (number, ms) in levels(&[(8.0, 20), (16.0, 2)]).into_iter().enumerate() {
        let ms = ms * (1.0 + 1e-4 * number as f64);
        let added = history
            .add(&profile(&[("decode", ms)]), &At::default())
            .unwrap();
        let Added::New(entry) = added else {
            panic!("the same twice");
        };
        entries.push(entry);
    }
    // Both of two programs have added before either looks: one of them tells it.
    let loaded = history.load(&Branches::All).unwrap();
    let told = |entry: i64| turns(&loaded, entry, &Sensitivity::default()).len();
    assert_eq!(
        entries[18..]
            .iter()
            .map(|entry| told(*entry))
            .collect::<Vec<_>>(),
        [0, 0, 1, 0]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Nothing is closed that was not opened.
    #[test]
    fn what_closes_was_open(levels in prop::collection::vec(prop::sample::select(vec![8.0, 8.5, 13.0, 20.0]), 1..40)) {
        let (opened, closed) = told(&levels);
        prop_assert!(closed.len() <= opened.len());
        for (place, entry) in closed.iter().enumerate() {
            prop_assert!(opened[place] <= *entry);
        }
    }
}
