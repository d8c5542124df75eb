//! Changes of level in published series that people have labelled.

mod labelled;

use breakeven_stats::change_points;
use labelled::{Labelled, all};

fn series(name: &str) -> Labelled {
    all().into_iter().find(|it| it.name == name).unwrap()
}

#[track_caller]
fn assert_close(one: f64, other: f64) {
    assert!((one - other).abs() < 1e-12, "{one} is not {other}");
}

#[test]
fn the_scores_are_those_that_the_benchmark_states() {
    // default_f1_scores.json and default_cover_scores.json of TCPDBench: `zero` finds
    // nothing anywhere, `pelt` finds 27 in the Nile.
    assert_close(series("well_log").f1(&[]), 0.237_022_526_934_378_09);
    assert_close(series("well_log").covering(&[]), 0.224_575_473_251_028_78);
    assert_close(series("quality_control_2").f1(&[]), 0.75);
    assert_close(series("nile").f1(&[]), 0.823_529_411_764_705_8);
    assert_close(series("nile").f1(&[27]), 1.0);
    assert_close(series("nile").covering(&[27]), 0.880_082_191_780_821_8);
}

#[test]
fn places_that_people_marked_are_found() {
    // Both scores of a series must be at least this.
    let least = [
        ("nile", 0.85),
        ("quality_control_2", 0.9),
        ("quality_control_3", 0.95),
        ("well_log", 0.8),
    ];
    for (name, least) in least {
        let series = series(name);
        let changes = change_points(&series.values, 0.95).unwrap();
        let found: Vec<usize> = changes.iter().map(|change| change.index).collect();
        let scores = [series.f1(&found), series.covering(&found)];
        assert!(
            scores.iter().all(|score| *score >= least),
            "{name}: {found:?} {scores:?}"
        );
    }
}
