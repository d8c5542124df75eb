//! Texts that are too long or that a terminal would obey.

use std::time::Duration;

use made_up::{gpu, nothing, program, programs, reading};
use unicode_width::UnicodeWidthStr as _;

use super::*;

pub(crate) mod made_up;

fn text(reading: Reading, programs: ProgramsReading, width: usize) -> String {
    let mut load = Load::new("a processor, 2 cores".to_owned(), Duration::from_secs(1));
    load.take((reading, programs));
    let mut text = Vec::new();
    load.page(width).text(width, false, &mut text).unwrap();
    String::from_utf8(text).unwrap()
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
    for width in 40..240 {
        let text = text(reading(vec![one.clone()]), programs.clone(), width);
        let wider = text.lines().find(|line| line.width() > width);
        assert!(wider.is_none(), "{width} columns: {wider:?}");
    }
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
    let shown = text(nothing(), programs, 400);
    let obeyed = |c: char| c != '\n' && breakeven_judge::page::is_obeyed(c);
    assert!(!shown.contains(obeyed), "{shown:?}");
    assert_eq!(shown.matches(r"\u{1b}[2J").count(), 8, "{shown}");
}
