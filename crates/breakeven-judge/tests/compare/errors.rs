//! Input from which no verdict follows: an error, never a pass.

use breakeven_judge::compare::{Metric, Options};
use breakeven_judge::{compare, compare_profiling_runs};
use breakeven_profile::profile::Profile;

use super::{judging, noisy, operation, profile};

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
         f on cpu, size 8; an operation is told by name, device and size"
    );
}

#[test]
fn a_time_of_zero() {
    let zero = profile([
        operation("f", &noisy(1e6, 0.01)),
        operation("g", &[5, 0, 5]),
    ]);
    let five = profile([
        operation("f", &noisy(1e6, 0.01)),
        operation("g", &[5, 5, 5]),
    ]);
    let text = |side| {
        format!(
            "g on cpu: a run of the {side} has a median of 0 ns, which is below the clock's \
             resolution; measure more work in a call"
        )
    };
    for metric in [Metric::Time, Metric::Throughput] {
        let options = judging(metric);
        assert_eq!(refused(&zero, &five, &options), text("baseline"));
        assert_eq!(refused(&five, &zero, &options), text("current side"));
    }
    // Calls have no time, and what is on one side only is not compared.
    let side = std::slice::from_ref::<Profile>;
    assert!(compare(side(&zero), side(&five), &judging(Metric::Calls)).is_ok());
    assert!(compare_profiling_runs(&zero, &fine(), 0.05).is_ok());
}

#[test]
fn a_metric_that_nothing_has() {
    assert_eq!(
        refused(&fine(), &fine(), &judging(Metric::Memory)),
        "no operation has memory on both sides; judge another metric, or measure with it recorded"
    );
}

/// With inconclusive operations allowed, such a gate passed.
#[test]
fn a_baseline_without_any_samples_was_only_inconclusive() {
    let nothing = profile([operation("f", &[])]);
    for current in [&nothing, &fine()] {
        assert_eq!(
            refused(&nothing, current, &Options::default()),
            "no operation has time on both sides; judge another metric, or measure with it recorded"
        );
    }
    // What fails newly is a failure, not bad input.
    assert!(compare_profiling_runs(&fine(), &nothing, 0.05).is_ok());
}

#[test]
fn options_out_of_range() {
    for threshold in [0.0, -0.05, 10.1, f64::NAN, f64::INFINITY] {
        let error = compare_profiling_runs(&fine(), &fine(), threshold).unwrap_err();
        let expected =
            format!("threshold is {threshold}; it must be above 0 and at most 10 (0.05 is 5 %)");
        assert_eq!(error.to_string(), expected);
    }
    for alpha in [0.0, 1.0, -1.0, f64::NAN] {
        let options = Options {
            alpha,
            ..Options::default()
        };
        let expected = format!("alpha is {alpha}; it must be between 0 and 1, both excluded");
        assert_eq!(refused(&fine(), &fine(), &options), expected);
    }
    for noise in [0.0, -0.01, 11.0, f64::NAN] {
        let options = Options {
            noise: Some(noise),
            ..Options::default()
        };
        let expected = format!("noise is {noise}; it must be between 1e-9 and 10 (0.03 is 3 %)");
        assert_eq!(refused(&fine(), &fine(), &options), expected);
    }
}
