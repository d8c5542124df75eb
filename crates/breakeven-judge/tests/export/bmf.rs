//! The file as Bencher's documentation has it.

use breakeven_judge::export::{ExportError, bmf};
use breakeven_profile::profile::{Counter, Operation, Profile};
use insta::assert_snapshot;
use proptest::prelude::*;

use super::{arbitrary, operations, parsed};

fn text(profile: &Profile) -> String {
    let mut out = Vec::new();
    bmf(profile, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn operations_have_their_median_and_quartiles() {
    let mut profile = operations();
    let operation = &mut profile.operations[0];
    operation.counters.insert(
        "rows/s".to_owned(),
        Counter {
            unit: "rows/s".to_owned(),
            higher_is_better: true,
        },
    );
    for (run, value) in operation.runs.iter_mut().zip([5.0, 7.0]) {
        run.counters.insert("rows/s".to_owned(), value);
        run.memory_bytes = Some(4096);
    }
    profile.operations.push(Operation::new("failed", "cpu"));
    assert_snapshot!(text(&profile));
}

#[test]
fn a_profile_without_figures_is_an_error() {
    let mut profile = Profile::default();
    profile.operations.push(Operation::new("f", "cpu"));
    let error = bmf(&profile, Vec::new()).unwrap_err();
    assert!(matches!(error, ExportError::Empty), "{error}");
}

proptest! {
    #[test]
    fn every_operation_with_a_time_is_there(profile in arbitrary::profile()) {
        let timed = profile.operations.iter().filter(|each| each.summary().is_ok()).count();
        let mut out = Vec::new();
        match bmf(&profile, &mut out) {
            Err(error) => prop_assert!(matches!(error, ExportError::Empty) && timed == 0),
            Ok(()) => {
                let read = parsed(std::str::from_utf8(&out).unwrap());
                let all = read.as_object().unwrap().values();
                let with = all.filter(|each| each["latency"]["value"].is_number());
                prop_assert_eq!(with.count(), timed);
            }
        }
    }
}
