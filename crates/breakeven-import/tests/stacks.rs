//! Collapsed stacks and speedscope: files of py-spy and perf, and what is wrong.

use std::io::Cursor;

use breakeven_import::{Imported, Options, count_ns, read, read_from};
use insta::assert_snapshot;

use crate::support::{data, imported, paths, refused, summary};

fn unit(text: &str) -> Options {
    Options {
        count_ns: count_ns(text),
        ..Options::default()
    }
}

fn read_text(text: &str, options: &Options) -> Imported {
    read_from(Cursor::new(text.to_owned()), "stacks", options).expect(text)
}

#[test]
fn collapsed_by_py_spy() {
    let imported = read(&data("collapsed/py-spy.txt"), &unit("100hz")).expect("py-spy's");
    assert_snapshot!(summary(&imported));
}

#[test]
fn collapsed_by_perf_and_inferno() {
    let imported = read(&data("collapsed/perf-inferno.txt"), &unit("ns")).expect("perf's");
    assert_snapshot!(format!(
        "{}{}",
        summary(&imported),
        paths(&imported.profile)
    ));
}

#[test]
fn a_frame_that_is_there_twice_counts_once() {
    let text = "# a comment\n\na;b;a 3\na;c 2.5\r\nd 0\n";
    let imported = read_text(text, &unit("us"));
    assert_snapshot!(format!(
        "{}{}",
        summary(&imported),
        paths(&imported.profile)
    ));
}

#[test]
fn speedscope_by_py_spy() {
    let imported = imported("speedscope/py-spy.json");
    assert_snapshot!(summary(&imported));
}

const EVENTS: &str = r#"{"shared": {"frames": [{"name": "a"}, {"name": "b"}, {"name": "b", "file": "x.js", "line": 3}]},
    "profiles": [{"type": "evented", "name": "main", "unit": "milliseconds", "startValue": 0, "endValue": 9,
    "events": [{"type": "O", "at": 1, "frame": 0}, {"type": "O", "at": 2, "frame": 1}, {"type": "C", "at": 4.5, "frame": 1},
    {"type": "O", "at": 5, "frame": 2}, {"type": "C", "at": 6, "frame": 2}, {"type": "C", "at": 8, "frame": 0}, {"type": "O", "at": 9, "frame": 0}]}]}"#;

#[test]
fn speedscope_with_events() {
    let imported = read_text(EVENTS, &Options::default());
    assert_snapshot!(format!(
        "{}{}",
        summary(&imported),
        paths(&imported.profile)
    ));
}

#[test]
fn what_is_wrong_with_stacks() {
    let collapsed = [
        ("a;b 1\n", Options::default()),
        ("a;b\n", unit("ns")),
        ("", unit("ns")),
    ];
    let from = breakeven_import::Format::named("collapsed");
    let collapsed = collapsed.map(|(text, options)| refused(text, &Options { from, ..options }));
    let changed = |from: &str, to: &str| refused(EVENTS.replace(from, to), &Options::default());
    let speedscope = [
        changed("milliseconds", "bytes"),
        changed("milliseconds", "none"),
        changed(r#""unit": "milliseconds", "#, ""),
        changed(
            r#"{"name": "a"}, {"name": "b"}, {"name": "b", "file": "x.js", "line": 3}"#,
            "",
        ),
        refused(&EVENTS[..150], &Options::default()),
    ];
    assert_snapshot!(
        collapsed
            .into_iter()
            .chain(speedscope)
            .collect::<Vec<_>>()
            .join("\n")
    );
}
