//! `breakeven compare --format github`: workflow commands.

use insta::assert_snapshot;

use crate::command::directory;
use crate::compare::{sample, steady, within, write};

#[test]
fn annotations() {
    let args = "compare a.json b.json --gate --format github";
    assert_snapshot!(within(&sample(), args).quietly(1).stdout);
    // Regressions are to be seen without a gate as well.
    let args = "compare a.json b.json --format github";
    let reported = within(&sample(), args).quietly(0);
    assert_eq!(reported.lines_with("::error ").len(), 2, "{reported:#?}");
}

#[test]
fn no_name_ends_a_workflow_command() {
    let directory = directory();
    let name = r"50%, a::b\n::error::no\u001b";
    write(directory.path(), "a.json", &[steady(name, 1e6)]);
    write(directory.path(), "b.json", &[steady(name, 2e6)]);
    let ended = within(&directory, "compare a.json b.json --gate --format github").quietly(1);
    let errors = ended.lines_with("error");
    let [end, error] = errors[..] else {
        panic!("{ended:#?}");
    };
    let title =
        "::error title=50%25%2C a%3A%3Ab%0A%3A%3Aerror%3A%3Ano\u{fffd} on cpu::REGRESSION: ";
    assert!(error.starts_with(title), "{error}");
    assert!(end.ends_with("gate failed"), "{end}");
}
