//! Commands and servers that do not take an alert: it is logged, and measuring goes on.

use std::net::TcpListener;
use std::time::Duration;

use insta::assert_snapshot;

use super::Place;
use super::hook::Hook;

/// Three good runs, one bad one that is told so, and one more.
#[track_caller]
fn not_told(options: &[&str]) -> Vec<String> {
    let place = Place::new(&[(8.0, 4), (16.0, 2)]);
    let ended = place.measure(6, options);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.took < Duration::from_secs(40), "{ended:#?}");
    assert_eq!(
        (place.events("measured").len(), place.states()),
        (6, vec!["open".to_owned()])
    );
    let events = place.events("not_told").into_iter();
    events
        .map(|event| {
            format!(
                "{}: {}",
                event["by"].as_str().unwrap(),
                event["reason"].as_str().unwrap()
            )
        })
        .collect()
}

#[test]
fn a_command_that_fails() {
    assert_snapshot!(not_told(&["--on-alert", "exit 3"]).join("\n"), @"command: the command of --on-alert failed (exit status: 3)");
}

#[test]
fn a_command_that_hangs_with_all_that_it_started() {
    let told = not_told(&[
        "--on-alert",
        "sleep 600 & sleep 601",
        "--alert-timeout",
        "300ms",
    ]);
    assert_snapshot!(told.join("\n"), @"command: the command of --on-alert took more than 0.3 s and was ended");
    let left = std::process::Command::new("pgrep")
        .args(["-f", "^sleep 60[01]$"])
        .output();
    if let Ok(left) = left {
        assert!(left.stdout.is_empty(), "left behind: {left:?}");
    }
}

#[test]
fn a_command_that_is_not_there() {
    assert_snapshot!(not_told(&["--on-alert", "/proc/nonexistent/pager 2>/dev/null"]).join("\n"), @"command: the command of --on-alert failed (exit status: 127)");
}

#[test]
fn a_command_that_reads_nothing_is_fine() {
    assert_eq!(not_told(&["--on-alert", "true"]), [""; 0]);
}

#[test]
fn a_server_that_has_a_bad_moment_is_asked_again() {
    let hook = Hook::answering(|number| if number < 2 { 503 } else { 204 });
    assert_eq!(not_told(&["--webhook", &hook.url("/")]), [""; 0]);
    let bodies = hook.bodies();
    assert!(bodies.len() == 3 && bodies.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_server_that_fails_for_good() {
    let hook = Hook::answering(|_| 500);
    let told = not_told(&["--webhook", &hook.url("/x")]).join("\n");
    assert_snapshot!(told.replace(&hook.url(""), "http://[address]"), @"webhook: http://[address]/x answered 500 Internal Server Error");
    assert_eq!(hook.heads().len(), 4);
    // A refusal is none to try again.
    let hook = Hook::answering(|_| 404);
    let told = not_told(&["--webhook", &hook.url("/x")]).join("\n");
    assert_snapshot!(told.replace(&hook.url(""), "http://[address]"), @"webhook: http://[address]/x answered 404 Not Found");
    assert_eq!(hook.heads().len(), 1);
}

#[test]
fn a_server_that_does_not_answer() {
    let hook = Hook::answering(|_| 0);
    let told = not_told(&["--webhook", &hook.url("/x"), "--alert-timeout", "200ms"]).join("\n");
    assert_snapshot!(told.replace(&hook.url(""), "http://[address]"), @"webhook: http://[address]/x did not answer within 0.2 s");
    assert_eq!(hook.heads().len(), 4);
}

#[test]
fn a_server_that_is_down() {
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let url = format!("http://{free}/x");
    let told = not_told(&["--webhook", &url]).join("\n");
    assert_snapshot!(told.replace(&free.to_string(), "[address]"), @"webhook: http://[address]/x cannot be reached: Connection refused (os error 111)");
}
