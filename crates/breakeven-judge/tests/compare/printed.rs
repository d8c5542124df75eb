//! A comparison in words.

use breakeven_judge::ProfilerComparison;
use breakeven_judge::compare::Options;
use insta::assert_snapshot;

use super::{compared, noisy, operation, profile};

/// One operation of each verdict.
fn sample() -> ProfilerComparison {
    let baseline = profile([
        operation("same", &noisy(1e6, 0.01)),
        operation("slower", &noisy(1e6, 0.01)),
        operation("much_slower", &noisy(1e6, 0.01)),
        operation("faster", &noisy(1e6, 0.01)),
        operation("unsteady", &noisy(1e6, 0.2)),
        operation("gone", &noisy(1e6, 0.01)),
    ]);
    let current = profile([
        operation("same", &noisy(1e6, 0.01)),
        operation("slower", &noisy(1.1e6, 0.01)),
        operation("much_slower", &noisy(2e6, 0.01)),
        operation("faster", &noisy(5e5, 0.01)),
        operation("unsteady", &noisy(1.1e6, 0.2)),
        operation("n|e<w>", &noisy(1e6, 0.01)),
    ]);
    compared(&baseline, &current, &Options::default())
}

fn printed(print: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut text = Vec::new();
    print(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn summary_and_lists() {
    let found = sample();
    assert_snapshot!(printed(|out| found.print_summary(out)), @r"
    7 operation(s) compared by time, threshold 5.0 %: 2 regressions, 1 improvement,
    1 inconclusive, 1 unchanged, 1 new, 1 removed
    ");
    assert_snapshot!(printed(|out| found.print_regressions(9, out)), @r"
    operation           baseline  current    change        95 % interval        p
    REGRESSION
    much_slower on cpu   1.00 ms  2.00 ms  +100.0 %  +97.2 % to +102.9 %  <0.0001
    slower on cpu        1.00 ms  1.10 ms   +10.0 %    +8.4 % to +11.6 %  <0.0001
    left out: runs; a wider terminal or COLUMNS=160 shows more, JSON all
    ");
    assert_snapshot!(printed(|out| found.print_improvements(9, out)), @r"
    operation      baseline  current   change       95 % interval        p   runs
    IMPROVEMENT
    faster on cpu   1.00 ms   500 µs  -50.0 %  -50.7 % to -49.3 %  <0.0001  5 → 5
    ");
}

#[test]
fn a_list_of_nothing_says_whether_there_may_be_something() {
    let same = profile([operation("a", &noisy(1e6, 0.01))]);
    let found = compared(&same, &same, &Options::default());
    let text = printed(|out| found.print_regressions(9, out));
    assert_eq!(text, "no regressions\n");
    let one = profile([operation("a", &[1_000_000])]);
    let found = compared(&one, &one, &Options::default());
    let text = printed(|out| found.print_improvements(9, out));
    assert_eq!(
        text,
        "no improvements found; 1 of 1 operation(s) are inconclusive\n"
    );
}

#[test]
fn markdown() {
    assert_snapshot!(printed(|out| sample().page().markdown(out)));
}

/// GitHub refuses a step summary of more than 1 MiB.
#[test]
fn markdown_of_very_many_operations_is_cut_but_not_the_regressions() {
    let name = |index: usize| format!("{index}{}", "<|&>".repeat(200));
    let side = |worse: u64| {
        profile((0..2_000).map(|index| {
            let ns = if index % 20 == 0 { worse } else { 1_000_000 };
            let mut operation = operation(&name(index), &[ns]);
            operation.workload = Some(ns.to_string());
            operation
        }))
    };
    let found = compared(&side(1_000_000), &side(2_000_000), &Options::default());
    assert_eq!(found.warnings.len(), 1 + 100);
    let text = printed(|out| found.page().markdown(out));
    assert!(text.len() < 600_000, "{}", text.len());
    assert!(text.contains("\n… and 1700 more\n"), "{text}");
    let plain = Options {
        plain_threshold: true,
        ..Options::default()
    };
    let found = compared(&side(1_000_000), &side(2_000_000), &plain);
    let text = printed(|out| found.page().markdown(out));
    assert_eq!(text.matches("**REGRESSION**").count(), 100);
}
