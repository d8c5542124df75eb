//! Runs that fail, take long or are interrupted, and the suite.

use std::fs;
use std::time::Duration;

use insta::assert_snapshot;

use super::{Place, steady};
use crate::command::{Ended, line};
use crate::engine::interrupt::signal;

/// What is printed of runs of a shell's command.
fn printed(place: &Place, options: &str, script: &str) -> Ended {
    let every = place
        .every(options)
        .arg("--")
        .arg("sh")
        .arg("-c")
        .arg(script);
    let mut ended = every.run();
    ended.stdout = steady(&ended.stdout, place.folder.path());
    ended
}

/// What is printed besides runs that a busy machine made longer than the period.
fn printed_in_time(place: &Place, options: &str, script: &str) -> Ended {
    let mut ended = printed(place, options, script);
    let lines = ended.stdout.lines();
    let lines = lines.filter(|line| !line.contains(", longer than the period of "));
    ended.stdout = lines.map(|line| format!("{line}\n")).collect();
    ended
}

const PROFILE: &str = r#"{"format": "breakeven-profile", "version": 1, "operations": [{"name": "f", "samples_ns": [5, 6]}]}"#;

#[test]
fn a_run_that_fails_is_told_and_the_next_one_goes_on() {
    let place = Place::new(&[]);
    let script = "test -e once && exit 7; touch once; echo nonsense";
    let failed = printed_in_time(&place, "--count 2", script);
    assert_eq!(failed.code, Some(1), "{failed:#?}");
    assert_snapshot!(failed.stdout, @r"
    failed after [time]: no profile was written: its standard output:1:2: not a breakeven profile: it begins with 'n', where a profile begins with '{'
    failed after [time]: the run failed (exit status: 7)
    ");
    let empty = printed(&place, "--count 1", "true");
    assert_snapshot!(empty.stdout, @"failed after [time]: no profile was written: its standard output:1:0: the file is empty; write the profile again");
    let mut missing = place.every("--count 1 -- /proc/nonexistent/program").run();
    missing.stdout = steady(&missing.stdout, place.folder.path());
    assert_snapshot!(missing.stdout, @"failed after [time]: cannot run /proc/nonexistent/program: No such file or directory (os error 2)");
    let nothing = r#"echo '{"format": "breakeven-profile", "version": 1}'"#;
    assert_snapshot!(printed(&place, "--count 1", nothing).stdout, @"failed after [time]: the profile has no times; measure before adding it");
}

#[test]
fn a_profile_is_read_from_the_file_that_is_named_if_it_was_written_anew() {
    let place = Place::new(&[]);
    let script = format!("test -e once || echo '{PROFILE}' > p.json; touch once");
    let ended = printed_in_time(&place, "--count 2 --profile p.json", &script);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert_snapshot!(ended.stdout, @r"
    entry 1: 1 operation in [time]
    failed after [time]: p.json: the command did not write it anew
    ");
}

#[test]
fn the_very_same_profile_is_not_added_twice() {
    let place = Place::new(&[]);
    let created = PROFILE.replace(
        "\"version\"",
        "\"created\": \"2026-01-02T03:04:05Z\", \"version\"",
    );
    let ended = printed_in_time(&place, "--count 2", &format!("echo '{created}'"));
    assert_snapshot!(ended.stdout, @r"
    entry 1: 1 operation in [time]
    failed after [time]: the history has this very profile already: was nothing measured anew?
    ");
}

#[test]
fn a_run_that_is_longer_than_the_period_says_so_and_nothing_is_caught_up() {
    let place = Place::new(&[]);
    let script = format!("sleep 0.35; echo '{PROFILE}' | sed \"s/5/$$/\"");
    let ended = printed(&place, "--count 3", &script);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let late = place.events("late");
    assert_eq!(late.len(), 2, "{late:?}");
    let left_out = late[0]["left_out"].as_u64().unwrap();
    assert!((3..30).contains(&left_out), "{late:?}");
    assert!(ended.took >= Duration::from_millis(3 * 350));
    assert!(
        ended.stdout.contains("longer than the period of 100 ms: "),
        "{ended:#?}"
    );
}

#[test]
fn an_interruption_in_the_middle_of_a_run_keeps_what_was_measured() {
    let place = Place::new(&[]);
    let script = format!("test -e once && exec sleep 60; touch once; echo '{PROFILE}'");
    let mut every = place.every("").arg("--").arg("sh").arg("-c").arg(&script);
    let child = every.command.spawn().unwrap();
    let (once, start) = (place.file("once"), std::time::Instant::now());
    while !once.exists() || start.elapsed() < Duration::from_millis(700) {
        assert!(start.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(20));
    }
    signal("TERM", child.id());
    let ended = Ended::of(child.wait_with_output().unwrap(), start.elapsed());
    assert_eq!(ended.code, Some(130), "{ended:#?}");
    assert_eq!(
        ended.stderr,
        "interrupted: what was measured is in the history\n"
    );
    assert_eq!(place.events("measured").len(), 1);
    assert_eq!(place.log().len(), 1, "an interruption is no failure");
    let list = line("history list --database")
        .arg(place.file("h.db"))
        .run()
        .quietly(0);
    assert!(list.stdout.contains('1'), "{}", list.stdout);
}

#[test]
fn the_suite_is_measured_with_its_options() {
    let place = Place::new(&[]);
    // Three calls without a warm-up differ by more than any usual factor.
    let suite = "--alert-factor 1e6 --count 2 --suite -- --device cpu --kernel vector_add --iterations 3 --warmup 0";
    let ended = place.every(suite).run();
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let measured = place.events("measured");
    assert_eq!(measured.len(), 2);
    assert_eq!(measured[0]["operations"], 1);
    let shown = line("history show --database")
        .arg(place.file("h.db"))
        .run()
        .quietly(0);
    assert!(shown.stdout.contains("vector_add"), "{}", shown.stdout);
    // Options that are wrong are a run that fails, with what `profile` says.
    let wrong = place.every("--count 1 --suite -- --kernel nonsense").run();
    assert_eq!(wrong.code, Some(1), "{wrong:#?}");
    assert!(
        wrong.stderr.contains("there is no such kernel"),
        "{wrong:#?}"
    );
}

#[test]
fn a_log_on_a_full_disk_stops_nothing() {
    if fs::metadata("/dev/full").is_err() {
        return;
    }
    let place = Place::new(&[]);
    let mut every = crate::command::breakeven(
        "monitor --every 100ms --history h.db --count 1 --log /dev/full -- sh -c"
            .split_whitespace(),
    );
    every
        .command
        .arg(format!("echo '{PROFILE}'"))
        .current_dir(place.folder.path());
    let ended = every.run();
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(
        ended.stderr.starts_with("warning: /dev/full: "),
        "{ended:#?}"
    );
}
