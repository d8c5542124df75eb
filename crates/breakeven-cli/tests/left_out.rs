//! The judge alone: what it lists, and what it says of the commands that it does not have.

use insta::assert_snapshot;

use crate::command::line;

#[test]
fn a_command_that_is_left_out_says_how_it_is_installed() {
    assert_snapshot!(line("plan --tasks 9 --task-time 1ms").run().refusal(), @"error: this build only judges; it has neither `breakeven plan` nor the other commands that measure or run; `cargo install breakeven-cli` installs all commands, with the code for GPUs; `cargo install breakeven-cli --no-default-features --features engine` installs all, without that code");
    let refused = line("help plan").run().refusal();
    assert!(refused.contains("`breakeven plan`"), "{refused}");
    let refused = line("plam").run().refusal();
    assert!(refused.contains("unrecognized subcommand"), "{refused}");
}

#[test]
fn the_help_lists_what_there_is() {
    assert_snapshot!(line("--help").run().quietly(0).stdout, @"
    Judges what was measured: compares, gates, advises, reports. This build has no commands that measure
    or run

    Usage: breakeven <COMMAND>

    Commands:
      show     Print the tables of a profile file
      compare  Compare two profiles: what became slower or faster, and what is inconclusive
      convert  Convert between profiles and the files of other benchmarks and profilers
      history  Keep profiles over time, and find what changed and when
      audit    Replay past results through a rule for CI, and count its false alarms
      report   Write a profile as one self-contained HTML page, for a browser
      advise   Advise what to change first, and estimate what it saves
      help     Print this message or the help of the given subcommand(s)

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Exit codes: 0 done or passed, 1 a regression, work that failed or a budget that was exceeded, 2
    wrong use, unreadable or mismatched input, 3 nothing could be judged, 130 interrupted.
    ");
}
