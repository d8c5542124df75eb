//! Wrong use: said at the start, before anything is measured.

use std::fs;

use insta::assert_snapshot;

use super::Place;
use crate::command::{directory, line};

fn refused(args: &str) -> String {
    line(args).run().refusal()
}

#[test]
fn wrong_arguments() {
    assert_snapshot!(refused("monitor --every 10ms --suite"), @r"
    error: invalid value '10ms' for '--every <TIME>': give 0.1 s to a year, as in 10m or 6h

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("monitor --every often --suite"), @r#"
    error: invalid value 'often' for '--every <TIME>': "often" is not a duration; write a number and a unit, as in "2 ms" or "800 us"

    For more information, try '--help'.
    "#);
    let nothing = refused("monitor --every 1s");
    assert_snapshot!(nothing, @"error: there is nothing to measure: give --suite, or a command that writes a profile behind --");
    assert_eq!(refused("monitor --every 10m"), nothing);
    assert_eq!(refused("monitor --every 6h"), nothing);
    assert_snapshot!(refused("monitor --suite"), @r"
    error: the following required arguments were not provided:
      --every <TIME>

    Usage: breakeven monitor --every <TIME> --suite [-- <CMD>...]

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("monitor --count 3"), @r"
    error: the following required arguments were not provided:
      --every <TIME>

    Usage: breakeven monitor --every <TIME> --count <N> [-- <CMD>...]

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("monitor --every 1s --count 0 --suite"), @r"
    error: invalid value '0' for '--count <N>': give a whole number, 1 or more

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("monitor --every 1s --suite --alert-factor 1"), @r"
    error: invalid value '1' for '--alert-factor <FACTOR>': give a factor above 1, as in 1.5

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("monitor --every 1s --suite --alert-timeout 0s"), @r"
    error: invalid value '0s' for '--alert-timeout <TIME>': give a time above zero, as in 30s

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("monitor --every 1s --suite --profile p.json"), @r"
    error: the argument '--suite' cannot be used with '--profile <FILE>'

    Usage: breakeven monitor --every <TIME> --suite [-- <CMD>...]

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("monitor --every 1s --suite --record f.json"), @r"
    error: the argument '--every <TIME>' cannot be used with '--record <FILE>'

    Usage: breakeven monitor --every <TIME> --suite [-- <CMD>...]

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("monitor --every 1s --suite --webhook https://example.org/x"), @r"
    error: invalid value 'https://example.org/x' for '--webhook <URL>': https is not spoken here; --on-alert 'curl --json @- https://…' sends the same

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("monitor --every 1s --suite --webhook example.org"), @r"
    error: invalid value 'example.org' for '--webhook <URL>': give http://HOST:PORT/PATH

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("monitor --every 1s --suite --webhook http://me@example.org/"), @r"
    error: invalid value 'http://me@example.org/' for '--webhook <URL>': no user may be in it; --on-alert 'curl …' can send one

    For more information, try '--help'.
    ");
    let directory = directory();
    let history = directory.path().join("absent.db");
    let log = format!(
        "monitor --every 1s --suite --log /proc/nonexistent/log --history {}",
        history.display()
    );
    assert_snapshot!(refused(&log), @"error: /proc/nonexistent/log cannot be written: No such file or directory (os error 2)");
}

/// What is said of a history with this content.
#[track_caller]
fn refused_history(prepare: impl Fn(&Place)) -> String {
    let place = Place::new(&[(8.0, 3)]);
    prepare(&place);
    let before = fs::read(place.file("h.db")).unwrap();
    let said = place.measure(1, &[]).refusal();
    assert!(!place.file("n").exists(), "something was measured");
    assert_eq!(fs::read(place.file("h.db")).unwrap(), before);
    said
}

#[test]
fn a_history_that_is_none() {
    assert_snapshot!(refused_history(|place| fs::write(place.file("h.db"), "no database").unwrap()), @"error: h.db: is not a history of breakeven: it is not an SQLite database; name another file");
    let newer = refused_history(|place| {
        assert_eq!(place.measure(1, &[]).code, Some(0));
        fs::remove_file(place.file("n")).unwrap();
        // The user's version of the format, bytes 60 to 63 of an SQLite file.
        let mut bytes = fs::read(place.file("h.db")).unwrap();
        bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
        fs::write(place.file("h.db"), bytes).unwrap();
    });
    assert_snapshot!(newer, @"error: h.db: is of version 99 of the format, and this build knows up to 1; update breakeven");
    let damaged = refused_history(|place| {
        assert_eq!(place.measure(1, &[]).code, Some(0));
        fs::remove_file(place.file("n")).unwrap();
        let mut bytes = fs::read(place.file("h.db")).unwrap();
        bytes[100..].fill(0xff);
        fs::write(place.file("h.db"), bytes).unwrap();
    });
    assert!(damaged.contains("h.db: is damaged: "), "{damaged}");
}
