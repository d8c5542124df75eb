//! Input from which no verdict follows: an error, never a pass.

use breakeven_judge::compare::{Method, Metric, NotTested, Options};
use breakeven_judge::{ChangeType, Threshold, compare};
use breakeven_profile::profile::Profile;

use super::{compared, judging, noisy, operation, profile, recorded, usual};

#[track_caller]
fn refused(baseline: &Profile, current: &Profile, options: &Options) -> String {
    let side = std::slice::from_ref::<Profile>;
    let refused = compare(side(baseline), side(current), options);
    refused.expect_err("it is no input").to_string()
}

fn fine() -> Profile {
    profile([operation("f", &noisy(1e6, 0.01))])
}

#[test]
fn an_empty_side() {
    let usual = Options::default();
    let nothing = Profile::default();
    assert_eq!(
        refused(&nothing, &fine(), &usual),
        "the baseline holds no operations; measure again, or name another file"
    );
    assert_eq!(
        refused(&fine(), &nothing, &usual),
        "the current side holds no operations; measure again, or name another file"
    );
    let no_file = compare(&[], &[fine()], &usual).unwrap_err().to_string();
    assert!(no_file.starts_with("the baseline holds no"), "{no_file}");
}

#[test]
fn nothing_in_common() {
    let mut other = operation("f", &noisy(1e6, 0.01));
    other.size = Some(8);
    assert_eq!(
        refused(&fine(), &profile([other]), &Options::default()),
        "no operation is on both sides: the baseline has f on cpu, and the current side \
         f on cpu, size 8; an operation is identified by name, device and size"
    );
}

#[test]
fn a_time_of_zero() {
    let zero = recorded(profile([
        operation("f", &noisy(1e6, 0.01)),
        operation("g", &[5, 0, 5]),
    ]));
    let five = recorded(profile([
        operation("f", &noisy(1e6, 0.01)),
        operation("g", &[5, 5, 5]),
    ]));
    for metric in [
        Metric::TIME,
        Metric::MEAN,
        Metric::from("p99"),
        Metric::from("total"),
    ] {
        for (baseline, current) in [(&zero, &five), (&five, &zero)] {
            let found = compared(baseline, current, &judging(metric.clone()));
            let [f, g] = &found.operations[..] else {
                panic!("{found:?}");
            };
            assert_eq!(f.change_type, ChangeType::NoChange, "the others are judged");
            assert_eq!(g.change_type, ChangeType::Inconclusive);
            let method = Method::NotTested(NotTested::ZeroTime);
            assert_eq!(g.judged.method, method, "{metric}");
        }
    }
    let alone = profile([operation("g", &[0; 5])]);
    for metric in [Metric::TIME, Metric::from("throughput")] {
        let text = refused(&alone, &alone, &judging(metric));
        assert!(
            text.starts_with("every operation on both sides has a run"),
            "{text}"
        );
    }
    // Calls have no time.
    assert!(
        compared(&zero, &five, &judging(Metric::CALLS))
            .warnings
            .len()
            < 9
    );
}

#[test]
fn a_metric_that_nothing_has() {
    assert_eq!(
        refused(&fine(), &fine(), &judging(Metric::MEMORY)),
        "no operation has memory on both sides: f on cpu lacks it in the baseline and on the \
         current side; judge another metric, or measure with it recorded"
    );
}

/// With inconclusive operations allowed, such a gate passed.
#[test]
fn a_baseline_without_any_samples_was_only_inconclusive() {
    let nothing = profile([operation("f", &[])]);
    for current in [&nothing, &fine()] {
        let said = refused(&nothing, current, &Options::default());
        let start = "no operation has time on both sides: f on cpu lacks it in the baseline";
        assert!(said.starts_with(start), "{said}");
    }
    // What fails newly is a failure, not bad input.
    assert!(usual(&fine(), &nothing).is_ok());
}

#[test]
fn options_out_of_range() {
    for wrong in [0.0, -0.05, 5.0, f64::NAN, f64::INFINITY] {
        let error = Threshold::fraction(wrong).unwrap_err();
        let expected = "it must be from 0.001 to 1, a fraction (0.05 is 5 %)";
        assert_eq!(
            error.to_string(),
            format!("threshold is {wrong}; {expected}")
        );
    }
    for wrong in [0.05, 1_001.0, -5.0, f64::NAN] {
        let error = Threshold::percent(wrong).unwrap_err();
        let expected = "it must be from 0.1 to 1000, in percent (5.0 is 5 %)";
        assert_eq!(
            error.to_string(),
            format!("threshold is {wrong}; {expected}")
        );
    }
    for alpha in [0.0, 1.0, -1.0, f64::NAN] {
        let options = Options {
            alpha,
            ..Options::default()
        };
        let expected = format!("alpha is {alpha}; it must be between 0 and 1, both excluded");
        assert_eq!(refused(&fine(), &fine(), &options), expected);
    }
}
