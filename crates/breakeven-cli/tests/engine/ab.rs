//! `breakeven ab`: two commands in turns.

use serde_json::Value;

use crate::command::breakeven;

const SLEEPS: [&str; 2] = ["sleep 0.02", "sleep 0.03"];

#[test]
fn the_faster_of_two_commands_is_reported() {
    let said = breakeven(["ab", SLEEPS[0], SLEEPS[1]])
        .run()
        .quietly(0)
        .stdout;
    assert!(said.starts_with("B is slower: it takes 1."), "{said}");
    let json = breakeven(["ab", "--format", "json", SLEEPS[1], SLEEPS[0]])
        .run()
        .quietly(0)
        .stdout;
    let compared: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(compared["verdict"], "IMPROVEMENT");
    let runs = |side: &str| compared[side].as_array().unwrap().len();
    assert!(
        runs("a_ns") == runs("b_ns") && runs("a_ns") >= 3,
        "{compared}"
    );
    assert!(compared["upper"].as_f64() < Some(1.0), "{compared}");
}

#[test]
fn the_exit_code_is_the_verdict_where_that_is_asked_for() {
    let gated = |a, b, budget| {
        breakeven(["ab", "--gate", "--time-limit", budget, a, b])
            .run()
            .code
    };
    assert_eq!(gated(SLEEPS[0], SLEEPS[1], "60s"), Some(1));
    assert_eq!(gated(SLEEPS[1], SLEEPS[0], "60s"), Some(0));
    assert_eq!(gated(SLEEPS[0], SLEEPS[0], "1ns"), Some(3));
}

#[test]
fn a_command_that_cannot_be_compared_is_reported() {
    let ended = breakeven(["ab", "true", "sh -c 'exit 3'"]).run();
    assert_eq!(ended.code, Some(1));
    let said = "error: \"sh -c 'exit 3'\" failed (exit status 3): both commands must succeed to \
        be compared\n";
    assert_eq!((&*ended.stdout, &*ended.stderr), ("", said));
    let refused = |command| breakeven(["ab", command, "true"]).run().refusal();
    assert!(refused("no-such-program x").starts_with("error: cannot run \"no-such-program x\""));
    assert!(refused("a 'b").contains("a quote is not closed"));
    assert!(refused("").contains("give a program"));
}

#[test]
fn a_command_that_is_written_for_a_shell_has_one() {
    for format in ["table", "json"] {
        let args = [
            "ab",
            "--format",
            format,
            "sleep 0.01 | cat",
            "A=0.01; sleep $A",
        ];
        let ended = breakeven(args.into_iter().chain(["--time-limit", "1s"])).run();
        assert_eq!(ended.code, Some(0), "{ended:#?}");
    }
    let ended = breakeven(["ab", "echo {} {1}", "true", "--time-limit", "300ms"]).run();
    assert_eq!(ended.code, Some(0), "nothing is a placeholder: {ended:#?}");
}

/// The shell's start was measured on one side only.
#[test]
fn a_shell_that_one_needs_runs_both() {
    let ended = breakeven(["ab", "no-such-program", "true | true"]).run();
    assert!(
        ended.stderr.contains("(exit status 127)"),
        "the shell says so: {ended:#?}"
    );
}

#[test]
fn the_budget_ends_a_command_that_runs_with_what_it_started() {
    let long = "sleep 600.1111 & sleep 600.2222";
    let ended = breakeven(["ab", "--gate", "--time-limit", "500ms", "true", long]).run();
    assert_eq!(ended.code, Some(3), "{ended:#?}");
    assert!(
        ended.took < std::time::Duration::from_secs(20),
        "{ended:#?}"
    );
    assert!(
        ended.stdout.contains("a side has not ended once"),
        "{ended:#?}"
    );
    super::run::wait_until("the end of all", || {
        super::run::processes_with("600.1111").is_empty()
    });
}

#[test]
fn what_was_measured_before_ctrl_c_is_judged_and_printed() {
    // From 0 to 90 ms: nothing is decided before the signal comes.
    let command = "sleep 0.0$(($$ % 10))";
    let child = breakeven(["ab", command, command, "--threshold", "0.1%"])
        .command
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    super::interrupt::signal("INT", child.id());
    let ended = super::run::ended(child);
    assert_eq!(ended.code, Some(130), "{ended:#?}");
    assert!(ended.stdout.contains("of each, in turns, in"), "{ended:#?}");
    let said = "interrupted: the measurements so far are above\n";
    assert_eq!(ended.stderr, said);
}
