//! Warnings about what else the machines did, at their thresholds.

use breakeven_judge::compare::{Options, Warning, WarningKind};
use breakeven_judge::load_figures;
use breakeven_profile::profile::{DeviceLoad, LoadRecord, LoadSample, Profile};
use insta::assert_snapshot;

use super::{compared, noisy, operation, profile};

fn loaded(device: &str, sample: LoadSample) -> Profile {
    Profile {
        load: vec![recorded(device, [sample])],
        ..profile([operation("f", &noisy(1e6, 0.01))])
    }
}

fn recorded(device: &str, samples: impl IntoIterator<Item = LoadSample>) -> LoadRecord {
    LoadRecord {
        interval_ns: 1_000_000_000,
        merged: 1,
        devices: vec![DeviceLoad {
            device: device.to_owned(),
            name: None,
            samples: samples.into_iter().collect(),
        }],
        ..LoadRecord::default()
    }
}

/// The warnings of a sample on each side, both ways round.
fn both_ways(device: &str, one: &LoadSample, other: &LoadSample) -> [Vec<Warning>; 2] {
    let of = |before: &LoadSample, after: &LoadSample| {
        let [before, after] = [before, after].map(|sample| loaded(device, sample.clone()));
        compared(&before, &after, &Options::default()).warnings
    };
    [of(one, other), of(other, one)]
}

#[track_caller]
fn warned(one: &LoadSample, other: &LoadSample) -> String {
    let found = both_ways("cpu", one, other);
    let texts = found.iter().flatten().map(ToString::to_string);
    let texts: Vec<String> = texts.collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    texts.join("\n")
}

#[track_caller]
fn silent(one: &LoadSample, other: &LoadSample) {
    assert_eq!(both_ways("cpu", one, other), [vec![], vec![]]);
}

fn others(used: f64) -> LoadSample {
    LoadSample {
        other_used: Some(used.into()),
        ..LoadSample::default()
    }
}

fn clock(used: f64, hz: f64) -> LoadSample {
    LoadSample {
        used: Some(used.into()),
        clock_hz: Some(hz.into()),
        ..LoadSample::default()
    }
}

#[test]
fn other_programs() {
    assert_snapshot!(warned(&others(0.01), &others(0.23)), @r"
    other programs used 23.0 % of the cores while the current side was measured, and 1.0 % while the baseline was: differences may be theirs; measure again while nothing else runs
    other programs used 23.0 % of the cores while the baseline was measured, and 1.0 % while the current side was: differences may be theirs; measure again while nothing else runs
    ");
    silent(&others(0.01), &others(0.0599));
    // As busy on both sides is bad, but it is no difference.
    silent(&others(0.5), &others(0.52));
    silent(&others(0.5), &LoadSample::default());
}

#[test]
fn a_lower_clock_while_in_use() {
    assert_snapshot!(warned(&clock(0.9, 3.5e9), &clock(0.7, 2.8e9)), @r"
    cpu ran at 2.80 GHz while the current side was measured, and at 3.50 GHz while the baseline was: differences may be the clock's; set the same governor and limits
    cpu ran at 2.80 GHz while the baseline was measured, and at 3.50 GHz while the current side was: differences may be the clock's; set the same governor and limits
    ");
    silent(&clock(0.9, 3.5e9), &clock(0.9, 3.4e9));
    // An idle device's clock says nothing.
    silent(&clock(0.9, 3.5e9), &clock(0.1, 0.8e9));
}

#[test]
fn a_device_that_nothing_ran_on_is_none_to_warn_of() {
    let (fast, slow) = (clock(0.9, 2e9), clock(0.9, 1e9));
    assert_eq!(both_ways("cuda:0", &fast, &slow), [vec![], vec![]]);
    let on_gpu = |sample: &LoadSample| {
        let mut profile = loaded("cuda:0", sample.clone());
        profile.operations[0].device = "cpu+cuda:0".to_owned();
        profile
    };
    let (before, after) = (on_gpu(&fast), on_gpu(&slow));
    let warnings = compared(&before, &after, &Options::default()).warnings;
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].kind, WarningKind::LowerClock);
    assert!(warnings[0].text.starts_with("cuda:0 ran at 1.00 GHz"));
}

#[test]
fn figures_are_over_the_readings_of_all_recordings() {
    let first = LoadSample {
        readings: 3,
        duration_ns: 3,
        ..clock(1.0, 3e9)
    };
    let second = LoadSample {
        duration_ns: 1,
        ..clock(0.0, 1e9)
    };
    let records = [
        recorded("cuda:0", [second.clone()]),
        recorded("cpu", [first, second]),
    ];
    let figures = load_figures(&records);
    assert_eq!(figures[0].device, "cpu");
    assert_eq!((figures[0].readings, figures[0].recorded_ns), (4, 4));
    let used = figures[0].used.unwrap();
    assert_eq!((used.least, used.mean, used.greatest), (0.0, 0.75, 1.0));
    assert_eq!(figures[0].clock_hz.unwrap().mean, 2.5e9);
    assert_eq!(figures[0].busy_clock_hz, Some(3e9));
    assert_eq!(figures[1].busy_clock_hz, None);
    assert_eq!(figures[1].limited, None);
}
