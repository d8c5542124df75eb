//! Texts that are too long or that a terminal would obey.

use std::time::Duration;

use made_up::{gpu, nothing, program, programs, reading};
use ratatui::text::Line;

use super::*;

pub(crate) mod made_up;

fn load(reading: Reading, programs: ProgramsReading, attached: Option<u32>) -> Load {
    let mut load = Load::new(
        "a processor, 2 cores".to_owned(),
        Duration::from_secs(1),
        attached,
    );
    load.take(reading, programs);
    load
}

fn text(lines: &[Line<'_>]) -> String {
    let lines = lines.iter().map(|line| line.to_string() + "\n");
    lines.collect()
}

#[test]
fn no_line_is_wider_than_the_view() {
    let wide = "数値計算".repeat(40);
    let mut named = program(1, &wide);
    named.operations[0].name = wide.clone();
    let mut one = gpu("0000:01:00.0", &wide);
    one.processes = Fact::Unknown;
    let programs = ProgramsReading {
        programs: vec![named],
        ..programs()
    };
    for attached in [None, Some(1)] {
        let load = load(reading(vec![one.clone()]), programs.clone(), attached);
        for width in 1..240 {
            let lines = load.lines(width);
            let wider = lines.iter().find(|line| line.width() > width);
            assert!(wider.is_none(), "{width} columns: {wider:?}");
        }
    }
    assert_eq!(
        (cut("abc", 3), cut("abcd", 3)),
        ("abc".into(), "ab…".into())
    );
    assert_eq!(
        (cut("数値計", 4), cut("数値計", 1)),
        ("数…".into(), "…".into())
    );
}

#[test]
fn what_a_terminal_would_obey_is_shown_as_text() {
    let nasty = "\u{1b}[2J\u{1b}]0;owned\u{7}\r\n\u{202e}";
    let mut named = program(1, nasty);
    named.operations[0].name = nasty.to_owned();
    named.operations[0].tasks = [(nasty.to_owned(), 1)].into();
    named.stats.tasks = [(nasty.to_owned(), 1)].into();
    named.stats.device_errors = [(nasty.to_owned(), 1)].into();
    named.quarantines = [(nasty.to_owned(), 1)].into();
    named.decisions[0].text = nasty.to_owned();
    let mut programs = programs();
    programs.programs = vec![named];
    programs.left_out[0].why = nasty.to_owned();
    let load = load(nothing(), programs, None);
    let shown = text(&load.lines(400));
    let obeyed = |c: char| c != '\n' && breakeven_judge::page::is_obeyed(c);
    assert!(!shown.contains(obeyed), "{shown:?}");
    assert_eq!(shown.matches(r"\u{1b}[2J").count(), 8, "{shown}");
}

#[test]
fn the_attached_program_is_first_and_whole() {
    let only = ProgramsReading {
        programs: vec![program(4242, "simulate")],
        ..ProgramsReading::default()
    };
    let attached = text(&load(nothing(), only.clone(), Some(4242)).lines(80));
    assert!(
        attached.starts_with("program  simulate (process 4242)"),
        "{attached}"
    );
    assert_eq!(attached.matches(" ago  ").count(), 3, "{attached}");
    let listed = text(&load(nothing(), only, None).lines(80));
    assert!(listed.starts_with("cpu  a processor"), "{listed}");
    assert_eq!(listed.matches(" ago  ").count(), 2, "{listed}");
    let ended = text(&load(nothing(), ProgramsReading::default(), Some(4242)).lines(80));
    let said = "process 4242 does not publish its figures any more\n\ncpu  ";
    assert!(ended.starts_with(said), "{ended}");
}
