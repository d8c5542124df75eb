//! What is added is there, whoever else writes and however a writer ends.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use breakeven_history::{Added, At, Branches, History};
use breakeven_profile::file::FileErrorKind;
use breakeven_profile::profile::{Profile, Stack};

use crate::support::{commit, on, place, profile};

#[test]
fn a_profile_comes_back_as_it_was_but_for_stacks() {
    let (_folder, path) = place();
    let mut history = History::create(&path).unwrap();
    let mut added = on("A", profile(&[("decode", 8.0), ("encode", 3.25)]));
    added.operations[0].size = Some(512);
    added.generator = Some("test 1.0".to_owned());
    added.stacks.push(Stack::default());
    let Added::New(entry) = history.add(&added, &commit(0)).unwrap() else {
        panic!("it was not there");
    };
    let back = History::open(&path).unwrap().profile(entry).unwrap();
    let expected = Profile {
        stacks: Vec::new(),
        ..added
    };
    assert_eq!(back, expected);
}

#[test]
fn the_same_profile_of_a_commit_is_added_once() {
    let (_folder, path) = place();
    let mut history = History::create(&path).unwrap();
    let Added::New(first) = history.add(&profile(&[("f", 1.0)]), &commit(0)).unwrap() else {
        panic!("it was not there");
    };
    let again = history.add(&profile(&[("f", 1.0)]), &commit(0)).unwrap();
    assert_eq!(again, Added::Known(first));
    // Another commit may have the very same times.
    let other = history.add(&profile(&[("f", 1.0)]), &commit(1)).unwrap();
    assert!(matches!(other, Added::New(_)));
    assert_eq!(history.entries(&Branches::All).unwrap().len(), 2);
}

#[test]
fn series_are_in_the_order_of_commits_and_apart_by_machine() {
    let (_folder, path) = place();
    let mut history = History::create(&path).unwrap();
    for number in [2, 0, 1] {
        let times = [("decode", 8.0 + number as f64)];
        history
            .add(&on("A", profile(&times)), &commit(number))
            .unwrap();
    }
    history
        .add(&on("B", profile(&[("decode", 1.0)])), &commit(3))
        .unwrap();
    let branch = At {
        branch: Some("topic".to_owned()),
        ..commit(4)
    };
    history
        .add(&on("A", profile(&[("decode", 99.0)])), &branch)
        .unwrap();
    let main = Branches::Of(Some("main".to_owned()));
    assert_eq!(history.main_branch().unwrap(), main);
    let loaded = history.load(&main).unwrap();
    let series: Vec<(&str, Vec<f64>)> = (loaded.series.iter())
        .map(|series| {
            let values = series
                .points
                .iter()
                .map(|point| (point.low_ns / 1e6).round());
            (series.machine.as_str(), values.collect())
        })
        .collect();
    assert_eq!(series, [("A", vec![8.0, 9.0, 10.0]), ("B", vec![1.0])]);
    let commits: Vec<_> = (loaded.series[0].points.iter())
        .map(|point| loaded.entry(point).commit.clone().unwrap())
        .collect();
    assert_eq!(commits, ["c000", "c001", "c002"]);
    assert_eq!(
        history.load(&Branches::All).unwrap().series[0].points.len(),
        4
    );
}

#[test]
fn entries_are_annotated_and_removed() {
    let (_folder, path) = place();
    let mut history = History::create(&path).unwrap();
    for number in 0..3 {
        history
            .add(&profile(&[("f", 1.0 + number as f64)]), &commit(number))
            .unwrap();
    }
    let named = &history.entries(&Branches::All).unwrap()[1..2];
    history.annotate(named, "new\n compiler", true).unwrap();
    let entries = history.entries(&Branches::All).unwrap();
    assert_eq!(entries[1].notes, ["new compiler"]);
    assert_eq!([entries[0].accepted, entries[1].accepted], [false, true]);
    history.remove(named).unwrap();
    let left = history.load(&Branches::All).unwrap();
    let points = left.series[0].points.iter();
    let commits: Vec<_> = points
        .map(|point| left.entry(point).commit.as_deref())
        .collect();
    assert_eq!(commits, [Some("c000"), Some("c002")]);
}

#[test]
fn entries_of_no_branch_are_a_series_of_their_own() {
    let (_folder, path) = place();
    let mut history = History::create(&path).unwrap();
    for number in 0..5 {
        let at = At {
            branch: (number >= 3).then(|| "topic".to_owned()),
            ..commit(number)
        };
        history
            .add(&profile(&[("f", 1.0 + number as f64)]), &at)
            .unwrap();
    }
    let detached = history.main_branch().unwrap();
    assert_eq!(detached, Branches::Of(None));
    let points = |of: &Branches| history.load(of).unwrap().series[0].points.len();
    assert_eq!([points(&detached), points(&Branches::All)], [3, 5]);
    assert_eq!(
        history
            .latest(&detached, &Profile::default().environment, 50)
            .unwrap()
            .len(),
        3
    );
}

#[test]
fn a_profile_without_times_is_refused() {
    let (_folder, path) = place();
    let mut history = History::create(&path).unwrap();
    let zeros = profile(&[("f", 0.0)]);
    for empty in [Profile::default(), zeros] {
        let error = history.add(&empty, &At::default()).unwrap_err();
        assert_eq!(error.kind(), FileErrorKind::Empty, "{error}");
    }
    let at = At {
        time: Some("yesterday".to_owned()),
        ..At::default()
    };
    let error = history.add(&profile(&[("f", 1.0)]), &at).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#""yesterday" is not a point in time; give one as 2026-03-01T12:00:00Z"#
    );
}

#[test]
fn writers_side_by_side_lose_nothing() {
    let (_folder, path) = place();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let path = &path;
            scope.spawn(move || {
                let mut history = History::create(path).unwrap();
                for number in 0..15 {
                    let times = [("f", 1.0 + (writer * 100 + number) as f64)];
                    history.add(&profile(&times), &commit(number)).unwrap();
                    history.load(&Branches::All).unwrap();
                }
            });
        }
    });
    let history = History::open(&path).unwrap();
    assert_eq!(
        history.load(&Branches::All).unwrap().series[0].points.len(),
        60
    );
}

/// Where the process that is killed writes.
const VICTIM: &str = "BREAKEVEN_HISTORY_VICTIM";

#[test]
fn a_writer_that_is_killed_leaves_whole_entries() {
    if let Some(path) = std::env::var_os(VICTIM) {
        let mut history = History::create(path.as_ref()).unwrap();
        for number in 0.. {
            let times: Vec<(String, f64)> = (0..50)
                .map(|operation| (format!("f{operation}"), 1.0 + f64::from(number)))
                .collect();
            let times: Vec<_> = times.iter().map(|(name, ms)| (&**name, *ms)).collect();
            history.add(&profile(&times), &At::default()).unwrap();
        }
    }
    let (_folder, path) = place();
    for _ in 0..3 {
        let test = "keeping::a_writer_that_is_killed_leaves_whole_entries";
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test])
            .env(VICTIM, &path)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let before = entries(&path);
        let start = Instant::now();
        while entries(&path) < before + 5 {
            assert!(start.elapsed() < Duration::from_secs(60), "it writes");
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let history = History::open(&path).unwrap();
    let entries = history.entries(&Branches::All).unwrap();
    assert!(entries.len() >= 15);
    assert!(entries.iter().all(|entry| entry.operations == 50));
    let loaded = history.load(&Branches::All).unwrap();
    let points: usize = loaded.series.iter().map(|series| series.points.len()).sum();
    assert_eq!(points, 50 * entries.len());
    for entry in &entries {
        assert_eq!(history.profile(entry.id).unwrap().operations.len(), 50);
    }
}

fn entries(path: &std::path::Path) -> usize {
    History::open(path).map_or(0, |history| history.entries(&Branches::All).unwrap().len())
}
