//! One alert per change, whoever measures, and its recovery.

use std::fs;

use insta::assert_snapshot;
use serde_json::json;

use super::hook::Hook;
use super::{Place, steady};

#[test]
fn a_doubled_time_is_one_alert_and_its_recovery_one() {
    let place = Place::new(&[(8.0, 12), (16.0, 8), (8.0, 8)]);
    let hook = Hook::answering(|_| 200);
    let command = "cat >> stdin; echo >> stdin; \
        echo $BREAKEVEN_ALERT_STATE $BREAKEVEN_ALERT_OPERATION $BREAKEVEN_ALERT_DEVICE \
        $BREAKEVEN_ALERT_ENTRY >> variables";
    let ended = place.measure(
        28,
        &["--on-alert", command, "--webhook", &hook.url("/alert?a=b")],
    );
    assert_eq!((ended.code, &*ended.stderr), (Some(1), ""), "{ended:#?}");
    assert_eq!(place.events("measured").len(), 28);
    let alerts = place.events("alert");
    assert_eq!(place.states(), ["open", "recovered"], "{alerts:#?}");
    let open = &alerts[0];
    let facts = [
        &open["by"],
        &open["operation"],
        &open["device"],
        &open["entry"],
        &open["interval"],
    ];
    assert_eq!(json!(facts), json!(["factor", "decode", "cpu", 13, null]));
    let ratio = open["ratio"].as_f64().unwrap();
    assert!((1.9..2.1).contains(&ratio), "{open}");
    // Both were told the same.
    let variables = fs::read_to_string(place.file("variables")).unwrap();
    let closed_by = &alerts[1]["entry"];
    assert_eq!(
        variables,
        format!("open decode cpu 13\nrecovered decode cpu {closed_by}\n")
    );
    let stdin = fs::read_to_string(place.file("stdin")).unwrap();
    let stdin: Vec<serde_json::Value> = stdin
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(stdin, hook.bodies());
    assert_eq!(stdin[0]["state"], "open");
    assert_eq!(stdin[0]["old_ns"], open["old_ns"]);
    assert!(hook.heads().iter().all(|head| {
        head.starts_with("POST /alert?a=b HTTP/1.1\r\n")
            && head.contains("content-type: application/json\r\n")
    }));
    // A busy machine may be late.
    let lines = ended.stdout.lines();
    let lines: Vec<&str> = lines.filter(|line| !line.contains("that took")).collect();
    let around = lines[11..14].join("\n");
    assert_snapshot!(steady(&around, place.folder.path()), @r"
    entry 12: 1 operation in [time]
    entry 13: 1 operation in [time]
    ALERT decode on cpu: 8.04 ms before, 16.1 ms now, × 2.01, by its newest value
    ");
    let back = lines
        .iter()
        .find(|line| line.contains("recovered"))
        .unwrap();
    assert_snapshot!(steady(back, place.folder.path()), @"recovered decode on cpu: 8.04 ms, after [time]; 7.99 ms before");
}

#[test]
fn a_program_that_is_started_again_does_not_tell_it_again() {
    let place = Place::new(&[(8.0, 12), (16.0, 8)]);
    for _ in 0..12 {
        assert_eq!(place.measure(1, &[]).code, Some(0));
    }
    assert_eq!(place.measure(1, &[]).code, Some(1));
    for _ in 0..7 {
        assert_eq!(place.measure(1, &[]).code, Some(0));
    }
    assert_eq!(place.states(), ["open"]);
}

#[test]
fn a_smaller_change_is_told_once_it_is_significant() {
    let place = Place::new(&[(8.0, 20), (9.2, 10)]);
    let ended = place.measure(30, &[]);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert_eq!(place.states(), ["open"]);
    let alert = &place.events("alert")[0];
    assert_eq!(alert["by"], "significance");
    assert!(alert["interval"][0].as_f64() > Some(1.05), "{alert}");
    // From another factor on the newest value is enough.
    let place = Place::new(&[(8.0, 6), (9.2, 1)]);
    let ended = place.measure(7, &["--alert-factor", "1.1"]);
    assert_eq!(
        (ended.code, place.states()),
        (Some(1), vec!["open".to_owned()])
    );
}

#[test]
fn two_programs_on_one_history_tell_it_once() {
    let place = Place::new(&[(8.0, 12)]);
    assert_eq!(place.measure(12, &[]).code, Some(0));
    fs::write(
        place.file("times"),
        "16000000\n16010000\n16020000\n16030000\n".repeat(20),
    )
    .unwrap();
    let start = || place.next(4, &[]).command.spawn().unwrap();
    let both = [start(), start()];
    for child in both {
        let output = child.wait_with_output().unwrap();
        assert!(output.stderr.is_empty(), "{output:?}");
    }
    let lines = place.log();
    assert_eq!(place.states(), ["open"], "{lines:#?}");
    // Each time was added, or is there already: none was lost, and no line is broken.
    assert!(
        place
            .events("failed")
            .iter()
            .all(|line| line["reason"].as_str().unwrap().contains("already"))
    );
    assert_eq!(lines.len(), 12 + 8 + 1 + place.events("late").len());
}
